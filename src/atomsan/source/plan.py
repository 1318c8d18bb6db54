"""The plan of an instrumented module: its probes, regions and functions, and the placeholders of probes.

The instrumenter (`instrument.py`) rewrites source and gives a `Plan`; the code it compiles has placeholder constants,
because compiled code with placeholders can be cached and a probe cannot. When the code is loaded, `recorder` makes a
probe for each row of the plan and puts it where its placeholder stands.

The argument and result of each kind of probe; P is the probe, which is always a constant of the code:

    load_attr      P[obj].name                logs a read, returns obj; the interpreter itself does the access
    store_attr     P[obj].name = v, del       logs a write, returns obj
    aug_attr       P[obj] += v                reads the attribute; then writes it
                   obj in P, P(obj, v)        the same at once, and True, if numbers are added (`step`); else False, and
                                              nothing has happened
    item           P(obj, key)                does the access, logs it. (A call may let other threads run, but after
                                              both.) With a slice, and for = v and del, P[obj, key]
    aug_item       P[obj, key] += v           reads the item; then writes it
    load_name      P[NAME]                    a global: logs a read, returns the value
    store_name     NAME = P[v]                logs a write, returns v. Where there is no value to wrap: P[...] alone
                                              after the write, P[None] before a deletion
    cells          ~cells = P[None]           makes the identity of this activation's closure variables
    load_cell      P[NAME, ~cells]            as load_name, for a closure variable
    store_cell     NAME = P[v, ~cells]        as store_name
    method         P[obj].name(a)             `name` may be one that has effects; arguments are simple. Returns obj
    keyed_method   P[obj, k].name(k, a)       the same for methods whose first argument is a key
    late_method    P[obj](f(), ...)           arguments are not simple: returns what obj.name would be, or a stand-in
                                              that logs when it is called
    argument       len(P[x])                  a function with effects on x; the other arguments are simple. Returns x
    call           P(f, a, b, k=c)            the same where arguments are not simple: logs, and calls
    iterate        for t in P[x]              returns x, or an iterator that logs reads of the structure
    unpack         a, b = P[x]; f(*P[x])      logs a read of what is iterated, returns x. Named `**`, f(**P[x]): of all
    truth          if P[x]                    logs a read of the structure, returns x
    contains       k in P[c, k]               logs the read of an element, returns c; k is simple
    late_contains  P[k, c]                    logs and does it, returns a bool
    identity       P[get_ident()]             logs that the code asks which thread it is, returns its argument
    with           with P[x]                  nothing but the site, for the primitive that is entered; returns x
    await          await P[x]                 the same; a task that has ended is joined
    begin          del P[receiver or None]    a region begins. With a `name` it is that of a function whose outermost
                                              loops have regions in this code
    end            del P[None]                and ends
    suspend        yield P[x]                 a generator's region ends; returns x
    resume         P[(yield ...)]             and begins again; returns its argument
    span           lambda: (P[None], body)[1] a region begins that ends when the object that is returned dies: a lambda
                                              has no place for an end
    drive          for t in P[x]              if x is a generator of recorded code, the loop's region begins, and lasts
                                              until the loop is left: returns an iterator that ends it when it dies
                   del P[x]                   the same around a loop that asks x for values by `next`; `end` ends it
    enter          P[f](a)                    in an entry function that does nothing else: f is about to be one, too.
                                              Returns f
    match          match P[x]:                logs what the patterns read, as far as that can be told before, each by a
                                              probe of its own, which stands nowhere in the code; returns x
    source         exec(P[text])              returns instrumented code for a text, or its argument

Nothing of this is there for containers that only one activation of a function knows (`escape_analysis.py`).

An expression is *simple* if evaluating it runs no code and meets no other probe: constants, names that are not probed,
tuples of these, lambdas without defaults.

The closure variables of a function have their token in a local variable of it, named `~cells` and a number: no program
can write that, and in `__closure__` it comes after the program's own.

Most augmented assignments count something. `obj.name += 1` is `if obj not in P: P[obj] += 1`, which is one step of the
interpreter for two accesses, if `obj` is a variable of a function; and `obj.name += v` is
`if not P(obj, v): P[obj] += v`, if `v` is a local variable that surely has a value: then nobody can tell that it is
evaluated before the attribute is read.

An augmented assignment to a probed name is `NAME = P[IADD(P[NAME], v)]`, with the function of `operator` as a constant
(`operation` below); its two probes carry the region of the statement.

A number cannot be given to a placeholder, which the compiler would take for an index of bytes: it is `(P[None], 5)[1]`,
for the kinds that return their argument.

A generator that is closed, or that is thrown into, at a yield runs `end` without `resume`: an `end` of a region that is
not open in the thread means nothing.
"""

# Annotations are evaluated here: as texts, NamedTuple would compile each one, at the start of every recorded program.
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

KINDS = (
    *("load_attr", "store_attr", "aug_attr", "item", "aug_item"),
    *("load_name", "store_name", "cells", "load_cell", "store_cell"),
    *("method", "keyed_method", "late_method", "argument", "call"),
    *("iterate", "unpack", "truth", "contains", "late_contains", "identity"),
    *("with", "await", "begin", "end", "suspend", "resume", "span", "drive", "enter", "match", "source"),
)

# Bytes, because marshal knows them and a subscript of bytes can be compiled without a warning.
_PREFIX = b"\0atomsan:"
_OPERATION = b"\0atomsan="


def placeholder(number: int) -> bytes:
    """The constant that stands for the probe of this number."""
    return _PREFIX + b"%d" % number


def probe_number(constant: object) -> int | None:
    """The probe that a constant stands for, if it is a placeholder."""
    if type(constant) is bytes and constant.startswith(_PREFIX) and constant[len(_PREFIX) :].isdigit():
        return int(constant[len(_PREFIX) :])
    return None


def operation_placeholder(name: str) -> bytes:
    """The constant that stands for a function of `operator`, such as `iadd`."""
    return _OPERATION + name.encode()


def operation(constant: object) -> Callable[[Any, Any], Any] | None:
    """The function of `operator` that a constant stands for, if it is such a placeholder."""
    if type(constant) is bytes and constant.startswith(_OPERATION):
        return getattr(operator, constant[len(_OPERATION) :].decode(), None)
    return None


class Probe(NamedTuple):
    """One row of the plan. Numbers are indexes into the plan's own lists."""

    kind: str
    line: int
    column: int
    function: int
    """The function it stands in."""
    name: str = ""
    """The attribute, variable, method or function: as it is at run time (mangled)."""
    text: str = ""
    """The expression of the object or container, as in the source: `self.items`. For names of locations."""
    region: int = -1
    """begin, end, suspend, resume, span, drive: the region. aug_*, and the two of an augmented name: that of the
    statement. with: that of the block."""
    feeds: int = -1
    """The probe (load_attr, load_name, load_cell) whose value is the container that this one is about. with: whose
    value is entered; await: whose value has the method that is awaited."""
    node: int = -1
    """The node of the function's flow summary that stands for it."""
    step: str = ""
    """aug_attr: what it does at once. `+1`, `-2`: adds this, asked by `in`. `+`, `-`: adds or subtracts what it is
    called with. match: the patterns (`match_patterns.py`)."""


class Function(NamedTuple):
    """A function, class body or module of the source."""

    name: str
    """Its qualified name, `<module>` for the module."""
    line: int
    parent: int = -1
    summary: str = ""
    """Its flow summary, as JSON (`flow_summaries.py`). Code that has no summary of its own is in that of `parent`."""


class Region(NamedTuple):
    """A piece of code that can be atomic."""

    name: str
    """`pkg.mod:Class.method`; of a loop `pkg.mod:f/loop:12`, of a statement `pkg.mod:f/statement:14`, of a with block
    `pkg.mod:f/with:14`."""
    origin: str
    """`function`, `annotated`, `loop`, `statement`, `lock-block`, or `outer`: never atomic unless a spec names it."""
    line: int
    function: int
    has_loops: bool = False
    """A function with loops: as an entry function it is `outer`, and the iterations of its outermost loops are regions.
    Their rows are in the plan in any case; the code of a function has them if it can be told to be an entry function,
    or was named as one. Without them it is an entry function like one that has no loops."""
    is_trampoline: bool = False
    """A function that only calls another: as an entry function it stands aside, and the other is the entry function."""
    flow: tuple[str, ...] = ()
    """Receivers of which the result of one call flows into a later call (`call_flow.py`), each with the methods that
    are called on it: `acc get set`. With `!` in front the user said so (`atomsan.unit_for`); with a dot it is so if
    attributes are properties, and the names are those that the result flows between: `.acc balance withdraw`."""


class Plan(NamedTuple):
    """All data of an instrumented module, but for its code."""

    module: str
    file: str
    probes: list[Probe]
    functions: list[Function]
    regions: list[Region]
    shared_names: list[str]
    """The globals that functions write: those of which reads and writes are logged."""
    stored_outside: Sequence[str] = ()
    """The attributes that are stored to what imports bind, modules perhaps: their reads in any module are logged."""
    sets: Sequence[tuple[str, ...]] = ()
    """The classes that `atomsan.atomic_set` decorates: the class, or `Class:name`, and the fields."""
