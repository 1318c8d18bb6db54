"""Dataflow between method calls on one receiver: the call-flow rule for units of work (`docs/atomic-sets.md`).

A function that only calls methods of an object is a unit of work on it when the result of one call flows, within the
function, into a later call on the same receiver: into its arguments, or into a condition that it stands under.

    acc.set(acc.get() + 1)
    if not pool.empty(): pool.take()

An attribute may be a property, which is a call that does not look like one. Flow from and to attributes is kept apart
from that of calls, because most attributes are none: it counts only if the class has methods of these names.

    acc.balance += 1
    if acc.balance > 100: acc.withdraw(100)

Receivers are told apart by their text. Results are followed through local variables and attributes of them, in the
order of the source; branches are joined, and the bodies of loops are followed twice, which is once around.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from atomsan.source.scopes import OWN, dotted
from atomsan.source.traversal import children, walk

_Receivers = frozenset[str]
_NONE: _Receivers = frozenset()
# In front of an attribute that was read: among the receivers, it stands for what may be a property.
_READ = "@"
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def call_flow(body: Iterable[ast.stmt] | ast.expr, excluded: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The receivers that the rule holds for, each with the methods that are called on it: `acc get set`.

    Those that it holds for if attributes are properties have a dot in front, and the two that the result flows between:
    `.acc balance withdraw`. `excluded` are names that are modules and the like.
    """
    results = _ResultFlow(excluded)
    if isinstance(body, ast.expr):
        results.expression(body)
    else:
        results.block(list(body), _NONE)
    lines = [" ".join([receiver, *sorted(results.called[receiver])]) for receiver in sorted(results.found)]
    return (*lines, *sorted(results.between))


def calls_on(body: Iterable[ast.stmt], receivers: Sequence[str]) -> list[str]:
    """The methods that a function calls on each of these receivers: `shop price take`."""
    called: dict[str, set[str]] = {receiver: set() for receiver in receivers}
    for node in (node for statement in body for node in walk(statement)) if receivers else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = dotted(node.func.value)
            if receiver in called:
                called[receiver].add(node.func.attr)
    return [" ".join([receiver, *sorted(methods)]) for receiver, methods in called.items()]


class _ResultFlow:
    """Follows the results of calls through one function."""

    def __init__(self, excluded: frozenset[str]) -> None:
        self.found: set[str] = set()
        self.called: dict[str, set[str]] = {}
        """The methods that are called on each receiver."""
        self.between: set[str] = set()
        """`.acc balance withdraw`: what is read at an attribute, or goes into one, and is so if that is a property."""
        self._excluded = excluded
        self._holds: dict[str, _Receivers] = {}
        """The receivers of whose calls a variable holds a result."""
        self._under: _Receivers = _NONE
        """The receivers of whose calls a result decides whether we are here."""

    # Statements

    def block(self, statements: Sequence[ast.stmt], under: _Receivers) -> None:
        before = self._under
        self._under |= under
        for statement in statements:
            self._statement(statement)
        self._under = before

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            flows = self.expression(node.value)
            for target in node.targets:
                self._store(target, flows)
        elif isinstance(node, ast.AugAssign):
            self._store(node.target, self.expression(node.target) | self.expression(node.value))
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._store(node.target, self.expression(node.value))
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.While):
            for _ in range(2):
                self._optional_block(node.body, self.expression(node.test))
            self.block(node.orelse, _NONE)
        elif isinstance(node, ast.For | ast.AsyncFor):
            for _ in range(2):
                self._store(node.target, self.expression(node.iter), keep=True)
                self._optional_block(node.body, _NONE)
            self.block(node.orelse, _NONE)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                flows = self.expression(item.context_expr)
                if item.optional_vars is not None:
                    self._store(item.optional_vars, flows)
            for statement in node.body:
                self._statement(statement)
        elif isinstance(node, ast.Try | ast.TryStar):
            self._optional_block(node.body, _NONE)
            for handler in node.handlers:
                self._optional_block(handler.body, _NONE)
            self._optional_block(node.orelse, _NONE)
            self.block(node.finalbody, _NONE)
        elif isinstance(node, ast.Match):
            self._match(node)
        elif isinstance(node, ast.Assert):
            self._under |= self.expression(node.test)
        elif not isinstance(node, _NESTED):
            for child in children(node):
                if isinstance(child, ast.expr):
                    self.expression(child)

    def _optional_block(self, statements: Sequence[ast.stmt], under: _Receivers) -> None:
        """A block that may be skipped or left early."""
        before = dict(self._holds)
        self.block(statements, under)
        self._join(before)

    def _if(self, node: ast.If) -> None:
        under = self.expression(node.test)
        before = dict(self._holds)
        self.block(node.body, under)
        then, self._holds = self._holds, before
        self.block(node.orelse, under)
        self._join(then)
        # Statements after an early exit stand under its condition.
        if isinstance(node.body[-1], _ENDS) or (node.orelse and isinstance(node.orelse[-1], _ENDS)):
            self._under |= under

    def _match(self, node: ast.Match) -> None:
        under = self.expression(node.subject)
        before = dict(self._holds)
        for case in node.cases:
            after, self._holds = self._holds, dict(before)
            for child in walk(case.pattern):
                name = getattr(child, "name", None) or getattr(child, "rest", None)
                if name is not None:
                    self._holds[name] = under
            guard = _NONE if case.guard is None else self.expression(case.guard)
            self.block(case.body, under | guard)
            self._join(after)

    def _join(self, other: dict[str, _Receivers]) -> None:
        for name, flows in other.items():
            self._holds[name] = self._holds.get(name, _NONE) | flows

    def _store(self, target: ast.expr, flows: _Receivers, keep: bool = False) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._store(element, flows, keep)
        elif isinstance(target, ast.Starred):
            self._store(target.value, flows, keep)
        elif isinstance(target, ast.Subscript):
            # an element: the others stay
            self.expression(target.slice)
            self._store(target.value, flows, keep=True)
        else:
            name = dotted(target)
            if name is not None and isinstance(target, ast.Attribute):
                self._use(target, flows, self.called.get(name.rpartition(".")[0], ()))
            if name is not None:
                self._holds[name] = self._holds.get(name, _NONE) | flows if keep else flows

    # Expressions: the receivers of whose calls a result flows into the value

    def expression(self, node: ast.expr) -> _Receivers:
        if isinstance(node, ast.Constant):
            return _NONE
        if isinstance(node, ast.Name):
            return self._holds.get(node.id, _NONE)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            flows = self.expression(node.value)
            name = dotted(node)
            if name is None:
                return flows
            return flows | self._holds.get(name, _NONE) | (_NONE if self._is_own(name) else {_READ + name})
        if isinstance(node, ast.IfExp):
            test = self.expression(node.test)
            return test | self._under_condition([node.body, node.orelse], test)
        if isinstance(node, ast.BoolOp):
            flows = _NONE
            for value in node.values:
                flows |= self._under_condition([value], flows)
            return flows
        if isinstance(node, ast.NamedExpr):
            flows = self.expression(node.value)
            self._store(node.target, flows)
            return flows
        if isinstance(node, _COMPREHENSIONS):
            return self._comprehension(node)
        if isinstance(node, ast.Lambda):
            return _NONE
        flows = _NONE
        for child in children(node):
            if isinstance(child, ast.expr):
                flows |= self.expression(child)
        return flows

    def _under_condition(self, nodes: list[ast.expr], under: _Receivers) -> _Receivers:
        before = self._under
        self._under |= under
        flows = _NONE.union(*[self.expression(node) for node in nodes])
        self._under = before
        return flows

    def _call(self, node: ast.Call) -> _Receivers:
        on = self.expression(node.func) - {f"{_READ}{dotted(node.func)}"}
        flows = _NONE.union(*[self.expression(argument) for argument in node.args])
        for keyword in node.keywords:
            flows |= self.expression(keyword.value)
        if not isinstance(node.func, ast.Attribute):
            return on | flows
        receiver = dotted(node.func.value)
        if receiver is None or receiver.partition(".")[0] in self._excluded:
            return on | flows
        self._use(node.func, flows)
        self.called.setdefault(receiver, set()).add(node.func.attr)
        if receiver in flows or receiver in self._under:
            self.found.add(receiver)
        return on | flows | {receiver}

    def _is_own(self, name: str) -> bool:
        """Whether an attribute is of the method's own object, which it is a unit on anyway, or of a module."""
        return name.partition(".")[0] in self._excluded or name.rpartition(".")[0] in OWN

    def _use(self, node: ast.Attribute, flows: _Receivers, called: Iterable[str] = ()) -> None:
        """A call, or an attribute that is assigned to: what was read at attributes of the same receiver goes there."""
        receiver = dotted(node.value) or ""
        if self._is_own(f"{receiver}.{node.attr}"):
            return
        come = flows | self._under
        names = {read.rpartition(".")[2] for read in come if read.rpartition(".")[0] == _READ + receiver}
        if receiver in come:
            names.update(called)
        self.between |= {" ".join([f".{receiver}", *sorted({name, node.attr})]) for name in names}

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> _Receivers:
        before = self._under
        flows = _NONE
        for generator in node.generators:
            each = self.expression(generator.iter)
            flows |= each
            self._store(generator.target, each)
            for test in generator.ifs:
                self._under |= self.expression(test)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        flows = flows.union(*[self.expression(element) for element in elements])
        self._under = before
        return flows
