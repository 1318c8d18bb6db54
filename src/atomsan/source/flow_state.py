"""State of the walk over one function that makes its flow summary: variables, conditions, loops, statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from atomsan.source.boxes import Boxes, made_parts
from atomsan.source.flow_facts import Resolve, resolved
from atomsan.source.flow_graph import NOTHING, FlowGraph, Values
from atomsan.source.scopes import CLASS, COMPREHENSION, FUNCTION, OWN, Scope, Scopes, mangled

# Functions that tell the time.
CLOCKS = frozenset(
    {
        *("time.time", "time.monotonic", "time.perf_counter"),
        *("time.time_ns", "time.monotonic_ns", "time.perf_counter_ns"),
        *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.date.today"),
    }
)

Place = ast.expr | ast.stmt
Variables = dict[str, Values]


class _Binding(NamedTuple):
    """The expression that a local variable is bound to."""

    value: ast.expr
    values: Values | None
    """What the variable is then. None: it is never bound to anything else."""
    made_of: tuple[tuple[str, Values | None], ...]
    """The variables in the expression, and what they are then."""


class ModuleFlows:
    """What the summaries of a module share."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.nodes: dict[ast.AST, int] = {}
        """By syntax node: its node in the summary of its function."""
        self.taps: dict[ast.AST, int] = {}
        self.subjects: dict[ast.AST, int] = {}
        """The same for what is done with its value: iterated, unpacked, tested, entered, given to a function."""
        self.waiting: list[ast.AST] = []
        """Functions, classes and lambdas whose summaries are still to be made."""
        self.classes = {
            node.name: node
            for node, scope in scopes.of.items()
            if isinstance(node, ast.ClassDef) and scope.parent is scopes.module and scopes.module.bound[node.name] == 1
        }
        """The classes of the module, by name."""
        self.properties = {name for node in scopes.of if isinstance(node, ast.ClassDef) for name in _properties(node)}
        """The names of attributes that have setters."""
        self._inside: dict[Scope, list[Scope]] = {}
        for scope in scopes.of.values():
            if scope.parent is not None:
                self._inside.setdefault(scope.parent, []).append(scope)

    def captured(self, inner: Scope, of: Scope) -> set[str]:
        """The variables of one scope that another inside it uses."""
        names = {name for name in inner.uses | inner.nonlocals if inner.owner(name) is of}
        return names.union(*(self.captured(scope, of) for scope in self._inside.get(inner, ())))

    def rebound(self, inner: Scope, of: Scope) -> set[str]:
        """Those that it binds."""
        names = {name for name in inner.nonlocals if inner.owner(name) is of}
        return names.union(*(self.rebound(scope, of) for scope in self._inside.get(inner, ())))


def _properties(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            yield from (target.id for target in part.targets if isinstance(target, ast.Name))
        elif isinstance(part, ast.FunctionDef) and part.decorator_list:
            yield part.name


class Loop:
    """A loop that is being walked."""

    def __init__(self, heads: dict[str, int], since: int) -> None:
        self.since = since
        """How many variables were bound before it."""
        self.heads = heads
        """By variable that the loop changes: the join at its head."""
        self.left: list[Variables] = []
        """The variables at each `break`."""
        self.again: list[tuple[Variables, tuple[int, ...]]] = []
        """Those at each `continue`, and the conditions around it."""
        self.exits: list[tuple[int, ...]] = []
        """The conditions around each of them."""


class FlowState:
    def __init__(self, module: ModuleFlows, scope: Scope) -> None:
        self.module = module
        self.scopes = module.scopes
        self.graph = FlowGraph()
        self.scope = scope
        """The function, or a comprehension or trivial lambda in it."""
        self._own = {scope}
        self.variables: Variables = {}
        self.bound: list[str] = []
        """The variables that were bound so far, in order, so that branches need not compare all of them."""
        self.alive = True
        """Whether the statement in work can be reached."""
        self.control: tuple[int, ...] = ()
        """The conditions that decide whether it is."""
        self.exits: list[tuple[int, ...]] = []
        """The conditions around each `return` and `raise`."""
        self.loops: tuple[int, ...] = ()
        self.open_loops: list[Loop] = []
        self.arms: tuple[tuple[int, int], ...] = ()
        self.statement = -1
        self.is_later = False
        """Whether it is the code of a trivial lambda or a generator expression, which runs when it is called for."""
        self.trying: list[dict[str, set[int]]] = []
        """For each `try` around: what its variables were bound to in its body."""
        self.made: set[str] = set()
        """Variables that hold objects made here."""
        self._content: set[int] = set()
        """Nodes and joins of values that come out of calls, parameters or containers made here: what is in them was
        made by what made them. An object that was only read from a location is a receiver."""
        self._bindings: dict[str, _Binding] = {}
        """Variables, by the expression that they were bound to last."""
        self._order: dict[str, str] = {}
        """Variables, by names that no renaming changes."""
        self._cells: dict[str, int] = {}
        """By captured variable: the join of all that it is ever bound to."""
        self._changed: dict[str, int] = {}
        """By variable that a function inside binds: the join of the calls that may do it."""
        self._free: dict[str, int] = {}
        self.boxes = Boxes((), bool, lambda node: None)
        self.caught: set[str] = set()
        """Variables that hold exceptions which were caught here, and nothing else."""
        self.functions: dict[str, set[str]] = {}
        """By name of a function inside: the variables that it binds."""

    # Nodes

    def node(self, kind: str, at: ast.AST | None, **facts: Any) -> int:
        content = {"k": kind, "s": self.statement, "l": self.loops, "arms": self.arms, **facts}
        if self.is_later:
            content["later"] = True
        number = self.graph.add(content, self.loops)
        self.graph.flow(self.control, number, "c")
        if at is not None:
            self.module.nodes[at] = number
        if kind == "call" or kind == "yield" or "op" in facts:
            self._content.add(number)
        return number

    def receive(self, values: Values, number: int) -> None:
        """A node uses something that is in these values."""
        inside = values & self._content
        self.graph.flow(values - inside, number, "r")
        self.graph.flow(inside, number)
        if inside:
            self._content.add(number)

    def access(self, kind: str, at: Place, **facts: Any) -> int:
        """A node that can run code, at its own place."""
        number = self.node(kind, at, **facts)
        self.graph.call_at(number, at)
        return number

    def join(self, values: Values, control: Iterable[int] = (), *, is_content: bool = False) -> Values:
        return frozenset((self._join(values, control, is_content=is_content),))

    def _join(self, values: Values, control: Iterable[int] = (), *, is_content: bool = False) -> int:
        number = self.graph.join(values, control, self.loops)
        if is_content or not self._content.isdisjoint(values):
            self._content.add(number)
        return number

    # Names

    def canonical(self, node: ast.AST) -> str | None:
        return self.scopes.canonical(self.scope, node)

    def _owner(self, name: str) -> Scope:
        return self.scope.owner(name)

    def _is_own(self, owner: Scope) -> bool:
        return owner in self._own or owner.kind == COMPREHENSION

    def is_probed(self, name: str) -> bool:
        """Whether loads and stores of a name, as it is at run time, are recorded."""
        owner = self._owner(name)
        if owner.parent is None:
            return name in self.scopes.shared
        return name in owner.changing and self.scope.kind != CLASS and not self.scope.function().shows_locals

    def mangled(self, name: str) -> str:
        return mangled(name, self.scope.class_name)

    def values_of(self, name: str) -> Values:
        """What a variable is made of."""
        owner = self._owner(name)
        values = self.variables.get(name, NOTHING)
        if owner.kind == FUNCTION and not self._is_own(owner):
            values |= {self._free_variable(name)}
        if name in self._changed:
            values |= {self._changed[name]}
        return values

    def load(self, node: ast.Name) -> Values:
        name = self.mangled(node.id)
        values = self.values_of(name)
        if self.is_probed(name):
            number = self.access("read", node)
            # a global is read as an attribute is: what the function wrote there before may not be there any more
            owner = self._owner(name)
            if owner.parent is not None or self.scope is owner:
                self.graph.flow(values, number)
            return frozenset((number,))
        return values

    def _free_variable(self, name: str) -> int:
        """A variable of a function around this one comes in as a parameter does."""
        if name not in self._free:
            facts = {"k": "param", "s": -1, "l": (), "arms": (), "name": name}
            self._free[name] = self.graph.add(facts, ())
            self._content.add(self._free[name])
        return self._free[name]

    def store(self, at: ast.AST, name: str, values: Values, **facts: Any) -> None:
        """A name is bound."""
        name = self.mangled(name)
        if self.is_probed(name):
            number = self.node("write", at, **facts)
            self.graph.flow(values, number)
            values = frozenset((number,))
        self.define(name, values)

    def define(self, name: str, values: Values) -> None:
        self.variables[name] = values
        self.bound.append(name)
        self._order.setdefault(name, f"${len(self._order)}")
        for bound in self.trying:
            bound.setdefault(name, set()).update(values)
        if name in self._own_scope().captured:
            self.graph.flow(values, self.cell(name))

    def add_to(self, name: str, values: Iterable[int]) -> None:
        """Something becomes part of the object that a variable holds."""
        self._content.update(values)
        self.define(name, self.variables.get(name, NOTHING) | frozenset(values))

    def _own_scope(self) -> Scope:
        return self.scope.function()

    def cell(self, name: str) -> int:
        if name not in self._cells:
            self._cells[name] = self.graph.join(self.variables.get(name, NOTHING), (), ())
        return self._cells[name]

    def closure(self, inner: Scope) -> Values:
        """What a function that is defined here is made of: the variables it captures."""
        own = self._own_scope()
        if own.kind != FUNCTION:
            return NOTHING
        cells = [self.cell(name) for name in sorted(self.module.captured(inner, own))]
        self._content.update(cells)
        return frozenset(cells)

    def changed_by(self, call: int, names: Iterable[str]) -> None:
        """A call may bind these variables, through a function that was defined here."""
        for name in names:
            if name not in self._changed:
                self._changed[name] = self.graph.join(NOTHING, (), ())
            self.graph.flow((call,), self._changed[name])

    def spelled_out(self, value: ast.expr) -> ast.expr:
        """An expression with the variables in it replaced by the expressions that they are bound to now."""
        if isinstance(value, ast.BinOp):
            left, right = (self._resolve(side) for side in (value.left, value.right))
            if isinstance(left, ast.expr) or isinstance(right, ast.expr):
                sides = [
                    found if isinstance(found, ast.expr) else side
                    for found, side in ((left, value.left), (right, value.right))
                ]
                return ast.copy_location(ast.BinOp(sides[0], value.op, sides[1]), value)
        return value

    def remember(self, target: ast.expr, value: ast.expr) -> None:
        """Remembers the expression that a local variable was just bound to, as long as it is known to be that."""
        if isinstance(target, ast.Name):
            name = self.mangled(target.id)
            owner = self._owner(name)
            if owner is not self.scope or owner.kind != FUNCTION:
                return
            # several bindings are told apart by their values: where several ways meet, these are others
            values = None if owner.bound.get(name) == 1 else self.variables.get(name, NOTHING)
            inside = {self.mangled(one.id) for one in ast.walk(value) if isinstance(one, ast.Name)}
            if values != NOTHING and name not in inside:
                made_of = tuple((one, self.variables.get(one)) for one in sorted(inside))
                self._bindings[name] = _Binding(value, values, made_of)

    def find_boxes(self, node: ast.AST) -> None:
        """Finds the boxes of the function, class or module that is to be walked."""
        own = self._own_scope()
        if own.kind == FUNCTION:
            self.boxes = Boxes(
                ast.iter_child_nodes(node),
                lambda name: own.bound.get(name) == 1 and name not in own.captured and not self.is_probed(name),
                lambda value: made_parts(value, self.canonical, self.module.classes),
            )

    def wrapping(self, is_wrapping: bool) -> dict[str, Any]:
        """The fact that a node only puts values into a box, or takes them out."""
        return {"wraps": True} if is_wrapping else {}

    def resolve_parts(self, node: ast.expr) -> ast.expr | str | None:
        """Resolves parts of boxes too."""
        return self.boxes.part(node) or self._resolve(node)

    def fixed(self, node: ast.AST) -> str | None:
        """A name for a parameter that is never bound to anything else, or for the time."""
        if isinstance(node, ast.Call) and not node.args and self.canonical(node.func) in CLOCKS:
            return "now"  # another time is as good: no order of threads decides how late it is
        if isinstance(node, ast.Name):
            node = resolved(node, self._resolve)  # a second name of a parameter is as good
        if not isinstance(node, ast.Name) or self._owner(self.mangled(node.id)) is not self.scope:
            return None
        name = self.mangled(node.id)
        found = self._order.get(name, "")
        is_changed = self.scope.bound.get(name) != 1 or name in self.scope.rebound
        return None if is_changed or not found.startswith("#") else found

    def term(self, node: ast.AST) -> str | None:
        """A name for such a parameter, or for an attribute of it, which is a location of its own."""
        if isinstance(node, ast.Attribute):
            fixed = self.fixed(node.value)
            return fixed and f"{fixed}.{node.attr}"
        return self.fixed(node)

    @property
    def resolve(self) -> Resolve:
        return self._resolve

    def _resolve(self, node: ast.expr) -> ast.expr | str | None:
        if not isinstance(node, ast.Name):
            return None
        name = self.mangled(node.id)
        found = self._bindings.get(name)
        is_known = found is not None and found.values in (None, self.variables.get(name))
        # what it was made of may have changed since
        if found is None or not is_known or any(self.variables.get(one) != value for one, value in found.made_of):
            return self._order.get(name)
        return found.value

    def parameters(self, arguments: ast.arguments, *, is_static: bool) -> None:
        everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for index, argument in enumerate([*everything, arguments.vararg, arguments.kwarg]):
            if argument is not None:
                facts = {"k": "param", "s": -1, "l": (), "arms": (), "name": argument.arg, "index": index}
                if argument in (arguments.vararg, arguments.kwarg):
                    facts["many"] = True
                if is_static:
                    facts["static"] = True
                name = self.mangled(argument.arg)
                number = self.graph.add(facts, ())
                if index or argument.arg not in OWN:
                    self._content.add(number)
                self.define(name, frozenset((number,)))
                self._order[name] = f"#{index}"

    # Branches

    def copied(self) -> Variables:
        return dict(self.variables)

    def merge(self, ways: Sequence[Variables], control: tuple[int, ...], since: int) -> None:
        """The variables after several ways here: those that differ depend on the conditions too.

        `since` is how many variables were bound before the ways parted.
        """
        merged = dict(ways[0])
        for name in sorted({*self.bound[since:]}):
            found = [way.get(name, NOTHING) for way in ways]
            values = NOTHING.union(*found)
            if any(one != values for one in found):
                merged[name] = self.join(values, control) if control else values
        self.variables = merged

    @contextmanager
    def under(self, control: tuple[int, ...], arm: tuple[int, int]) -> Iterator[None]:
        """What is walked here runs only if the conditions say so."""
        before = self.control, self.arms
        self.control, self.arms = control, (*self.arms, arm)
        yield
        self.control, self.arms = before

    def branch(self, at: ast.AST, kind: str) -> int:
        """A number, in the list of statements, for a branch inside an expression."""
        lines = getattr(at, "lineno", 0), getattr(at, "end_lineno", 0)
        self.graph.statements.append((*lines, self.statement, kind))
        return len(self.graph.statements) - 1

    # Loops

    @contextmanager
    def loop(self, changed: Iterable[str]) -> Iterator[Loop]:
        """Walks one iteration. Variables that it changes have a join at its head."""
        number = len(self.graph.loops)
        self.graph.loops.append((self.loops[-1] if self.loops else -1, self.statement))
        before = self.loops
        self.loops = (*before, number)
        heads, since = {}, len(self.bound)
        for name in changed:
            head = self._join(self.variables.get(name, NOTHING))
            heads[name] = head
            self.variables[name] = frozenset((head,))
            self.bound.append(name)
        entered = Loop(heads, since)
        self.open_loops.append(entered)
        yield entered
        for variables, control in (*entered.again, *([(self.variables, ())] if self.alive else [])):
            for name, head in heads.items():
                values = variables.get(name, NOTHING) - {head}
                self.graph.flow(values, head, loop=number)
                if values:
                    self.graph.flow(control, head, "c", number)
        self.open_loops.pop()
        self.loops = before
