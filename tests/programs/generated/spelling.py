"""Writes a tree as ordinary Python, in several spellings.

Every spelling of a tree makes the same steps in the same order. A spelling chooses names, `+=` or `= ... +`, locals or
nested expressions, aliases, which side of a comparison is written first, and line breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
    expressions,
    locals_in,
    used,
    walk,
)


@dataclass(frozen=True, slots=True)
class Spelling:
    names: str = "{}"
    """The format of the names of locals."""
    receiver: str = "self"
    augmented: bool = True
    nested: bool = True
    """Reads stand inside the expressions that use them, where that keeps the order of steps."""
    alias: bool = False
    """A second name for the receiver."""
    turned: bool = False
    """Comparisons have their sides exchanged, conditions with two branches are negated."""
    broken: bool = False
    """Statements go over several lines."""


PLAIN = Spelling()
SPELLINGS = (
    PLAIN,
    Spelling(augmented=False, nested=False),
    Spelling(names="the_{}", alias=True, turned=True),
    Spelling(names="{}_now", augmented=False, broken=True),
    Spelling(names="_{}", receiver="this", nested=False, turned=True, broken=True),
    Spelling(names="{}1", augmented=False, alias=True, nested=False, broken=True),
)

# What a program may need, by what stands in its text.
_PREAMBLE = (
    ("functools.", "import functools\n"),
    ("threading.", "import threading\n"),
    ("types.", "import types\n"),
    ("@contextmanager", "from contextlib import contextmanager\n"),
    ("Refused", "\n\nclass Refused(Exception):\n    pass\n"),
    ("Answer", "\n\nclass Answer(Exception):\n    pass\n"),
    ("run(", "\n\ndef run(action):\n    return action()\n"),
)

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_HOLDERS = {
    "list": ("{name}_box = [{value}]", "{name}_box[0]"),
    "tuple": ("{name}_box = (0, {value})", "{name}_box[1]"),
    "dict": ('{name}_box = {{"value": {value}}}', '{name}_box["value"]'),
    "object": ("{name}_box = types.SimpleNamespace(value={value})", "{name}_box.value"),
    "appended": ("{name}_box = []; {name}_box.append({value})", "{name}_box[-1]"),
}
_OPERATIONS = {
    "get": "{data}.get({key})",
    "has": "{key} in {data}",
    "pop": "{data}.pop({key}, None)",
    "setdefault": "{data}.setdefault({key}, {value})",
    "len": "len({data})",
    "item": "{data}[{key}]",
    "store": "{data}[{key}] = {value}",
    "append": "{data}.append({value})",
    "copy": "tuple({data})",
    "clear": "{data}.clear()",
    "add": "{data}.add({key})",
    "discard": "{data}.discard({key})",
}
_BY_KIND = {
    ("field", "get"): "{data}",
    ("field", "set"): "{data} = {value}",
    ("dict", "total"): "sum({data}.values())",
    ("array", "total"): "sum({data})",
    ("list", "pop"): "{data}.pop()",
}
# Reads of which the text can stand where the value is used.
_NESTABLE = frozenset({"get", "has", "len", "item", "total", "copy"})


@dataclass(slots=True)
class _Function:
    """The function that is being written."""

    receiver: str
    holders: dict[str, str]
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    known: set[str] = field(default_factory=set)
    """Locals that have a value."""
    nested: dict[str, str] = field(default_factory=dict)
    """Locals in whose place the text of a read stands."""

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)


class Source(NamedTuple):
    """A program's two modules: what is shared, and the entry functions of the threads.

    Entry functions are instrumented once more when their threads start, with all that is in their file.
    """

    shared: str
    entries: str


def written(program: Program, spelling: Spelling = PLAIN) -> Source:
    return _Writer(program, spelling).source()


def _literal(value: object) -> str:
    if isinstance(value, set):
        return "{" + ", ".join(map(repr, sorted(value))) + "}" if value else "set()"
    return repr(value)


def unit_arguments(unit: Unit) -> tuple[list[Let], Body]:
    """A unit's parameters with what its caller passes, and the rest of its body."""
    count = 0
    for statement in unit.body:
        if not (isinstance(statement, Let) and isinstance(statement.value, Const)):
            break
        count += 1
    return [s for s in unit.body[:count] if isinstance(s, Let)], unit.body[count:]


class _Writer:
    def __init__(self, program: Program, spelling: Spelling) -> None:
        self.program = program
        self.spelling = spelling
        self.data = {data.name: data for data in program.data}
        self.methods: list[str] = []
        self.functions: list[str] = []
        self.uses: dict[str, int] = {}
        """How often each local of the current unit is looked at."""

    def source(self) -> Source:
        for unit in dict.fromkeys(unit for thread in self.program.threads for unit in thread.units):
            self._unit(unit)
        entries = [self._entry(number, thread) for number, thread in enumerate(self.program.threads)]
        peers, own, globals_ = (
            [data for data in self.program.data if data.home == home] for home in ("peer", "store", "module")
        )
        made = ["".join(f"{data.name} = {_literal(data.initial)}\n" for data in globals_)] if globals_ else []
        made += [self._class("Peer", peers, (), ())] if peers else []
        made.append(self._class("Store", own, self.program.locks, self.methods, has_peer=bool(peers)))
        text = "\n\n".join([*made, *self.functions])
        preamble = "".join(needed for mark, needed in _PREAMBLE if mark in text)
        return Source(f"{preamble}\n\n{text}", "\n\n".join(entries))

    def _class(
        self, name: str, data: list[Data], locks: Sequence[str], methods: Sequence[str], *, has_peer: bool = False
    ) -> str:
        lines = [f"class {name}:", "    def __init__(self):"]
        lines += [f"        self.{lock} = threading.Lock()" for lock in locks]
        lines += ["        self.peer = Peer()"] if has_peer else []
        lines += [f"        self.{one.name} = {_literal(one.initial)}" for one in data]
        return "\n".join(["\n".join(lines) + "\n", *methods])

    def _entry(self, number: int, thread: Thread) -> str:
        calls = []
        for unit in thread.units:
            arguments = ", ".join(
                repr(let.value.value) for let in unit_arguments(unit)[0] if isinstance(let.value, Const)
            )
            calls.append(f"results.append(store.{unit.name}({arguments}))")
        lines = [f"def entry{number}(store, results):"]
        failed = ["except Exception as error:", '    results.append(("raised", type(error).__name__))']
        if thread.entry == "loop":
            lines += [f"    for turn in range({len(calls)}):", "        try:"]
            for turn, call in enumerate(calls):
                if len(calls) == 1:
                    lines.append(f"            {call}")
                    continue
                word = "if" if turn == 0 else "elif"
                lines += [f"            {word} turn == {turn}:", f"                {call}"]
            lines += ["        " + line for line in failed]
        else:
            lines += ["    try:", f"        {calls[0]}", *("    " + line for line in failed)]
        return "\n".join(lines) + "\n"

    # --- functions ------------------------------------------------------------------------------------------------

    def _unit(self, unit: Unit) -> None:
        self.uses = {}
        for statement in walk(unit.body):
            for expression in expressions(statement):
                for name in locals_in(expression):
                    self.uses[name] = self.uses.get(name, 0) + 1
        parameters, body = unit_arguments(unit)
        names = [let.to for let in parameters]
        self._method(unit.name, names, body, dict(unit.holders))

    def _method(
        self,
        name: str,
        inputs: list[str],
        body: Body,
        holders: dict[str, str],
        *,
        last: str = "",
        decorator: str = "",
        after: Body = (),
        outside: bool = False,
    ) -> None:
        """A method, or a function `outside` the class. `last`: the locals that it gives, in this form."""
        receiver = "store" if outside else self.spelling.receiver
        parameters = ", ".join([receiver, *map(self._name, inputs)])
        function = _Function(receiver, {k: v for k, v in holders.items() if k not in inputs}, known=set(inputs))
        if decorator:
            function.lines.append(f"    @{decorator}")
        function.lines.append(f"    def {name}({parameters}):")
        function.depth = 2
        self._function_body(function, body, last, after)
        text = "\n".join(function.lines) + "\n"
        if outside:
            self.functions.append("\n".join(line[4:] for line in text.split("\n")))
        else:
            self.methods.append(text)

    def _function_body(self, function: _Function, body: Body, last: str, after: Body = ()) -> None:
        if self.spelling.alias:
            function.add(f"me = {function.receiver}")
            function.receiver = "me"
        self._body(function, body)
        if last:
            function.add(last)
            self._body(function, after)
        if function.lines[-1].endswith(":"):
            function.add("pass")

    def _name(self, local: str) -> str:
        return self.spelling.names.format(local)

    def _use(self, function: _Function, local: str) -> str:
        if local in function.nested:
            return function.nested.pop(local)
        holder = function.holders.get(local)
        return self._name(local) if holder is None else _HOLDERS[holder][1].format(name=self._name(local))

    def _assign(self, function: _Function, local: str, value: str) -> None:
        function.known.add(local)
        holder = function.holders.get(local)
        if holder is not None:
            function.add(_HOLDERS[holder][0].format(name=self._name(local), value=value))
        else:
            self._statement_text(function, f"{self._name(local)} = ", value)

    def _assign_all(self, function: _Function, locals_: tuple[str, ...], value: str, *, boxed: bool = False) -> None:
        """`boxed`: the value is iterable and has one element, which is what is given."""
        if not locals_:
            function.add(f"list({value})" if boxed else value)
            return
        plain = ", ".join(self._name(local) for local in locals_)
        if len(locals_) == 1 and not boxed:
            self._assign(function, locals_[0], value)
            return
        target = f"[({plain})]" if boxed and len(locals_) > 1 else f"[{plain}]" if boxed else plain
        self._statement_text(function, f"{target} = ", value)
        for local in locals_:
            function.known.add(local)
            if local in function.holders:
                self._assign(function, local, self._name(local))

    def _statement_text(self, function: _Function, start: str, value: str = "", end: str = "") -> None:
        if self.spelling.broken and value:
            function.add(f"{start}(")
            function.add(f"    {value}")
            function.add(f"){end}")
        else:
            function.add(start + value + end)

    # --- statements -----------------------------------------------------------------------------------------------

    def _body(self, function: _Function, body: Body) -> None:
        at = 0
        while at < len(body):
            count = self._nestable(function, body[at:]) if self.spelling.nested else 0
            for statement in body[at : at + count]:
                assert isinstance(statement, Access)
                assert statement.to is not None
                function.nested[statement.to] = self._access_text(function, statement)
                if statement.operation == "has":
                    function.nested[statement.to] = f"({function.nested[statement.to]})"
            at += count
            self._statement(function, body[at])
            at += 1

    def _nestable(self, function: _Function, body: Body) -> int:
        """How many reads at the start of the body can stand inside the statement after them."""
        reads: list[str] = []
        for statement in body:
            is_read = isinstance(statement, Access) and statement.operation in _NESTABLE and statement.to is not None
            if not is_read or not all(isinstance(e, Const) for e in expressions(statement) if e is not None):
                break
            assert isinstance(statement, Access)
            assert statement.to is not None
            if self.uses.get(statement.to) != 1 or statement.to in function.holders:
                break
            reads.append(statement.to)
        if not reads or len(reads) == len(body):
            return 0
        follower = body[len(reads)]
        if isinstance(follower, Access):
            looked = list(locals_in(follower.value))
            if follower.operation in ("setdefault", "append"):
                return 0  # the container is looked at first
        elif isinstance(follower, If | Let | Return):
            condition = expressions(follower)[0]
            if isinstance(condition, Operation) and condition.operator in ("and", "or"):
                return 0  # the second look would depend on the first
            looked = list(locals_in(condition))
        else:
            return 0
        while reads and [name for name in looked if name in reads] != reads:
            reads.pop(0)
        # what stands before the others in the expression must not be read after them
        return 0 if len(reads) != self._reads_at_start(body) else len(reads)

    def _reads_at_start(self, body: Body) -> int:
        count = 0
        for statement in body:
            if not (isinstance(statement, Access) and statement.operation in _NESTABLE and statement.to is not None):
                break
            count += 1
        return count

    def _statement(self, function: _Function, statement: Statement) -> None:
        match statement:
            case Access():
                text = self._access_text(function, statement)
                if statement.to is not None:
                    self._assign(function, statement.to, text)
                elif " = " in text and self.spelling.broken:
                    start, _, value = text.partition(" = ")
                    self._statement_text(function, f"{start} = ", value)
                else:
                    function.add(text)
            case Update(data, key, operator, operand):
                place = self._place(function, data, key)
                value = self._text(function, operand)
                if self.spelling.augmented:
                    self._statement_text(function, f"{place} {operator}= ", value)
                else:
                    self._statement_text(function, f"{place} = ", f"{place} {operator} {value}")
            case Let(to, value):
                self._assign(function, to, self._text(function, value))
            case If():
                self._if(function, statement)
            case For(local, values, body, _):
                function.add(f"for {self._name(local)} in {values!r}:")
                function.known.add(local)
                self._block(function, body)
            case Locked(lock, body):
                function.add(f"with {function.receiver}.{lock}:")
                self._block(function, body)
            case Call():
                self._call(function, statement)
            case Around():
                self._around(function, statement)
            case Try(body, error, handler):
                function.add("try:")
                self._block(function, body)
                function.add(f"except {error}:")
                self._block(function, handler)
            case Return(None):
                function.add("return")
            case Return(value):
                assert value is not None
                self._statement_text(function, "return ", self._text(function, value))
            case Raise(error):
                function.add(f"raise {error}")

    def _block(self, function: _Function, body: Body) -> None:
        function.depth += 1
        before = len(function.lines)
        self._body(function, body)
        if len(function.lines) == before:
            function.add("pass")
        function.depth -= 1

    def _if(self, function: _Function, statement: If) -> None:
        condition, then, otherwise = statement.condition, statement.then, statement.otherwise
        if self.spelling.turned and otherwise:
            condition, then, otherwise = Not(condition), otherwise, then
        self._statement_text(function, "if ", self._text(function, condition), ":")
        self._block(function, then)
        if otherwise:
            function.add("else:")
            self._block(function, otherwise)

    def _access_text(self, function: _Function, access: Access) -> str:
        kind = self.data[access.data].kind
        form = _BY_KIND.get((kind, access.operation)) or _OPERATIONS[access.operation]
        # in the order of evaluation: a nested read can stand in one of them
        value = "" if access.value is None else self._text(function, access.value)
        key = "" if access.key is None else self._text(function, access.key)
        return form.format(data=self._base(function, access.data), key=key, value=value)

    def _place(self, function: _Function, data: str, key: Expression | None) -> str:
        base = self._base(function, data)
        return base if key is None else f"{base}[{self._text(function, key)}]"

    def _base(self, function: _Function, data: str) -> str:
        home = self.data[data].home
        return data if home == "module" else f"{function.receiver}.{'peer.' if home == 'peer' else ''}{data}"

    def _text(self, function: _Function, expression: Expression) -> str:
        match expression:
            case Const(value):
                return repr(value)
            case Local(name):
                return self._use(function, name)
            case Not(operand):
                return f"not ({self._text(function, operand)})"
            case Several(members):
                return "(" + ", ".join(self._text(function, member) for member in members) + ",)"
            case Operation(operator, left, right):
                first, second = self._operand(function, left), self._operand(function, right)
                if self.spelling.turned and operator in _TURNED and isinstance(right, Const):
                    return f"{second} {_TURNED[operator]} {first}"
                return f"{first} {operator} {second}"
        raise AssertionError(expression)

    def _operand(self, function: _Function, expression: Expression) -> str:
        text = self._text(function, expression)
        return f"({text})" if isinstance(expression, Operation | Not) else text

    # --- calls ----------------------------------------------------------------------------------------------------

    def _inputs(self, function: _Function, *bodies: Body) -> list[str]:
        looked = {name for body in bodies for name in used(body)}
        return sorted(looked & function.known)

    def _result(self, function: _Function, holders: dict[str, str], to: tuple[str, ...], inputs: list[str]) -> str:
        inner = replace(function, holders={k: v for k, v in holders.items() if k not in inputs}, nested={})
        return ", ".join(self._use(inner, local) for local in to)

    def _call(self, function: _Function, call: Call) -> None:
        inputs = self._inputs(function, call.body)
        arguments = [self._use(function, name) for name in inputs]
        channel = self._channel(call, inputs)
        given = "" if call.returns else self._result(function, function.holders, call.to, inputs)
        listed = ", ".join(arguments)
        receiver = function.receiver
        match channel:
            case "callback" | "default" | "lambda":
                self._nested_function(function, call, inputs, given, channel)
                return
            case "generator":
                self._method(call.name, inputs, call.body, function.holders, last=f"yield {given or None}")
                self._assign_all(function, call.to, f"{receiver}.{call.name}({listed})", boxed=True)
                return
            case "error":
                self._method(call.name, inputs, call.body, function.holders, last=f"raise Answer({given})")
                function.add("try:")
                function.add(f"    {receiver}.{call.name}({listed})")
                function.add("except Answer as answer:")
                function.depth += 1
                single = "answer.args[0]" if len(call.to) == 1 else "answer.args"
                self._assign_all(function, call.to, single)
                function.depth -= 1
                return
        last = f"return {given}" if given else ""
        if channel == "function":
            self._method(call.name, inputs, call.body, function.holders, last=last, outside=True)
            text = f"{call.name}({', '.join([receiver, *arguments])})"
        elif channel == "property":
            self._method(call.name, inputs, call.body, function.holders, last=last, decorator="property")
            text = f"{receiver}.{call.name}"
        elif channel == "setter":
            self._method(f"_set_{call.name}", inputs, call.body, function.holders)
            self.methods.append(f"    {call.name} = property(fset=_set_{call.name})\n")
            self._statement_text(function, f"{receiver}.{call.name} = ", listed)
            return
        else:
            self._method(call.name, inputs, call.body, function.holders, last=last)
            text = f"{receiver}.{call.name}({listed})"
            if channel == "partial":
                text = f"functools.partial({', '.join([f'{receiver}.{call.name}', *arguments])})()"
            elif channel == "library":
                self._assign_all(function, call.to, f"map({receiver}.{call.name}, ({listed},))", boxed=True)
                return
        self._assign_all(function, call.to, text)

    def _channel(self, call: Call, inputs: list[str]) -> str:
        """The call's channel, or a plain method where that does not fit."""
        single_read = len(call.body) == 1 and isinstance(call.body[0], Access) and len(call.to) == 1 and not inputs
        fits = {
            "property": not inputs and bool(call.to),
            "setter": len(inputs) == 1 and not call.to,
            "generator": not call.returns,
            "error": not call.returns and bool(call.to),
            "library": len(inputs) == 1 and len(call.to) <= 1,
            "lambda": single_read,
        }
        return call.channel if fits.get(call.channel, True) else "method"

    def _nested_function(self, function: _Function, call: Call, inputs: list[str], given: str, channel: str) -> None:
        if channel == "lambda":
            (access,) = call.body
            assert isinstance(access, Access)
            self._assign_all(function, call.to, f"run(lambda: {self._access_text(function, access)})")
            return
        changed = assigned(call.body)
        passed = inputs if channel == "default" else [name for name in inputs if name in changed]
        defaults = ", ".join(f"{self._name(name)}={self._use(function, name)}" for name in passed)
        function.add(f"def {call.name}({defaults}):")
        function.depth += 1
        holders = {k: v for k, v in function.holders.items() if k not in passed}
        inner = replace(function, holders=holders, known=set(function.known), nested={})
        before = len(function.lines)
        self._body(inner, call.body)
        if given:
            inner.add(f"return {self._result(function, function.holders, call.to, passed)}")
        if len(function.lines) == before:
            inner.add("pass")
        function.depth -= 1
        text = f"{call.name}()" if channel == "default" else f"run({call.name})"
        self._assign_all(function, call.to, text)

    def _around(self, function: _Function, around: Around) -> None:
        inputs = self._inputs(function, around.before, around.after)
        given = self._result(function, function.holders, around.to, inputs)
        decorator = "contextmanager" if around.channel == "manager" else ""
        arguments = ", ".join(self._use(function, name) for name in inputs)
        self._method(
            around.name,
            inputs,
            around.before,
            function.holders,
            last=f"yield {given}" if given else "yield",
            decorator=decorator,
            after=around.after,
        )
        plain = ", ".join(self._name(local) for local in around.to)
        target = f"({plain})" if len(around.to) > 1 else plain
        call = f"{function.receiver}.{around.name}({arguments})"
        if around.channel == "manager":
            function.add(f"with {call} as {target}:" if target else f"with {call}:")
        else:
            function.add(f"for {target or '_'} in {call}:")
        function.depth += 1
        for local in around.to:
            function.known.add(local)
            if local in function.holders:
                self._assign(function, local, self._name(local))
        function.depth -= 1
        self._block(function, around.body)
