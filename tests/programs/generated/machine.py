"""Reference interpreter: compiles units to steps, and runs them one step at a time.

A step is one operation on shared data or on a lock; what is between two steps is local and done with the first. A state
is a tuple of plain values, so that states can be compared and remembered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from generated.tree import (
    Access,
    Around,
    Body,
    Call,
    Const,
    Expression,
    For,
    If,
    Let,
    Local,
    Locked,
    Not,
    Operation,
    Program,
    Raise,
    Return,
    Several,
    Statement,
    Try,
    Update,
)

# --- operations on shared data ----------------------------------------------------------------------------------------
#
# Each takes the value of the data, the key and the operand; it gives the new value, the result, and what it touched:
# pairs of a location (a key, or one of the two below) and a mode. Two accesses of one location conflict unless they
# have the same mode and that is READ or ADD: the order of these cannot be told afterwards.

READ, WRITE, ADD = range(3)
FIELD = "field"
STRUCTURE = "structure"
"""Which elements there are. To add and to remove elements by their keys is ADD: each is in the container or not,
whatever came first. What looks at all elements reads it."""

Touched = tuple[tuple[object, int], ...]
Effect = tuple[Any, object, Touched]


class ProgramError(Exception):
    """An exception of the generated program: its class by name."""


def _dict_item(value: Any, key: Any, _: Any) -> Effect:
    found = dict(value)
    if key not in found:
        raise ProgramError("KeyError", ((key, READ),))
    return value, found[key], ((key, READ),)


def _stored(value: Any, key: Any, new: Any) -> Any:
    return tuple(sorted({**dict(value), key: new}.items()))


def _dict_store(value: Any, key: Any, new: Any) -> Effect:
    touched: Touched = ((key, WRITE),)
    return _stored(value, key, new), None, touched if key in dict(value) else (*touched, (STRUCTURE, ADD))


def _dict_setdefault(value: Any, key: Any, new: Any) -> Effect:
    if key in dict(value):
        return value, dict(value)[key], ((key, READ),)
    return _stored(value, key, new), new, ((key, WRITE), (STRUCTURE, ADD))


def _dict_pop(value: Any, key: Any, _: Any) -> Effect:
    found = dict(value)
    if key not in found:
        return value, None, ((key, READ),)
    result = found.pop(key)
    return tuple(sorted(found.items())), result, ((key, WRITE), (STRUCTURE, ADD))


def _dict_total(value: Any, _: Any, __: Any) -> Effect:
    return value, sum(v for _, v in value), ((STRUCTURE, READ), *((k, READ) for k, _ in value))


def _list_pop(value: Any, _: Any, __: Any) -> Effect:
    if not value:
        raise ProgramError("IndexError", ((STRUCTURE, WRITE),))
    return value[:-1], value[-1], ((STRUCTURE, WRITE),)


def _array_store(value: Any, key: Any, new: Any) -> Effect:
    return (*value[:key], new, *value[key + 1 :]), None, ((key, WRITE),)


def _set_add(value: Any, key: Any, _: Any) -> Effect:
    return value | {key}, None, ((key, WRITE),) if key in value else ((key, WRITE), (STRUCTURE, ADD))


def _set_discard(value: Any, key: Any, _: Any) -> Effect:
    return value - {key}, None, ((key, WRITE), (STRUCTURE, ADD)) if key in value else ((key, READ),)


OPERATIONS: dict[tuple[str, str], Callable[[Any, Any, Any], Effect]] = {
    ("field", "get"): lambda value, _, __: (value, value, ((FIELD, READ),)),
    ("field", "set"): lambda _, __, new: (new, None, ((FIELD, WRITE),)),
    ("dict", "item"): _dict_item,
    ("dict", "get"): lambda value, key, _: (value, dict(value).get(key), ((key, READ),)),
    ("dict", "has"): lambda value, key, _: (value, key in dict(value), ((key, READ),)),
    ("dict", "store"): _dict_store,
    ("dict", "pop"): _dict_pop,
    ("dict", "setdefault"): _dict_setdefault,
    ("dict", "len"): lambda value, _, __: (value, len(value), ((STRUCTURE, READ),)),
    ("dict", "total"): _dict_total,
    ("list", "append"): lambda value, _, new: ((*value, new), None, ((STRUCTURE, WRITE),)),
    ("list", "pop"): _list_pop,
    ("list", "len"): lambda value, _, __: (value, len(value), ((STRUCTURE, READ),)),
    ("list", "copy"): lambda value, _, __: (value, value, ((STRUCTURE, READ),)),
    ("list", "clear"): lambda _, __, ___: ((), None, ((STRUCTURE, WRITE),)),
    ("array", "item"): lambda value, key, _: (value, value[key], ((key, READ),)),
    ("array", "store"): _array_store,
    ("array", "total"): lambda value, _, __: (value, sum(value), tuple((i, READ) for i in range(len(value)))),
    ("set", "add"): _set_add,
    ("set", "discard"): _set_discard,
    ("set", "has"): lambda value, key, _: (value, key in value, ((key, READ),)),
    ("set", "len"): lambda value, _, __: (value, len(value), ((STRUCTURE, READ),)),
}

READING = {"field": "get", "dict": "item", "array": "item"}
WRITING = {"field": "set", "dict": "store", "array": "store"}

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "and": lambda one, other: one and other,
    "or": lambda one, other: one or other,
}


# --- compiling a unit -------------------------------------------------------------------------------------------------

Environment = tuple[Any, ...]
Evaluated = Callable[[Environment], Any]


class Step(NamedTuple):
    """An instruction.

    `kind`: access, acquire and release, which are steps; let, jump, branch, return, raise, reraise and cut.
    """

    kind: str
    what: Any = None
    number: int = -1
    """Of the data or lock."""
    key: Evaluated | None = None
    value: Evaluated | None = None
    to: int = -1
    handlers: tuple[tuple[str | None, int], ...] = ()
    """Where errors go, innermost first: the class that is caught, or None for all, and the instruction."""
    label: str = ""
    """For people."""


STEPS = frozenset({"access", "acquire", "release"})
ERROR = 0
"""Slot for an error that is on its way."""


class Code:
    """The instructions of one unit."""

    def __init__(self, body: Body, program: Program) -> None:
        self._data = {data.name: (i, data.kind) for i, data in enumerate(program.data)}
        self._locks = {lock: i for i, lock in enumerate(program.locks)}
        self._slots: dict[str, int] = {"": ERROR}
        self._handlers: tuple[tuple[str | None, int], ...] = ()
        self._open: list[tuple[str, Any]] = []
        """What a return has to leave: locks, and calls whose caller takes the value."""
        self.steps: list[Step] = []
        self._body(body)
        self._add("return")
        self.slots = len(self._slots)

    def _slot(self, name: str) -> int:
        return self._slots.setdefault(name, len(self._slots))

    def _add(self, kind: str, **fields: Any) -> int:
        self.steps.append(Step(kind, handlers=self._handlers, **fields))
        return len(self.steps) - 1

    def _aim(self, step: int) -> None:
        """Let a jump go to here."""
        self.steps[step] = self.steps[step]._replace(to=len(self.steps))

    def _body(self, body: Body) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Access(operation, data, key, value, to):
                self._access(operation, data, self._expression(key), self._expression(value), to)
            case Update(data, key, sign, operand):
                kind, where = self._data[data][1], self._expression(key)
                self._access(READING[kind], data, where, None, "+")
                new = self._expression(Operation(sign, Local("+"), operand))
                self._access(WRITING[kind], data, where, new, None)
            case Let(to, value):
                self._add("let", value=self._expression(value), to=self._slot(to))
            case If(condition, then, otherwise):
                branch = self._add("branch", value=self._expression(condition))
                self._body(then)
                end = self._add("jump")
                self._aim(branch)
                self._body(otherwise)
                self._aim(end)
            case For(local, values, body, independent):
                for round_, constant in enumerate(values):
                    if independent and round_:
                        self._add("cut")
                    self._add("let", value=self._expression(Const(constant)), to=self._slot(local))
                    self._body(body)
            case Locked(lock, body):
                self._locked(self._locks[lock], body)
            case Call():
                self._call(statement)
            case Around(_, _, before, _, body, after):
                self._body(before)
                self._body(body)
                self._body(after)
            case Try(body, error, handler):
                self._try(body, error, handler)
            case Return(value):
                self._return(value)
            case Raise(error):
                self._add("raise", what=error)

    def _access(
        self, operation: str, data: str, key: Evaluated | None, value: Evaluated | None, to: str | None
    ) -> None:
        number, kind = self._data[data]
        target = -1 if to is None else self._slot(to)
        what = OPERATIONS[kind, operation]
        self._add("access", what=what, number=number, key=key, value=value, to=target, label=f"{operation} {data}")

    def _locked(self, lock: int, body: Body) -> None:
        self._add("acquire", number=lock, label="acquire")
        outside = self._handlers
        start = len(self.steps)
        marker = -1 - start
        self._handlers = ((None, marker), *outside)
        self._open.append(("lock", lock))
        self._body(body)
        self._open.pop()
        self._handlers = outside
        self._add("release", number=lock, label="release")
        end = self._add("jump")
        self._resolve(start, marker)
        self._add("release", number=lock, label="release")
        self._add("reraise")
        self._aim(end)

    def _resolve(self, start: int, marker: int) -> None:
        """The handler that was announced by a marker begins here."""
        here = len(self.steps)
        for i in range(start, here):
            handlers = tuple((error, here if to == marker else to) for error, to in self.steps[i].handlers)
            self.steps[i] = self.steps[i]._replace(handlers=handlers)

    def _call(self, call: Call) -> None:
        ends: list[int] = []
        if call.returns:
            self._open.append(("call", (self._slot(call.to[0]), ends)))
        self._body(call.body)
        if call.returns:
            self._open.pop()
            self._add("let", value=lambda _: None, to=self._slot(call.to[0]))
        for end in ends:
            self._aim(end)

    def _try(self, body: Body, error: str, handler: Body) -> None:
        outside = self._handlers
        start = len(self.steps)
        marker = -1 - start
        self._handlers = ((error, marker), *outside)
        self._body(body)
        self._handlers = outside
        end = self._add("jump")
        self._resolve(start, marker)
        self._body(handler)
        self._aim(end)

    def _return(self, value: Expression | None) -> None:
        self._add("let", value=self._expression(value) or (lambda _: None), to=self._slot("return"))
        for kind, what in reversed(self._open):
            if kind == "call":
                to, ends = what
                self._add("let", value=self._expression(Local("return")), to=to)
                ends.append(self._add("jump"))
                return
            self._add("release", number=what, label="release")
        self._add("return", value=self._expression(Local("return")))

    def _expression(self, expression: Expression | None) -> Evaluated | None:
        match expression:
            case None:
                return None
            case Const(constant):
                return lambda _: constant
            case Local(name):
                slot = self._slot(name)
                return lambda environment: environment[slot]
            case Operation(sign, left, right):
                apply, first, second = _OPERATORS[sign], self._expression(left), self._expression(right)
                assert first is not None
                assert second is not None
                return lambda environment: apply(first(environment), second(environment))
            case Not(operand):
                inner = self._expression(operand)
                assert inner is not None
                return lambda environment: not inner(environment)
            case Several(members):
                made = [self._expression(member) for member in members]
                return lambda environment: tuple(member(environment) for member in made if member is not None)
        raise AssertionError(expression)


# --- running ----------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where a thread is."""

    unit: int
    part: int
    """How many units in the sense of the truth it has finished: calls, and independent iterations."""
    at: int
    environment: Environment
    results: tuple[object, ...]


class State(NamedTuple):
    data: tuple[Any, ...]
    places: tuple[Place, ...]
    locks: tuple[int, ...]
    """The thread that holds each, or -1."""


DONE = -1


class Machine:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.codes = [[Code(unit.body, program) for unit in thread.units] for thread in program.threads]

    def start(self) -> State:
        data = tuple(frozen(data.kind, data.initial) for data in self.program.data)
        places = tuple(self._begin(thread, 0, 0, ()) for thread in range(len(self.codes)))
        return State(data, places, (-1,) * len(self.program.locks))

    def is_enabled(self, state: State, thread: int) -> bool:
        place = state.places[thread]
        if place.at == DONE:
            return False
        step = self.codes[thread][place.unit].steps[place.at]
        return step.kind != "acquire" or state.locks[step.number] == -1

    def described(self, state: State, thread: int) -> str:
        """The thread's next step, in words."""
        place = state.places[thread]
        step = self.codes[thread][place.unit].steps[place.at]
        unit = self.program.threads[thread].units[place.unit].name
        if step.kind != "access":
            return f"{unit}: {step.label} {self.program.locks[step.number]}"
        key = "" if step.key is None else f"[{step.key(place.environment)!r}]"
        value = "" if step.value is None else f" = {step.value(place.environment)!r}"
        return f"{unit}: {step.label}{key}{value}"

    def step(self, state: State, thread: int) -> tuple[State, int, Touched]:
        """The state after the thread's next step; the data that was touched, or -1, and how."""
        data, places, locks = state
        place = places[thread]
        step = self.codes[thread][place.unit].steps[place.at]
        touched: Touched = ()
        environment = place.environment
        error: str | None = None
        if step.kind == "acquire":
            locks = (*locks[: step.number], thread, *locks[step.number + 1 :])
        elif step.kind == "release":
            locks = (*locks[: step.number], -1, *locks[step.number + 1 :])
        else:
            try:
                key = None if step.key is None else step.key(environment)
                value = None if step.value is None else step.value(environment)
                new, result, touched = step.what(data[step.number], key, value)
                if new is not data[step.number]:
                    data = (*data[: step.number], new, *data[step.number + 1 :])
                if step.to >= 0:
                    environment = _with(environment, step.to, result)
            except ProgramError as raised:
                error, touched = raised.args
        moved = place._replace(environment=environment, at=place.at + 1)
        moved = self._settled(thread, self._failed(thread, moved, step, error) if error else moved)
        places = (*places[:thread], moved, *places[thread + 1 :])
        return State(data, places, locks), step.number if step.kind == "access" else -1, touched

    def _begin(self, thread: int, unit: int, part: int, results: tuple[object, ...]) -> Place:
        if unit == len(self.codes[thread]):
            return Place(unit, part, DONE, (), results)
        return self._settled(thread, Place(unit, part, 0, (None,) * self.codes[thread][unit].slots, results))

    def _failed(self, thread: int, place: Place, step: Step, error: str) -> Place:
        for caught, to in step.handlers:
            if caught is None or caught == error:
                return place._replace(at=to, environment=_with(place.environment, ERROR, error))
        return self._begin(thread, place.unit + 1, place.part + 1, (*place.results, ("raised", error)))

    def _settled(self, thread: int, place: Place) -> Place:
        """Go on to the next step on shared data or locks."""
        while place.at != DONE:
            step = self.codes[thread][place.unit].steps[place.at]
            environment = place.environment
            try:
                if step.kind in STEPS:
                    if step.value is not None:
                        step.value(environment)  # what cannot be computed is not stored: that makes no step
                    return place
                match step.kind:
                    case "let":
                        assert step.value is not None
                        new = _with(environment, step.to, step.value(environment))
                        place = place._replace(at=place.at + 1, environment=new)
                    case "jump":
                        place = place._replace(at=step.to)
                    case "branch":
                        assert step.value is not None
                        place = place._replace(at=place.at + 1 if step.value(environment) else step.to)
                    case "cut":
                        place = place._replace(at=place.at + 1, part=place.part + 1)
                    case "return":
                        value = None if step.value is None else step.value(environment)
                        return self._begin(thread, place.unit + 1, place.part + 1, (*place.results, value))
                    case "raise":
                        place = self._failed(thread, place, step, step.what)
                    case "reraise":
                        place = self._failed(thread, place, step, environment[ERROR])
            except TypeError:
                place = self._failed(thread, place, step, "TypeError")
        return place


def _with(environment: Environment, slot: int, value: object) -> Environment:
    return (*environment[:slot], value, *environment[slot + 1 :])


def frozen(kind: str, value: Any) -> Any:
    """The value of data as states hold it."""
    if kind == "dict":
        return tuple(sorted(value.items()))
    if kind in ("list", "array"):
        return tuple(value)
    return frozenset(value) if kind == "set" else value
