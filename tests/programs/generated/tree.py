"""Tree of a generated program: shared data, threads, units and statements.

Everything in it is immutable and means one thing; how it is written as Python is decided later (`spelling`).
Expressions are pure and over locals only: each look at shared data is a statement of its own, so that the steps of a
program are plain to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# --- expressions over locals ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    value: object


@dataclass(frozen=True, slots=True)
class Local:
    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic or comparison: `+ - * == != < <= > >=`, `is` and `is not` for None; `and` and `or` of conditions."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expression


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple."""

    parts: tuple[Expression, ...]


Expression = Const | Local | Operation | Not | Several


def locals_in(expression: Expression | None) -> Iterator[str]:
    """Locals in the order in which they are evaluated."""
    if isinstance(expression, Local):
        yield expression.name
    elif isinstance(expression, Operation):
        yield from locals_in(expression.left)
        yield from locals_in(expression.right)
    elif isinstance(expression, Not):
        yield from locals_in(expression.operand)
    elif isinstance(expression, Several):
        for part in expression.parts:
            yield from locals_in(part)


# --- shared data ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Data:
    """A field (`kind` field) or a container that a field holds (`dict`, `list`, `array`, `set`)."""

    name: str
    kind: str
    initial: object
    home: str = "store"
    """`store`: the shared object; `peer`: a second object, which the first one holds; `module`: a global, which has to
    be a container. (The recorder logs a global variable after it was read: no scheduler can come before that.)"""


# --- statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Access:
    """One step on shared data. `machine.OPERATIONS` has what each does."""

    operation: str
    data: str
    key: Expression | None = None
    value: Expression | None = None
    to: str | None = None
    """The local that takes the result."""


@dataclass(frozen=True, slots=True)
class Update:
    """A read and a write of one location, `+=`."""

    data: str
    key: Expression | None
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Let:
    to: str
    value: Expression


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True, slots=True)
class For:
    """`independent`: no iteration passes anything on to another, and each is a unit of its own."""

    local: str
    values: tuple[object, ...]
    body: Body
    independent: bool = False


@dataclass(frozen=True, slots=True)
class Locked:
    lock: str
    body: Body


@dataclass(frozen=True, slots=True)
class Call:
    """A body in a function of its own. `to`: the locals that its caller takes over.

    `channel`: how it is called and gives its result. With `returns`, the body has Return statements for the one local.
    """

    name: str
    channel: str
    body: Body
    to: tuple[str, ...] = ()
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """Code before and after a body, in a context manager or generator (`channel`); the body sees `to`."""

    name: str
    channel: str
    before: Body
    to: tuple[str, ...]
    body: Body
    after: Body


@dataclass(frozen=True, slots=True)
class Try:
    body: Body
    error: str
    handler: Body


@dataclass(frozen=True, slots=True)
class Return:
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    error: str


Statement = Access | Update | Let | If | For | Locked | Call | Around | Try | Return | Raise
Body = tuple[Statement, ...]


def parts(statement: Statement) -> tuple[Body, ...]:
    """The bodies inside a statement."""
    match statement:
        case If(_, then, otherwise):
            return then, otherwise
        case Around(_, _, before, _, body, after):
            return before, body, after
        case Try(body, _, handler):
            return body, handler
        case For() | Locked() | Call():
            return (statement.body,)
    return ()


def walk(body: Body) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for part in parts(statement):
            yield from walk(part)


def expressions(statement: Statement) -> tuple[Expression | None, ...]:
    """The expressions of the statement itself, in the order in which Python evaluates them."""
    match statement:
        case Access(_, _, key, value, _):
            return value, key
        case Update(_, key, _, operand):
            return key, operand
        case Let(_, value) | Return(value):
            return (value,)
        case If(condition, _, _):
            return (condition,)
    return ()


def assigned(body: Body) -> set[str]:
    """Locals that the body gives a value, in its own function."""
    found: set[str] = set()
    for statement in body:
        match statement:
            case Access(to=str(name)) | Let(to=name):
                found.add(name)
            case Call(to=names):
                found.update(names)
                continue
            case Around(to=names, body=inner):
                found.update(names)
                found |= assigned(inner)
                continue
            case For(local=name):
                found.add(name)
        for part in parts(statement):
            found |= assigned(part)
    return found


def used(body: Body) -> set[str]:
    """Locals that the body looks at."""
    return {name for statement in walk(body) for expression in expressions(statement) for name in locals_in(expression)}


def returns(body: Body) -> bool:
    """Whether the body has a return of the function that it stands in."""
    for statement in body:
        if isinstance(statement, Return):
            return True
        if isinstance(statement, Call):
            continue
        if any(returns(part) for part in parts(statement)):
            return True
    return False


# --- programs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """A call that a thread makes: a method of the shared object."""

    name: str
    body: Body
    holders: tuple[tuple[str, str], ...] = ()
    """Locals that are kept inside something: `list`, `dict`, `tuple`, `object`."""


@dataclass(frozen=True, slots=True)
class Thread:
    units: tuple[Unit, ...]
    entry: str
    """How they are called.

    `call`: one unit, which is the whole of the entry function. `loop`: each iteration of the entry function's loop
    calls one.
    """


@dataclass(frozen=True, slots=True)
class Program:
    data: tuple[Data, ...]
    locks: tuple[str, ...]
    threads: tuple[Thread, ...]
    features: frozenset[str] = field(default=frozenset())
