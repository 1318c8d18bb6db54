"""Flow summaries: for each function a small graph of how values and conditions flow through it.

    {"nodes": [...], "edges": [[from, to, how, carried]...], "calls": {"line:col:end_line:end_col": node},
     "statements": [[first line, last line, parent, kind]...], "loops": [[parent, statement]...],
     "async": true, "context": true, "ends": true}

A node is an access of a location (`read`, `write`, `update`), another expression that can run code (`call`), a
parameter (`param`), what leaves the function (`return`, `yield`, `raise`) or a condition (`cond`). It has its kind `k`,
statement `s`, loops `l` and the branches it stands in (`arms`), and facts (`flow_facts.py`): among them the condition
on one value that it is (`shape`), with the node that gives this value (`of`), or what it says of each of several values
(`views`); the nodes that give what it passes (`given`: by position or name); the node that reads what a write changes
by an operator (`read`); whether it only puts values into a box, or takes them out (`wraps`; `boxes.py`); and whether it
is in the code of a lambda or a generator expression, which runs when it is called for (`later`). The arms of a `try`
are its body (0), its handlers, its `else`, and `finally` (-1). All others in a
statement are in the order of evaluation, but for the read of an update, which comes before what is added. An edge says
how one flows into another: as a value (`v`), as a key (`k`), as the object that is used (`r`), or by deciding whether
it runs (`c`); `carried` are the loops whose back edges it passes. Local variables are resolved: they have no nodes.
`calls` has the positions of instructions that call code, as `co_positions` gives them. `ends`: the last statement is
not passed, so that the function returns nothing by itself.

A trivial lambda and a comprehension belong to the function around them. A function inside another is a value made of
the variables it captures; a call of it, or one that it is passed to, takes that value in.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from atomsan.source.boxes import raised_parts
from atomsan.source.flow_expressions import ExpressionFlow, changed_names
from atomsan.source.flow_facts import OPERATORS, condition_form, literal_text, operand_facts, pattern_form
from atomsan.source.flow_graph import NOTHING, Values
from atomsan.source.flow_state import Loop, ModuleFlows, Place, Variables
from atomsan.source.scopes import FunctionNode, Scopes
from atomsan.source.traversal import walk

# The arm of a `try` that every pass comes to.
FINALLY = -1

_CONTEXTS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})

# Patterns that run code of the object that they are matched with.
_MATCHING = (ast.MatchClass, ast.MatchValue, ast.MatchMapping, ast.MatchSequence)


class FlowSummaries(NamedTuple):
    """The summaries of a module."""

    of: dict[ast.AST, str]
    """By function, class or lambda (a trivial one has none); that of the module's body by the tree."""
    nodes: dict[ast.AST, int]
    """By syntax node: its node in the summary of its function."""
    taps: dict[ast.AST, int]
    """The same for what is done with its value: iterated, unpacked, tested, entered, given to a function."""


def flow_summaries(tree: ast.AST, scopes: Scopes) -> FlowSummaries:
    """The summaries of a module that was not rewritten yet."""
    module = ModuleFlows(scopes)
    result = FlowSummaries({}, {}, {})
    module.waiting.append(tree)
    while module.waiting:
        node = module.waiting.pop()
        flow = StatementFlow(module, scopes.of.get(node, scopes.module))
        try:
            flow.whole(node)
        except RecursionError:
            # too deep for us, and not for the compiler: better no flow than no probes
            flow = StatementFlow(module, scopes.module)
            module.nodes.clear()
            module.taps.clear()
        result.of[node], numbers = flow.graph.to_json()
        for found, known in ((module.nodes, result.nodes), (module.taps, result.taps)):
            known.update((at, numbers[number]) for at, number in found.items())
            found.clear()
    return result


class StatementFlow(ExpressionFlow):
    def whole(self, node: ast.AST) -> None:
        """Walks a function, class or module."""
        self.find_boxes(node)
        self.graph.is_async = isinstance(node, ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            decorators = {self.canonical(one) for one in getattr(node, "decorator_list", ())}
            self.graph.is_context = not decorators.isdisjoint(_CONTEXTS)
            self.parameters(node.args, is_static="staticmethod" in decorators)
        if isinstance(node, ast.Lambda | ast.Expression):
            self._leave("return", node.body, self.value(node.body))
        else:
            self.block(node.body)  # type: ignore[attr-defined]
            self.graph.falls_through = self.alive

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for node in statements:
            handler = _STATEMENTS.get(type(node))
            if handler is None:
                continue
            before = self.statement
            self.statement = self.branch(node, type(node).__name__)
            handler(self, node)
            self.statement = before

    def _leave(self, kind: str, at: Place | None, values: Values) -> None:
        value = at.value if isinstance(at, ast.Return | ast.Yield) else at
        test = value if kind != "raise" and isinstance(value, ast.expr) else None
        facts = self.shape_facts(test)
        if isinstance(value, ast.Constant) and value.value is not None:
            facts["literal"] = literal_text(value)
        elif kind == "return" and test is not None:
            facts["form"] = condition_form(test, self.resolve)
        number = self.node(kind, None if kind == "return" else at, **facts)
        self.graph.flow(values, number)

    def _expression(self, node: ast.Expr) -> None:
        self.value(node.value)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        first = node.targets[0]
        if len(node.targets) == 1 and isinstance(first, ast.Tuple | ast.List) and _matches(first, node.value):
            pairs = list(zip(first.elts, node.value.elts, strict=True))  # type: ignore[attr-defined]
            values = [self.value(value) for _, value in pairs]
            for (target, value), found in zip(pairs, values, strict=True):
                self.assign(target, found, value)
            return
        found = self.value(node.value)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            found = frozenset((self.tap(node.value, found),))
        for target in node.targets:
            self.assign(target, found, node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.value(node.value), node.value)
        elif not isinstance(node.target, ast.Name):
            self._load_of(node.target)

    def _load_of(self, target: ast.expr) -> None:
        """Evaluates what a target is made of."""
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.value(target.value)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        facts: dict[str, Any] = {"operator": OPERATORS[type(node.op)], **operand_facts(node.value)}
        if isinstance(target, ast.Name):
            self._augmented_name(node, target, facts)
            return
        received = self.value(target.value)
        keys = self.value(target.slice) if isinstance(target, ast.Subscript) else NOTHING
        given = self.value(node.value)
        number = self.access("update", target, **facts)
        self.graph.call_at(number, node)
        if isinstance(target, ast.Attribute):
            self.graph.call_at(number, target.value)
        self.graph.flow(received, number, "r")
        self.graph.flow(keys, number, "k")
        self.graph.flow(given, number)
        made = self.made_name(target)
        if made is not None:
            self.add_to(made, (number,))

    def _augmented_name(self, node: ast.AugAssign, target: ast.Name, facts: dict[str, Any]) -> None:
        name = self.mangled(target.id)
        given = self.value(node.value)
        known = self.variables.get(name, NOTHING)
        if self.is_probed(name):
            number = self.access("update", target, **facts)
            self.graph.call_at(number, node)
        else:
            known = self.load(target)
            number = self.access("call", node, name=OPERATORS[type(node.op)])
        self.graph.flow(known | given, number)
        self.define(name, frozenset((number,)))

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._delete_target(target)

    def _delete_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.store(target, target.id, NOTHING, op="del")
        elif isinstance(target, ast.Attribute | ast.Subscript):
            is_item = isinstance(target, ast.Subscript)
            received = self.value(target.value)
            keys = self.value(target.slice) if isinstance(target, ast.Subscript) else NOTHING
            number = self.access("write", target, op="__delitem__" if is_item else "del")
            self.graph.call_at(number, target.value)
            self.graph.flow(received, number, "r")
            self.graph.flow(keys, number, "k")
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._delete_target(part)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        values = frozenset((self.access("call", node, name="import"),))
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.store(node, name, values if self.is_probed(self.mangled(name)) else NOTHING)

    # Branches

    def _after(self, exits: int, loop_exits: int) -> None:
        """After a statement with early exits, their conditions decide whether what follows is executed."""
        new = self.exits[exits:]
        if self.open_loops:
            new = new + self.open_loops[-1].exits[loop_exits:]
        conditions = sorted({condition for around in new for condition in around})
        if conditions:
            self.control = tuple(conditions)

    def _marks(self) -> tuple[int, int]:
        return len(self.exits), len(self.open_loops[-1].exits) if self.open_loops else 0

    def _if(self, node: ast.If) -> None:
        marks = self._marks()
        control = self.condition(node.test, self.statement, node)
        self._arms(control, [node.body, node.orelse])
        self._after(*marks)

    def _arms(self, control: tuple[int, ...], blocks: Sequence[Sequence[ast.stmt]]) -> None:
        """Blocks of which one is executed."""
        before, since = self.copied(), len(self.bound)
        ends: list[Variables] = []
        for number, block in enumerate(blocks):
            self.variables, self.alive = dict(before), True
            with self.under(control, (self.statement, number)):
                self.block(block)
            if self.alive:
                ends.append(self.variables)
        self.alive = bool(ends)
        self.merge(ends or [self.variables], control, since)

    def _assert(self, node: ast.Assert) -> None:
        """What is claimed decides on nothing behind it: it holds in a program that is right."""
        control = self.condition(node.test, self.statement, node)
        if node.msg is not None:
            with self.under(control, (self.statement, 1)):
                self.value(node.msg)

    def _match(self, node: ast.Match) -> None:
        marks = self._marks()
        subject = self.value(node.subject)
        before, since, control = self.copied(), len(self.bound), self.control
        ends: list[Variables] = []
        conditions: list[int] = []
        for number, case in enumerate(node.cases):
            self.variables, self.alive = dict(before), True
            with self.under(control, (self.statement, number)):
                control = self._case(case, subject)
                conditions += control
                self.control = control
                self.block(case.body)
            if self.alive:
                ends.append(self.variables)
        self.alive = True
        self.merge([before, *ends], tuple(conditions), since)
        self._after(*marks)

    def _case(self, case: ast.match_case, subject: Values) -> tuple[int, ...]:
        """The condition of a case; binds its names."""
        form = pattern_form(case.pattern, self.resolve)
        parts = [part for part in walk(case.pattern) if isinstance(part, ast.expr) and not isinstance(part, ast.Name)]
        values = subject.union(*[self.value(part) for part in parts if isinstance(part, ast.Attribute)])
        if any(isinstance(part, _MATCHING) for part in walk(case.pattern)):
            number = self.node("call", None, name="match")
            self.graph.flow(values, number)
            values = frozenset((number,))
            for part in walk(case.pattern):
                if isinstance(part, ast.pattern):
                    self.graph.call_at(number, part)
        for part in walk(case.pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str):
                self.store(part, name, values)
        control = self.decided(values, f"case {form}", self.statement)
        if case.guard is not None:
            self.control = control
            control = self.condition(case.guard, self.statement, case.guard)
        return control

    def _try(self, node: ast.Try) -> None:
        marks, before, since = self._marks(), self.copied(), len(self.bound)
        first = len(self.graph.nodes)
        bound: dict[str, set[int]] = {}
        self.trying.append(bound)
        self._arm(0, node.body)
        self.trying.pop()
        body_ends, body = self.alive, self.variables
        raising = [number for number in range(first, len(self.graph.nodes)) if self._can_raise(number)]
        anywhere = _with_all(before, bound)
        ends: list[Variables] = []
        fallen: tuple[int, ...] = ()
        if node.handlers:
            form = "except " + ", ".join("" if one.type is None else ast.unparse(one.type) for one in node.handlers)
            control = self.decided(NOTHING, form[:80], self.statement, caught=True)
            self.graph.flow(raising, control[0], "c")
            for number, handler in enumerate(node.handlers, 1):
                self.variables, self.alive = dict(anywhere), True
                with self.under(control, (self.statement, number)):
                    self._handler(handler, raising)
                if self.alive:
                    ends.append(self.variables)
                    fallen = control
        self.variables, self.alive = body, body_ends
        self._arm(len(node.handlers) + 1, node.orelse)
        fallen = () if self.alive else fallen
        if self.alive:
            ends.append(self.variables)
        self.alive = bool(ends)
        self.merge(ends or [self.variables], fallen, since)
        self._after(*marks)
        if fallen:
            self.control = fallen
        self._finally(node, bound)

    def _arm(self, number: int, block: Sequence[ast.stmt]) -> None:
        arms = self.arms
        self.arms = (*arms, (self.statement, number))
        self.block(block)
        self.arms = arms

    def _finally(self, node: ast.Try, bound: dict[str, set[int]]) -> None:
        if node.finalbody:
            is_alive = self.alive
            self.variables, self.alive = _with_all(self.variables, bound), True
            self._arm(FINALLY, node.finalbody)
            self.alive = is_alive and self.alive

    def _can_raise(self, number: int) -> bool:
        facts = self.graph.nodes[number]
        return facts is not None and facts["k"] in ("read", "write", "update", "call", "raise")

    def _handler(self, node: ast.ExceptHandler, raising: Sequence[int]) -> None:
        if node.type is not None:
            self.value(node.type)
        if node.name is not None:
            raised = frozenset(
                number for number in raising if (self.graph.nodes[number] or {})["k"] in ("call", "raise")
            )
            self.store(node, node.name, self.join(raised))
            if self.scope.bound.get(self.mangled(node.name)) == 2:  # it is bound, and unbound at the end
                self.caught.add(node.name)
        self.block(node.body)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            number = self.tap(item.context_expr, self.value(item.context_expr), "call", name="with")
            self.graph.call_at(number, node)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, frozenset((number,)), None)
        self.block(node.body)

    # Loops

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        marks, control = self._marks(), self.control
        iterated = self.value(node.iter)
        changed = {self.mangled(name) for name in changed_names([node.target, *node.body], self.made)}
        with self.loop(sorted(changed)) as loop:
            head = self.copied()
            values = self.iteration(node.iter, iterated, node)
            self.assign(node.target, values, None)
            self.block(node.body)
        self._after_loop(node, loop, head, control, marks)

    def _while(self, node: ast.While) -> None:
        marks, control = self._marks(), self.control
        changed = {self.mangled(name) for name in changed_names([node.test, *node.body], self.made)}
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        with self.loop(sorted(changed)) as loop:
            if is_endless:
                head = self.copied()
                self.block(node.body)
            else:
                test = self.condition(node.test, self.statement, node)
                head = self.copied()
                with self.under(test, (self.statement, 0)):
                    self.block(node.body)
        self._after_loop(node, loop, None if is_endless else head, control, marks)

    def _after_loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        loop: Loop,
        head: Variables | None,
        control: tuple[int, ...],
        marks: tuple[int, int],
    ) -> None:
        """The loop ends at its head (never there, if it is endless), or by a `break`."""
        self.control = control
        ends = list(loop.left)
        conditions = tuple(sorted({condition for around in loop.exits for condition in around}))
        if head is not None:
            self.variables, self.alive = head, True
            if node.orelse:
                with self.under(conditions or control, (self.statement, 1)):
                    self.block(node.orelse)
            if self.alive:
                ends.append(self.variables)
        self.alive = bool(ends)
        self.merge(ends or [self.variables], conditions, loop.since)
        self._after(*marks)

    # Exits

    def _return(self, node: ast.Return) -> None:
        self._leave("return", node, NOTHING if node.value is None else self.value(node.value))
        self._exit(self.exits)

    def _raise(self, node: ast.Raise) -> None:
        parts = raised_parts(node.exc, self.canonical, self.module.classes)
        if parts:
            self.boxes.makers.add(cast(ast.Call, node.exc))
        values = self.values([node.exc, node.cause])
        number = self.access("raise", node)
        self.graph.flow(values, number)
        if parts:
            facts = self.shape_facts(cast(ast.Call, node.exc).args[0])
            cast(dict[str, Any], self.graph.nodes[number]).update(facts, parts=parts)
        self._exit(self.exits)

    def _exit(self, exits: list[tuple[int, ...]]) -> None:
        exits.append(self.control)
        self.alive = False

    def _break(self, node: ast.Break) -> None:
        self._leave_loop(lambda loop: loop.left.append(self.copied()))

    def _continue(self, node: ast.Continue) -> None:
        self._leave_loop(lambda loop: loop.again.append((self.copied(), self.control)))

    def _leave_loop(self, leave: Callable[[Loop], None]) -> None:
        """In a tree that can be compiled there is a loop around."""
        if self.open_loops:
            loop = self.open_loops[-1]
            leave(loop)
            self._exit(loop.exits)

    # Definitions

    def _function(self, node: FunctionNode) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        values = self.defaults(node.args)
        inner = self.scopes.of[node]
        values |= self.closure(inner)
        name = self.mangled(node.name)
        rebound = self.module.rebound(inner, self._own_scope())
        if rebound:
            self.functions[name] = rebound
        self.store(node, node.name, self._decorated(node, values, decorators))
        self.module.waiting.append(node)

    def _decorated(self, node: FunctionNode | ast.ClassDef, values: Values, decorators: Sequence[Values]) -> Values:
        for decorator, given in reversed(list(zip(node.decorator_list, decorators, strict=True))):
            number = self.node("call", None, name="decorator")
            self.graph.call_at(number, decorator)
            self.graph.flow(values | given, number)
            values = frozenset((number,))
        return values

    def _class(self, node: ast.ClassDef) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        values = self.values([*node.bases, *(keyword.value for keyword in node.keywords)])
        if values or node.bases:
            number = self.access("call", node, name="class")
            self.graph.flow(values, number)
        self.store(node, node.name, self._decorated(node, self.closure(self.scopes.of[node]), decorators))
        self.module.waiting.append(node)


def _matches(target: ast.Tuple | ast.List, value: ast.expr) -> bool:
    """Whether each target has a value of its own: `a, b = b, a`."""
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(target.elts):
        return False
    return not any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts))


def _with_all(variables: Variables, bound: dict[str, set[int]]) -> Variables:
    """The variables anywhere in code that binds them so."""
    return variables | {name: variables.get(name, NOTHING) | values for name, values in bound.items()}


_STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], None]] = {
    ast.Expr: StatementFlow._expression,
    ast.Assign: StatementFlow._assign,
    ast.AnnAssign: StatementFlow._annotated,
    ast.AugAssign: StatementFlow._augmented,
    ast.Delete: StatementFlow._delete,
    ast.Import: StatementFlow._import,
    ast.ImportFrom: StatementFlow._import,
    ast.If: StatementFlow._if,
    ast.Assert: StatementFlow._assert,
    ast.Match: StatementFlow._match,
    ast.Try: StatementFlow._try,
    ast.TryStar: StatementFlow._try,
    ast.With: StatementFlow._with,
    ast.AsyncWith: StatementFlow._with,
    ast.For: StatementFlow._for,
    ast.AsyncFor: StatementFlow._for,
    ast.While: StatementFlow._while,
    ast.Return: StatementFlow._return,
    ast.Raise: StatementFlow._raise,
    ast.Break: StatementFlow._break,
    ast.Continue: StatementFlow._continue,
    ast.FunctionDef: StatementFlow._function,
    ast.AsyncFunctionDef: StatementFlow._function,
    ast.ClassDef: StatementFlow._class,
}
