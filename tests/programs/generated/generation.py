"""Random programs: units of everyday shapes on shared data, with locks put here or there.

A program has a theme (a counter, a cache, a pair of values that belong together, ...). Each unit takes one of the
theme's shapes, as *segments*: pieces between which a lock may be let go. Locks are laid over the segments, pieces are
moved into functions of their own, and locals into containers. So for each shape there are programs that are right and
others that just miss it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

from generated.machine import READING, WRITING
from generated.tree import (
    Access,
    Around,
    Body,
    Call,
    Const,
    Data,
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
    Thread,
    Try,
    Unit,
    Update,
    assigned,
    returns,
    used,
    walk,
)

Segments = list[list[Statement]]
Shape = Callable[["Maker"], Segments]

LOCK, OTHER_LOCK = "lock", "guard"
BYSTANDER = "calls"
"""A counter beside what a unit does."""
OPTIONAL = frozenset({"value", "factor"})
"""Fields that can be None."""
CHANGING = frozenset({"set", "store", "pop", "setdefault", "append", "clear", "add", "discard"})

# How locks are laid over the segments of a unit, and how often.
LOCKINGS = {
    "none": 5,
    "whole": 4,
    "split": 6,
    "first": 2,
    "rest": 3,
    "other": 2,
    "different": 2,
    "nested": 2,
    "inside": 3,
}
# How much the author of a program cares: all units under one lock, all but one, any locks, or none.
STYLES = {"disciplined": 2, "careful": 4, "mixed": 6, "bare": 2}
# How often each thing is done to a piece of code.
CHANNELS = {
    "method": 8,
    "function": 3,
    "property": 3,
    "setter": 3,
    "generator": 2,
    "callback": 2,
    "lambda": 1,
    "partial": 1,
    "default": 1,
    "library": 2,
    "error": 1,
}
# How often a piece that exchanges no value with the rest of its unit becomes a function: nothing ties the two then,
# and nobody can tell whether they belong together. The same for data of two objects. Only an execution can decide
# these: they are here to be seen in the table, and are as rare as in ordinary code.
UNTIED = 0.03
APART = 0.04
# How many units the threads have.
THREADS = ((1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (1, 1, 1), (1, 1, 2))
# What one sees of data by one step, and the keys for it.
OBSERVING: dict[str, tuple[str, tuple[object, ...]]] = {
    "field": ("get", ()),
    "dict": ("get", ("a", "b")),
    "list": ("copy", ()),
    "array": ("item", (0,)),
    "set": ("has", ("x", "y", "z")),
}
HOLDERS = ("list", "tuple", "dict", "object", "appended")


def generate(source: random.Random) -> Program:
    """A program whose threads meet: at some data, where one of them changes it."""
    while True:
        program = Maker(source).program()
        if threads_meet(program):
            return program


def with_other_data(program: Program, source: random.Random) -> Program:
    """The same code on other values: what is harmless on all of them is not harmless by chance."""
    return replace(program, data=tuple(replace(data, initial=_other(data, source)) for data in program.data))


def with_other_callers(program: Program, source: random.Random) -> Program:
    """The same units, called by other threads, in other orders and more often: code does not choose its callers.

    One more thread may look at some of the data.
    """
    units = list(dict.fromkeys(unit for thread in program.threads for unit in thread.units))
    threads = []
    for count in source.choice(THREADS):
        called = tuple(source.choice(units) for _ in range(count))
        threads.append(Thread(called, "loop" if count > 1 else source.choice(("call", "loop"))))
    if len(threads) == 2 and source.random() < 0.6:
        threads.append(Thread((_observer(program, source),), "call"))
    return replace(program, threads=tuple(threads))


def _observer(program: Program, source: random.Random) -> Unit:
    data = source.choice([data for data in program.data if data.name != BYSTANDER] or program.data)
    operation, keys = OBSERVING[data.kind]
    look = Access(operation, data.name, Const(source.choice(keys)) if keys else None, None, "seen")
    body = _held(LOCK, [look]) if source.random() < 0.5 else [look]
    return Unit("look", (*body, Return(Local("seen"))))


def with_other_literals(program: Program, source: random.Random) -> Program:
    """The same code, where no two units store or return the same number that they write down, but for small ones."""
    units = dict.fromkeys(unit for thread in program.threads for unit in thread.units)
    shifted = {unit: replace(unit, body=_shifted(unit.body, 10 * (1 + i))) for i, unit in enumerate(units)}
    order = source.sample(program.threads, len(program.threads))
    return replace(
        program, threads=tuple(replace(thread, units=tuple(map(shifted.get, thread.units))) for thread in order)
    )


def _shifted(node: Any, by: int) -> Any:
    """A part of a tree with other numbers in it. Keys and what values are compared with stay as they are."""
    if isinstance(node, tuple):
        return tuple(_shifted(part, by) for part in node)
    if isinstance(node, Const):
        return Const(node.value + by) if type(node.value) is int and node.value > 1 else node
    if isinstance(node, Operation) and node.operator not in ("+", "-", "*"):
        return node
    if isinstance(node, Let | For) or not is_dataclass(node) or isinstance(node, type):
        return replace(node, body=_shifted(node.body, by)) if isinstance(node, For) else node
    parts = {field.name: getattr(node, field.name) for field in fields(node) if field.name != "key"}
    return replace(node, **{name: _shifted(part, by) for name, part in parts.items()})


def _other(data: Data, source: random.Random) -> object:
    match data.initial:
        case bool():
            return source.random() < 0.5
        case int() | None if data.name in OPTIONAL:
            return source.choice((None, 2, 5))
        case int():
            return source.randint(0, 5)
        case dict() if data.name == "cache":
            return {key: source.randint(1, 9) for key in "ab" if source.random() < 0.4}
        case dict():
            return {key: source.randint(0, 5) for key in data.initial}
        case list() if data.kind == "array":
            return [source.randint(0, 5) for _ in data.initial]
        case list():
            return list(range(1, source.randint(1, 4)))
        case set():
            # in order, so that a program is written the same way in every process
            return {key for key in "xyz" if source.random() < 0.5}
    return data.initial


def threads_meet(program: Program) -> bool:
    """Whether one thread changes what another one touches, beside counters that have nothing to do with the rest."""
    touched = [
        [s for unit in thread.units for s in walk(unit.body) if isinstance(s, Access | Update) and s.data != BYSTANDER]
        for thread in program.threads
    ]
    return any(_conflict(one, other) for some, others in combinations(touched, 2) for one in some for other in others)


def _conflict(one: Access | Update, other: Access | Update) -> bool:
    if one.data != other.data or not (_changes(one) or _changes(other)):
        return False
    return one.key == other.key or not (isinstance(one.key, Const) and isinstance(other.key, Const))


def _changes(statement: Access | Update) -> bool:
    return isinstance(statement, Update) or statement.operation in CHANGING


@dataclass(slots=True)
class Cell:
    """A location with one value: a field, or an element."""

    data: str
    kind: str
    key: Expression | None = None

    def read(self, to: str) -> Access:
        return Access(READING[self.kind], self.data, self.key, None, to)

    def write(self, value: Expression) -> Access:
        return Access(WRITING[self.kind], self.data, self.key, value)

    def add(self, value: Expression, operator: str = "+") -> Update:
        return Update(self.data, self.key, operator, value)


class Look(NamedTuple):
    """A look at some data, and a condition on what it sees: both take the local that has it."""

    look: Callable[[str], Statement]
    condition: Callable[[str], Expression]


@dataclass(slots=True)
class Maker:
    """Makes one program."""

    source: random.Random
    data: list[Data] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    cells: list[Cell] = field(default_factory=list)
    constant: int = 1
    """A value of the program's own: literals that are the same in several units."""
    _locals: int = 0
    _calls: int = 0
    style: str = "mixed"

    # --- the program ----------------------------------------------------------------------------------------------

    def program(self) -> Program:
        source = self.source
        name, (prepare, shapes) = source.choice(sorted(THEMES.items()))
        self.features.add(f"theme {name}")
        self.constant = source.randint(2, 4)
        prepare(self)
        if self.chance(0.2) and any(data.kind != "field" for data in self.data):
            self.features.add("data of the module")
            self.data = [data if data.kind == "field" else replace(data, home="module") for data in self.data]
        self.style = source.choices(list(STYLES), list(STYLES.values()))[0]
        self.features.add(f"style {self.style}")
        threads = []
        counts = source.choice(THREADS)
        # few shapes: threads often do the same
        pool = [source.choice(shapes) for _ in range(source.choice((1, 2, 2, 3)))]
        slip = source.randrange(sum(counts))
        made = 0
        for count in counts:
            units = []
            for _ in range(count):
                units.append(self._unit(f"work{made}", source.choice(pool), is_slip=made == slip))
                made += 1
            threads.append(Thread(tuple(units), "loop" if count > 1 else source.choice(("call", "call", "loop"))))
        self.features.add(f"threads {len(threads)}")
        self.features.update(f"entry {thread.entry}" for thread in threads)
        return Program(tuple(self.data), (LOCK, OTHER_LOCK), tuple(threads), frozenset(self.features))

    def _unit(self, name: str, shape: Shape, *, is_slip: bool) -> Unit:
        source = self.source
        self.features.add(f"shape {shape.__name__.removeprefix('_')}")
        segments = shape(self)
        if source.random() < 0.12:
            segments = self._with_bystander(segments)
        locking = self._locking(is_slip=is_slip)
        self.features.add(f"locks {locking}")
        body = self._simplified(locked(segments, locking))
        body = self._split_into_functions(body)
        parameters = [s for s in body if isinstance(s, Let) and isinstance(s.value, Const)]
        body = (*parameters, *(s for s in body if s not in parameters))
        return Unit(name, body, self._holders(body))

    def _locking(self, *, is_slip: bool) -> str:
        if self.style == "disciplined":
            return "whole"
        if self.style == "bare":
            return "none"
        if self.style == "careful" and not is_slip:
            return "whole"
        return self.source.choices(list(LOCKINGS), list(LOCKINGS.values()))[0]

    def _with_bystander(self, segments: Segments) -> Segments:
        """A counter beside what the unit does."""
        self.features.add("bystander counter")
        if not any(data.name == BYSTANDER for data in self.data):
            self.data.append(Data(BYSTANDER, "field", 0, home="peer" if self.source.random() < 0.3 else "store"))
        update: list[Statement] = [Update(BYSTANDER, None, "+", Const(1))]
        return [update, *segments] if self.source.random() < 0.6 else [[*segments[0], *update], *segments[1:]]

    def _simplified(self, body: Sequence[Statement]) -> Body:
        """Lock blocks without steps are no lock blocks."""
        return tuple(s for s in body if not (isinstance(s, Locked) and not s.body))

    # --- functions and containers ---------------------------------------------------------------------------------

    def _split_into_functions(self, body: Body) -> Body:
        """Some pieces become functions of their own."""
        source = self.source
        choice = source.random()
        if choice < 0.08:
            around = self._around(body)
            if around is not None:
                return around
        if choice < 0.45:
            return body
        often = source.choice((0.4, 0.9))
        return self._outlined(body, often, at_end=True)

    def _outlined(self, body: Body, often: float, *, at_end: bool) -> Body:
        made: list[Statement] = []
        for i, statement in enumerate(body):
            later = used(body[i + 1 :])
            is_last = at_end and i == len(body) - 1
            made += self._outlined_one(statement, often, later, is_last=is_last, is_alone=len(body) == 1)
        return tuple(made)

    def _outlined_one(
        self, statement: Statement, often: float, later: set[str], *, is_last: bool, is_alone: bool
    ) -> list[Statement]:
        is_piece = isinstance(statement, Locked | Access | Update) or (
            isinstance(statement, If | Try) and self.source.random() < 0.3
        )
        if not is_piece or self.source.random() > often:
            if isinstance(statement, If):
                then = (
                    self._outlined(statement.then, often, at_end=is_last)
                    if self._is_closed(statement.then, later)
                    else statement.then
                )
                return [If(statement.condition, then, statement.otherwise)]
            if isinstance(statement, For) and not later & assigned(statement.body):
                return [
                    For(
                        statement.local,
                        statement.values,
                        self._outlined(statement.body, often, at_end=False),
                        statement.independent,
                    )
                ]
            return [statement]
        if returns((statement,)):
            if not is_last:
                return [statement]
            result = self.local()
            return [
                Call(self._call_name(), self._channel(), (statement,), (result,), returns=True),
                Return(Local(result)),
            ]
        given = tuple(sorted(assigned((statement,)) & later))
        if isinstance(statement, If | Try) and given:
            return [statement]  # it may leave a local without a value
        if not is_alone and not given and not used((statement,)) - assigned((statement,)):
            if self.source.random() > UNTIED:
                return [statement]
            self.features.add("untied call")
        return [Call(self._call_name(), self._channel(), (statement,), given)]

    def _is_closed(self, body: Body, later: set[str]) -> bool:
        return not assigned(body) & later

    def _around(self, body: Body) -> Body | None:
        """The first statement and the last go before and after a `yield`."""
        tail: Body = ()
        if len(body) > 2 and isinstance(body[-1], Return):
            body, tail = body[:-1], body[-1:]
        if len(body) < 2 or any(returns((s,)) for s in body):
            return None
        before, middle, after = body[:1], body[1:-1], body[-1:]
        needed = used(after) | used(tail)
        if (assigned(middle) & needed) or (assigned(after) & used(tail)) or isinstance(before[0], Let | For | If | Try):
            return None
        channel = self.source.choice(("manager", "generator"))
        self.features.add(f"around {channel}")
        given = tuple(sorted(assigned(before) & (used(middle) | used(tail))))
        return (Around(self._call_name(), channel, before, given, middle, after), *tail)

    def _channel(self) -> str:
        channel = self.source.choices(list(CHANNELS), list(CHANNELS.values()))[0]
        self.features.add(f"channel {channel}")
        return channel

    def _holders(self, body: Body) -> tuple[tuple[str, str], ...]:
        if self.source.random() > 0.2:
            return ()
        kept = sorted(
            {s.to for s in walk(body) if isinstance(s, Access | Let) and s.to is not None and s.to.startswith("v")}
        )
        if not kept:
            return ()
        holder = self.source.choice(HOLDERS)
        self.features.add(f"holder {holder}")
        return ((self.source.choice(kept), holder),)

    def local(self, letter: str = "v") -> str:
        self._locals += 1
        return f"{letter}{self._locals}"

    def _call_name(self) -> str:
        self._calls += 1
        return f"piece{self._calls}"

    # --- what shapes are made of ----------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def amount(self) -> Const:
        return Const(self.source.choice((1, 1, 2, 5)))

    def cell(self) -> Cell:
        return self.source.choice(self.cells)

    def numbers(self, count: int, initial: Callable[[int], int] = lambda _: 0) -> None:
        """Cells with numbers: fields, or elements of one container."""
        kind = self.source.choice(("field", "field", "dict", "array"))
        self.features.add(f"cells {kind}")
        if kind == "field":
            apart = self.chance(APART)
            for i in range(count):
                name = ("count", "total", "rest")[i]
                self.data.append(Data(name, "field", initial(i), home="peer" if apart and i == 1 else "store"))
                self.cells.append(Cell(name, "field"))
        elif kind == "dict":
            self.data.append(Data("table", "dict", {"abc"[i]: initial(i) for i in range(count)}))
            self.cells += [Cell("table", "dict", Const("abc"[i])) for i in range(count)]
        else:
            self.data.append(Data("row", "array", [initial(i) for i in range(count)]))
            self.cells += [Cell("row", "array", Const(i)) for i in range(count)]

    def checked(
        self,
        look: Callable[[str], Statement],
        condition: Callable[[str], Expression],
        act: list[Statement],
        otherwise: list[Statement] | None = None,
        *,
        weaker: Callable[[str], Expression] | None = None,
        beside: Look | None = None,
    ) -> Segments:
        """Check, then act; in some programs checked again before it is done, by the same condition or a weaker one.

        In some, the condition is on a second look, too (`beside`); a weaker one is then without it.
        """
        single = Look(look, condition)
        parts = (single, beside) if beside is not None and self.chance(0.08) else (single,)
        is_double = len(parts) > 1
        word = self.source.choice(("and", "and", "or"))
        again = self.source.choices(("no", "same", "weaker"), (6, 4, 3 if is_double else 1))[0]
        if again == "weaker" and weaker is None and not is_double:
            again = "no"
        self.features.add(f"checked again {again}")
        looked, first = self._looks(parts, word)
        if again == "no":
            return [looked, [If(first, tuple(act), tuple(otherwise or ()))]]
        if again == "weaker":
            parts = (single,) if weaker is None or is_double else (Look(look, weaker),)
        looked_again, second = self._looks(parts, word)
        recheck: Body = (Locked(LOCK, (*looked_again, If(second, tuple(act), tuple(otherwise or ())))),)
        if self.chance(0.3):
            looked = [Locked(LOCK, tuple(looked))]
        # locks are placed already
        return [[*looked, If(first, recheck, tuple(otherwise or ()))], []]

    def _looks(self, parts: Sequence[Look], word: str) -> tuple[list[Statement], Expression]:
        """Looks, and a condition on all of them."""
        names = [self.local() for _ in parts]
        tests = [part.condition(name) for part, name in zip(parts, names, strict=True)]
        if len(tests) > 1:
            self.features.add(f"condition with {word}")
        return [part.look(name) for part, name in zip(parts, names, strict=True)], reduce(
            lambda one, other: Operation(word, one, other), tests
        )


# --- locks ------------------------------------------------------------------------------------------------------------


def locked(segments: Segments, locking: str) -> list[Statement]:
    flat = [statement for segment in segments for statement in segment]
    if any(isinstance(statement, Locked) for statement in walk(tuple(flat))):
        return flat  # a shape that places its locks itself
    bare = [s for s in flat if isinstance(s, Let | Return)]
    if len(bare) == len(flat):
        return flat
    match locking:
        case "none":
            return flat
        case "whole":
            return _held(LOCK, flat)
        case "other":
            return _held(OTHER_LOCK, flat)
        case "split":
            return [s for segment in segments for s in _held(LOCK, segment)]
        case "first":
            return [*_held(LOCK, segments[0]), *(s for segment in segments[1:] for s in segment)]
        case "rest":
            rest = [s for segment in segments[1:] for s in segment]
            return [*segments[0], *_held(LOCK, rest)] if rest else _held(LOCK, flat)
        case "different":
            locks = (LOCK, OTHER_LOCK)
            return [s for i, segment in enumerate(segments) for s in _held(locks[i % 2], segment)]
        case "nested":
            inner = [*_held(OTHER_LOCK, segments[0]), *(s for segment in segments[1:] for s in segment)]
            return _held(LOCK, inner)
        case "inside":
            return [_inside(s) for s in flat]
    raise AssertionError(locking)


def _held(lock: str, body: list[Statement]) -> list[Statement]:
    """The body under the lock; what is local at its start or end stays outside."""
    start, end = 0, len(body)
    while start < end and isinstance(body[start], Let):
        start += 1
    while end > start and isinstance(body[end - 1], Let | Return | Raise):
        end -= 1
    if start == end:
        return body
    return [*body[:start], Locked(lock, tuple(body[start:end])), *body[end:]]


def _inside(statement: Statement) -> Statement:
    """Each step, or what a condition decides, under the lock of its own."""
    match statement:
        case If(condition, then, otherwise):
            return If(condition, tuple(_held(LOCK, [*then])), tuple(_held(LOCK, [*otherwise])))
        case For(local, values, body, independent):
            return For(local, values, tuple(_inside(s) for s in body), independent)
        case Access() | Update():
            return Locked(LOCK, (statement,))
    return statement


# --- shapes: counters -------------------------------------------------------------------------------------------------


def _prepare_counter(maker: Maker) -> None:
    maker.numbers(maker.source.choice((1, 1, 2)), lambda _: maker.source.choice((0, 1, 3)))


def _add(maker: Maker) -> Segments:
    return [[maker.cell().add(maker.amount(), maker.source.choice("++-"))]]


def _add_by_local(maker: Maker) -> Segments:
    cell, old = maker.cell(), maker.local()
    new = Operation(maker.source.choice("+++*"), Local(old), Const(maker.constant))
    if maker.chance(0.4):
        changed = maker.local()
        return [[cell.read(old)], [Let(changed, new), cell.write(Local(changed))]]
    return [[cell.read(old)], [cell.write(new)]]


def _add_twice(maker: Maker) -> Segments:
    cell = maker.cell()
    return [[cell.add(maker.amount())], [cell.add(maker.amount())]]


def _gauge(maker: Maker) -> Segments:
    cell = maker.cell()
    return [[cell.add(Const(1))], [cell.add(Const(1), "-")]]


def _reset(maker: Maker) -> Segments:
    return [[maker.cell().write(Const(0))]]


def _scale(maker: Maker) -> Segments:
    return [[maker.cell().add(Const(2), "*")]]


def _look(maker: Maker) -> Segments:
    value = maker.local()
    return [[maker.cell().read(value)], [Return(Local(value))]]


def _look_twice(maker: Maker) -> Segments:
    cell, first, second = maker.cell(), maker.local(), maker.local()
    result: Expression = Several((Local(first), Local(second)))
    if maker.chance(0.5):
        result = Operation("==", Local(first), Local(second))
    return [[cell.read(first)], [cell.read(second)], [Return(result)]]


def _compare(maker: Maker) -> Segments:
    """A value that only a comparison with a literal looks at."""
    value = maker.local()
    return [[maker.cell().read(value)], [Return(Operation(maker.source.choice((">", "==")), Local(value), Const(1)))]]


def _take_if_any(maker: Maker) -> Segments:
    cell = maker.cell()
    return maker.checked(
        cell.read,
        lambda value: Operation(">", Local(value), Const(0)),
        [cell.add(Const(1), "-"), *([Return(Const(True))] if maker.chance(0.6) else [])],
        weaker=lambda value: Operation(">=", Local(value), Const(0)),
    )


def _take_or_refuse(maker: Maker) -> Segments:
    cell, value = maker.cell(), maker.local()
    refused = If(Operation("<", Local(value), Const(1)), (Raise("Refused"),))
    new = Operation("-", Local(value), Const(1))
    return [[cell.read(value), refused], [cell.write(new) if maker.chance(0.5) else cell.add(Const(1), "-")]]


def _bump_and_look(maker: Maker) -> Segments:
    cell, value = maker.cell(), maker.local()
    return [[cell.add(Const(1))], [cell.read(value)], [Return(Local(value))]]


def _highest(maker: Maker) -> Segments:
    """The largest value so far."""
    cell, new = maker.cell(), Const(maker.source.choice((2, 4, 6)))
    return maker.checked(
        cell.read,
        lambda value: Operation("<", Local(value), new),
        [cell.write(new)],
        weaker=lambda value: Operation("!=", Local(value), new),
    )


# --- shapes: caches ---------------------------------------------------------------------------------------------------


def _prepare_cache(maker: Maker) -> None:
    if maker.chance(0.4):
        maker.data.append(Data("value", "field", None))
        maker.features.add("cells field")
    else:
        maker.data.append(Data("cache", "dict", {"b": 1} if maker.chance(0.3) else {}))
        maker.features.add("cells dict")


def _entry(maker: Maker) -> tuple[Callable[[str], Access], Callable[[str], Expression], Callable[[Expression], Access]]:
    """Looking at an entry of the cache, whether it is missing, and storing it."""
    if maker.data[0].kind == "field":
        cell = Cell("value", "field")
        return cell.read, lambda v: Operation("is", Local(v), Const(None)), cell.write
    key = Const(maker.source.choice("aaab"))
    if maker.chance(0.5):
        look: Callable[[str], Access] = lambda v: Access("has", "cache", key, None, v)  # noqa: E731
        missing: Callable[[str], Expression] = lambda v: Not(Local(v))  # noqa: E731
    else:
        look = lambda v: Access("get", "cache", key, None, v)  # noqa: E731
        missing = lambda v: Operation("is", Local(v), Const(None))  # noqa: E731
    return look, missing, lambda value: Access("store", "cache", key, value)


def _made(maker: Maker) -> Const:
    """What is put into a cache: the same by everybody, or one's own."""
    return Const(maker.constant if maker.chance(0.5) else maker.source.randint(10, 99))


def _fill(maker: Maker) -> Segments:
    look, missing, store = _entry(maker)
    value = _made(maker)
    act: list[Statement] = [store(value)]
    if maker.chance(0.25):
        act.append(Return(value))
    elif maker.chance(0.2):
        act.append(Return(Const(True)))
    return maker.checked(look, missing, act, weaker=lambda v: Operation("!=", Local(v), value))


def _fill_and_return(maker: Maker) -> Segments:
    look, missing, store = _entry(maker)
    result = maker.local()
    segments = maker.checked(look, missing, [store(_made(maker))])
    return [*segments, [look(result)], [Return(Local(result))]]


def _get_or_make(maker: Maker) -> Segments:
    """Look, make one's own if there is none, look again and keep what is there."""
    if maker.data[0].kind == "field":
        return _fill_and_return(maker)
    key, value, found, again = Const("a"), _made(maker), maker.local(), maker.local()
    look, other = Access("get", "cache", key, None, found), Access("get", "cache", key, None, again)
    is_there = If(Operation("is not", Local(found), Const(None)), (Return(Local(found)),))
    was_made = If(Operation("is not", Local(again), Const(None)), (Return(Local(again)),))
    insert: list[Statement] = [Access("store", "cache", key, value), Return(value)]
    if maker.chance(0.6):
        hold = (other, was_made, *insert)
        first: Statement = Locked(LOCK, (look,)) if maker.chance(0.7) else look
        return [[first, is_there, Locked(LOCK, hold)]]
    return [[look, is_there], insert]


def _setdefault(maker: Maker) -> Segments:
    if maker.data[0].kind == "field":
        return _fill(maker)
    result = maker.local()
    return [[Access("setdefault", "cache", Const("a"), _made(maker), result)], [Return(Local(result))]]


def _try_entry(maker: Maker) -> Segments:
    if maker.data[0].kind == "field":
        return _fill(maker)
    key, result, value = Const("a"), maker.local(), _made(maker)
    fill: list[Statement] = [Access("store", "cache", key, value)]
    if maker.chance(0.5):
        fill.append(Let(result, value))
    else:
        fill.append(Access("get", "cache", key, None, result))
    return [[Try((Access("item", "cache", key, None, result),), "KeyError", tuple(fill))], [Return(Local(result))]]


def _forget(maker: Maker) -> Segments:
    if maker.data[0].kind == "field":
        return [[Access("set", "value", None, Const(None))]]
    result = maker.local()
    segments: Segments = [[Access("pop", "cache", Const("a"), None, result)]]
    return [*segments, [Return(Local(result))]] if maker.chance(0.4) else segments


def _count_entries(maker: Maker) -> Segments:
    result = maker.local()
    if maker.data[0].kind == "field":
        return [[Access("get", "value", None, None, result)], [Return(Local(result))]]
    return [[Access("len", "cache", None, None, result)], [Return(Local(result))]]


# --- shapes: values that belong together ------------------------------------------------------------------------------


def _prepare_pair(maker: Maker) -> None:
    maker.numbers(2, lambda _: 5)


def _pair(maker: Maker) -> tuple[Cell, Cell]:
    first, second = maker.cells
    return (first, second) if maker.chance(0.7) else (second, first)


def _set_both(maker: Maker) -> Segments:
    first, second = _pair(maker)
    value = Const(maker.source.choice((maker.constant, 7, 8)))
    return [[first.write(value)], [second.write(value)]]


def _read_both(maker: Maker) -> Segments:
    (first, second), a, b = _pair(maker), maker.local(), maker.local()
    result: Expression = maker.source.choice(
        (
            Several((Local(a), Local(b))),
            Operation("+", Local(a), Local(b)),
            Operation("==", Local(a), Local(b)),
        )
    )
    return [[first.read(a)], [second.read(b)], [Return(result)]]


def _transfer(maker: Maker) -> Segments:
    (first, second), amount = _pair(maker), maker.amount()
    return [[first.add(amount, "-")], [second.add(amount)]]


def _transfer_if_enough(maker: Maker) -> Segments:
    (first, second), amount = _pair(maker), Const(4)
    return maker.checked(
        first.read,
        lambda value: Operation(">=", Local(value), amount),
        [first.add(amount, "-"), second.add(amount)],
    )


def _copy_over(maker: Maker) -> Segments:
    (first, second), value = _pair(maker), maker.local()
    return [[first.read(value)], [second.write(Local(value))]]


def _swap(maker: Maker) -> Segments:
    (first, second), a, b = _pair(maker), maker.local(), maker.local()
    return [[first.read(a), second.read(b)], [first.write(Local(b)), second.write(Local(a))]]


def _audit(maker: Maker) -> Segments:
    first, _ = maker.cells
    result = maker.local()
    if first.kind == "field":
        return _read_both(maker)
    if maker.chance(0.5):
        return [[Access("total", first.data, None, None, result)], [Return(Local(result))]]
    key, each, total = maker.local("k"), maker.local(), maker.local("t")
    keys = ("a", "b") if first.kind == "dict" else (0, 1)
    body: Body = (
        Access("item", first.data, Local(key), None, each),
        Let(total, Operation("+", Local(total), Local(each))),
    )
    maker.features.add("loop that carries")
    return [[Let(total, Const(0)), For(key, keys, body)], [Return(Local(total))]]


def _each_one(maker: Maker) -> Segments:
    """A loop whose iterations have nothing to do with one another."""
    first, _ = maker.cells
    if first.kind == "field":
        return _transfer(maker)
    key = maker.local("k")
    keys = ("a", "b") if first.kind == "dict" else (0, 1)
    step: Statement = Update(first.data, Local(key), "+", maker.amount())
    maker.features.add("loop of independent iterations")
    body = (Locked(LOCK, (step,)),) if maker.chance(0.7) else (step,)
    return [[For(key, keys, body, independent=True)]]


# --- shapes: states and flags -----------------------------------------------------------------------------------------


def _prepare_state(maker: Maker) -> None:
    maker.data += [Data("busy", "field", False), Data("amount", "field", 0), Data("phase", "field", "idle")]
    maker.features.add("cells field")


def _claim(maker: Maker) -> Segments:
    cell = Cell("busy", "field")
    result = [Return(Const(True))] if maker.chance(0.7) else [Update("amount", None, "+", Const(1))]
    room = Look(lambda v: Access("get", "amount", None, None, v), lambda v: Operation("<", Local(v), Const(2)))
    return maker.checked(cell.read, lambda v: Not(Local(v)), [cell.write(Const(True)), *result], beside=room)


def _free(maker: Maker) -> Segments:
    return [[Access("set", "busy", None, Const(False))]]


def _phases(maker: Maker) -> Segments:
    middle: list[Statement] = [Update("amount", None, "+", Const(1))] if maker.chance(0.5) else []
    start: list[Statement] = [Access("set", "phase", None, Const("busy"))]
    return [start, middle, [Access("set", "phase", None, Const("idle"))]]


def _watch(maker: Maker) -> Segments:
    value = maker.local()
    result: Expression = Local(value) if maker.chance(0.4) else Operation("==", Local(value), Const("idle"))
    return [[Access("get", "phase", None, None, value)], [Return(result)]]


def _publish(maker: Maker) -> Segments:
    value: list[Statement] = [Access("set", "amount", None, Const(maker.constant))]
    flag: list[Statement] = [Access("set", "busy", None, Const(True))]
    return [value, flag] if maker.chance(0.6) else [flag, value]


def _consume(maker: Maker) -> Segments:
    value = maker.local()
    look: list[Statement] = [Access("get", "amount", None, None, value), Return(Local(value))]
    return maker.checked(lambda v: Access("get", "busy", None, None, v), lambda v: Local(v), look)


def _work_if_idle(maker: Maker) -> Segments:
    cell = Cell("phase", "field")
    return maker.checked(
        cell.read,
        lambda v: Operation("==", Local(v), Const("idle")),
        [Update("amount", None, "+", maker.amount())],
    )


# --- shapes: lists ----------------------------------------------------------------------------------------------------


def _prepare_log(maker: Maker) -> None:
    maker.data.append(Data("items", "list", maker.source.choice(([], [1], [1, 2]))))
    maker.features.add("cells list")


def _append(maker: Maker) -> Segments:
    return [[Access("append", "items", None, Const(maker.source.choice((7, maker.constant))))]]


def _append_two(maker: Maker) -> Segments:
    if maker.chance(0.6):
        return _append(maker)  # that others may come in between two appends is often meant so
    number = maker.source.randint(10, 99)
    pieces: Segments = [
        [Access("append", "items", None, Const(number))],
        [Access("append", "items", None, Const(-number))],
    ]
    return pieces


def _pop_if_any(maker: Maker) -> Segments:
    result = maker.local()
    act: list[Statement] = [Access("pop", "items", None, None, result), Return(Local(result))]
    return maker.checked(
        lambda v: Access("len", "items", None, None, v), lambda v: Operation(">", Local(v), Const(0)), act
    )


def _pop_or_nothing(maker: Maker) -> Segments:
    result = maker.local()
    pop: Body = (Access("pop", "items", None, None, result),)
    return [[Try(pop, "IndexError", (Let(result, Const(None)),))], [Return(Local(result))]]


def _append_if_room(maker: Maker) -> Segments:
    return maker.checked(
        lambda v: Access("len", "items", None, None, v),
        lambda v: Operation("<", Local(v), Const(2)),
        [Access("append", "items", None, Const(maker.constant))],
        weaker=lambda v: Operation("<", Local(v), Const(3)),
    )


def _items(maker: Maker) -> Segments:
    value = maker.local()
    operation = maker.source.choice(("copy", "len"))
    return [[Access(operation, "items", None, None, value)], [Return(Local(value))]]


def _drain(maker: Maker) -> Segments:
    value = maker.local()
    return [[Access("copy", "items", None, None, value)], [Access("clear", "items")], [Return(Local(value))]]


def _put_back(maker: Maker) -> Segments:
    """What was taken out is put back, changed."""
    value = maker.local()
    pop: Body = (Access("pop", "items", None, None, value),)
    take: list[Statement] = [Try(pop, "IndexError", (Let(value, Const(0)),))]
    back = Operation("+", Local(value), Const(1)) if maker.chance(0.5) else Local(value)
    return [take, [Access("append", "items", None, back)]]


# --- shapes: sets -----------------------------------------------------------------------------------------------------


def _prepare_members(maker: Maker) -> None:
    maker.data.append(Data("members", "set", {"x"} if maker.chance(0.5) else {"x", "y"}))
    maker.features.add("cells set")


def _member(maker: Maker) -> Const:
    return Const(maker.source.choice("xyyz"))


def _enter(maker: Maker) -> Segments:
    return [[Access("add", "members", _member(maker))]]


def _enter_if_absent(maker: Maker) -> Segments:
    member = _member(maker)
    act: list[Statement] = [Access("add", "members", member)]
    if maker.chance(0.6):
        act.append(Return(Const(True)))
    return maker.checked(lambda v: Access("has", "members", member, None, v), lambda v: Not(Local(v)), act)


def _enter_if_room(maker: Maker) -> Segments:
    member = _member(maker)
    return maker.checked(
        lambda v: Access("len", "members", None, None, v),
        lambda v: Operation("<", Local(v), Const(2)),
        [Access("add", "members", member)],
        beside=Look(lambda v: Access("has", "members", member, None, v), lambda v: Not(Local(v))),
    )


def _leave(maker: Maker) -> Segments:
    return [[Access("discard", "members", _member(maker))]]


def _move(maker: Maker) -> Segments:
    first, second = maker.source.sample("xyz", 2)
    return [[Access("discard", "members", Const(first))], [Access("add", "members", Const(second))]]


def _enter_two(maker: Maker) -> Segments:
    first, second = maker.source.sample("xyz", 2)
    return [[Access("add", "members", Const(first))], [Access("add", "members", Const(second))]]


def _count_members(maker: Maker) -> Segments:
    value = maker.local()
    return [[Access("len", "members", None, None, value)], [Return(Local(value))]]


def _both_members(maker: Maker) -> Segments:
    a, b = maker.local(), maker.local()
    first, second = maker.source.sample("xyz", 2)
    looks: Segments = [
        [Access("has", "members", Const(first), None, a)],
        [Access("has", "members", Const(second), None, b)],
    ]
    return [*looks, [Return(Several((Local(a), Local(b))))]]


# --- shapes: text and handlers ----------------------------------------------------------------------------------------


def _prepare_text(maker: Maker) -> None:
    maker.data += [Data("text", "field", ""), Data("factor", "field", maker.source.choice((None, 2)))]
    maker.features.add("cells field")


def _write_piece(maker: Maker) -> Segments:
    return [[Update("text", None, "+", Const(maker.source.choice("abc")))]]


def _write_two_pieces(maker: Maker) -> Segments:
    return [[Update("text", None, "+", Const("<"))], [Update("text", None, "+", Const(">"))]]


def _text(maker: Maker) -> Segments:
    value = maker.local()
    return [[Access("get", "text", None, None, value)], [Return(Local(value))]]


def _replace_handler(maker: Maker) -> Segments:
    """Taken away and set anew, with a gap in between."""
    new = Const(maker.source.choice((3, maker.constant)))
    return [[Access("set", "factor", None, Const(None))], [Access("set", "factor", None, new)]]


def _use_handler(maker: Maker) -> Segments:
    value = maker.local()
    return [[Access("get", "factor", None, None, value)], [Return(Operation("*", Local(value), Const(10)))]]


def _use_handler_if_there(maker: Maker) -> Segments:
    value = maker.local()
    use: list[Statement] = [Access("get", "factor", None, None, value), Return(Operation("*", Local(value), Const(10)))]
    return maker.checked(
        lambda v: Access("get", "factor", None, None, v), lambda v: Operation("is not", Local(v), Const(None)), use
    )


THEMES: dict[str, tuple[Callable[[Maker], None], tuple[Shape, ...]]] = {
    "counter": (
        _prepare_counter,
        (
            *(_add, _add_by_local, _add_by_local, _add_twice, _gauge, _reset, _scale, _look, _look_twice, _compare),
            *(_take_if_any, _take_if_any, _take_or_refuse, _bump_and_look, _highest),
        ),
    ),
    "cache": (
        _prepare_cache,
        (_fill, _fill, _fill_and_return, _get_or_make, _setdefault, _try_entry, _forget, _count_entries),
    ),
    "pair": (
        _prepare_pair,
        (_set_both, _read_both, _transfer, _transfer_if_enough, _copy_over, _swap, _audit, _each_one),
    ),
    "state": (
        _prepare_state,
        (_claim, _claim, _free, _publish, _publish, _consume, _consume, _work_if_idle, _work_if_idle, _watch, _phases),
    ),
    "log": (
        _prepare_log,
        (
            *(_append, _append, _pop_if_any, _pop_if_any, _pop_or_nothing, _pop_or_nothing, _append_if_room),
            *(_append_if_room, _append_if_room, _items, _items, _drain, _drain, _drain, _append_two, _put_back),
        ),
    ),
    "members": (
        _prepare_members,
        (_enter, _enter_if_absent, _enter_if_room, _leave, _move, _enter_two, _count_members, _both_members),
    ),
    "text": (
        _prepare_text,
        (_write_piece, _write_two_pieces, _text, _replace_handler, _use_handler, _use_handler_if_there),
    ),
}
