"""Escape analysis: local containers that never leave their activation, so that their uses need no probes.

A local variable is *private* if everything it is ever bound to is a container that is made right there, and if nothing
is ever done with it but what cannot pass the container on: no alias, no argument of a call that might keep it, no
store, no closure. Then only this activation of the function knows the container, and one thread runs that. A `return`
passes it on when the activation is over: whoever gets it does so by what is logged after that. Only the container is
private: its elements may be known to everybody.

A generator can be run by one thread now and by another after its next `yield`. There, only a container that is made and
yielded within one run of it is private (`_batches`).

The rules list the uses that are allowed; any other use is an escape. Frames that are inspected from outside (debuggers,
`sys._getframe`) are not considered.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from atomsan.source.effects import BORROWED_ARGUMENTS, BORROWING_METHODS, MAKERS, VIEWS
from atomsan.source.scopes import FunctionNode, Scope, Scopes, mangled
from atomsan.source.traversal import children, walk

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def private_names(node: FunctionNode, scopes: Scopes) -> frozenset[str]:
    """The private variables of a function, by their names at run time."""
    scope = scopes.of[node]
    if scope.shows_locals:
        return frozenset()
    elsewhere = scope.captured | scope.globals | scope.nonlocals
    elsewhere |= {
        mangled(argument.arg, scope.class_name) for argument in walk(node.args) if isinstance(argument, ast.arg)
    }
    if scope.is_generator:
        batches = {name for block in _blocks(node) for name in _batches(block, node, scope, scopes)}
        return frozenset(batches - elsewhere)
    return frozenset(_made_privately(node.body, scope, scopes) - elsewhere)


def _made_privately(statements: Sequence[ast.stmt], scope: Scope, scopes: Scopes) -> set[str]:
    """The variables that hold new containers which these statements do not pass on."""
    found = _Candidates(scope, scopes)
    if found.made:
        for statement in statements:
            found.visit(statement, scope)
    return {name for name, count in found.made.items() if count} - found.escaped


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All lists of statements in a function, without those of functions and classes in it."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
            for statement in block:
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _blocks(statement)


def _batches(block: list[ast.stmt], node: FunctionNode, scope: Scope, scopes: Scopes) -> set[str]:
    """Variables of blocks of the form `a = []; ...; yield a`, if `a` occurs nowhere else.

    After the yield comes the end or the next `a = []`, so nothing is done to the container once it is known to others.
    """
    last = block[-1]
    if (
        not isinstance(last, ast.Expr)
        or not isinstance(last.value, ast.Yield)
        or not isinstance(last.value.value, ast.Name)
    ):
        return set()
    name = mangled(last.value.value.id, scope.class_name)
    start = next((i for i, statement in enumerate(block) if _assigns(statement, name, scope)), len(block))
    inside = block[start:-1]
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for statement in inside for part in walk(statement)):
        return set()
    if sum(_mentions(statement, name, scope) for statement in block[start:]) != _mentions(node, name, scope):
        return set()
    return _made_privately(inside, scope, scopes) & {name}


def _assigns(statement: ast.stmt, name: str, scope: Scope) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    target = targets[0] if len(targets) == 1 else None
    return isinstance(target, ast.Name) and mangled(target.id, scope.class_name) == name


def _mentions(node: ast.AST, name: str, scope: Scope) -> int:
    """How often a name occurs in a node."""
    names = (getattr(part, "id", None) or getattr(part, "name", None) for part in walk(node))
    return sum(isinstance(text, str) and mangled(text, scope.class_name) == name for text in names)


class _Candidates:
    """One pass over the body of a function, comprehensions included and functions in it not."""

    def __init__(self, scope: Scope, scopes: Scopes) -> None:
        self._owner = scope
        self._scopes = scopes
        self.made: dict[str, int] = dict.fromkeys(scope.bound, 0)
        """By local variable: whether it is ever bound to a new container."""
        self.escaped: set[str] = set()

    def _is_ours(self, node: ast.AST | None, scope: Scope) -> bool:
        return isinstance(node, ast.Name) and scope.owner(mangled(node.id, scope.class_name)) is self._owner

    def visit(self, node: ast.AST, scope: Scope) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
            return
        if isinstance(node, ast.Name):
            self._escape(node, scope)
            return
        self._inside(node, scope)

    def _inside(self, node: ast.AST, scope: Scope) -> None:
        for child in children(node):
            self.visit(child, scope)
        # bound by other things than names: imports, handlers, patterns
        for field in ("name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                self.escaped.add(mangled(name, scope.class_name))

    def _escape(self, node: ast.Name, scope: Scope) -> None:
        if self._is_ours(node, scope):
            self.escaped.add(mangled(node.id, scope.class_name))

    def _use(self, node: ast.AST, scope: Scope) -> None:
        """A use of a variable by which nothing escapes, or an expression that is visited."""
        if isinstance(node, ast.Name):
            return
        if isinstance(node, ast.Call) and self._is_view(node, scope):
            return
        self.visit(node, scope)

    def _is_view(self, node: ast.Call, scope: Scope) -> bool:
        function = node.func
        return (
            isinstance(function, ast.Attribute)
            and function.attr in VIEWS
            and not node.args
            and not node.keywords
            and self._is_ours(function.value, scope)
        )

    def _iterated(self, node: ast.AST, scope: Scope) -> None:
        function = self._scopes.canonical(scope, node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and BORROWED_ARGUMENTS.get(function or "") == "loop":
            for argument in node.args:
                self._use(argument, scope)
            for keyword in node.keywords:
                self.visit(keyword.value, scope)
        else:
            self._use(node, scope)

    def _test(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._test(value, scope)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._test(node.operand, scope)
        else:
            self._use(node, scope)

    # Bindings

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        for target in node.targets:
            self._bind(target, node.value if len(node.targets) == 1 else None, scope)
        if any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
            self._use(node.value, scope)
        else:
            self.visit(node.value, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self._bind(node.target, node.value, scope)
            self.visit(node.value, scope)
        elif not isinstance(node.target, ast.Name):
            self.visit(node.target, scope)

    def _bind(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            if value is not None and self._is_new(value, scope):
                self.made[mangled(target.id, scope.class_name)] = 1
            else:
                self._escape(target, scope)
        elif isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            known = len(parts) == len(target.elts) and not any(
                isinstance(part, ast.Starred) for part in [*parts, *target.elts]
            )
            for index, part in enumerate(target.elts):
                self._bind(part, parts[index] if known else None, scope)
        else:
            self.visit(target, scope)

    def _is_new(self, value: ast.expr, scope: Scope) -> bool:
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and isinstance(value.left, ast.List):
            return isinstance(value.right, ast.Constant) and type(value.right.value) is int
        if isinstance(value, ast.Call):
            return self._scopes.canonical(scope, value.func) in MAKERS
        return isinstance(value, _DISPLAYS)

    # Uses

    def _return(self, node: ast.Return, scope: Scope) -> None:
        if node.value is not None:
            self._returned(node.value, scope)

    def _returned(self, node: ast.AST, scope: Scope) -> None:
        """A returned value, or a part of it: the activation is over after that."""
        if isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp):
            for part in children(node):
                self._returned(part, scope)
        elif not isinstance(node, ast.Name):
            self.visit(node, scope)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        self._use(node.value, scope)
        self.visit(node.slice, scope)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        function = node.func
        canonical = self._scopes.canonical(scope, function)
        arguments: list[ast.expr] = list(node.args)
        if isinstance(function, ast.Attribute) and function.attr in BORROWING_METHODS and canonical is None:
            self._use(function.value, scope)
        elif not (
            isinstance(function, ast.Attribute) and function.attr == "join" and isinstance(function.value, ast.Constant)
        ):
            count = _borrowed(canonical, len(arguments))
            for argument in arguments[:count]:
                self._use(argument, scope)
            arguments = arguments[count:]
            self.visit(function, scope)
        else:
            for argument in arguments:
                self._use(argument, scope)
            arguments = []
        for argument in arguments:
            self.visit(argument, scope)
        for keyword in node.keywords:
            if keyword.arg is None:
                self._use(keyword.value, scope)
            else:
                self.visit(keyword.value, scope)

    def _compare(self, node: ast.Compare, scope: Scope) -> None:
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
            self._use(node.left, scope)
            self._use(node.comparators[0], scope)
        elif len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            self.visit(node.left, scope)
            self._use(node.comparators[0], scope)
        else:
            self._inside(node, scope)

    def _starred(self, node: ast.Starred, scope: Scope) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use(node.value, scope)
        else:
            self.visit(node.value, scope)

    def _dict(self, node: ast.Dict, scope: Scope) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self._use(value, scope)
            else:
                self.visit(key, scope)
                self.visit(value, scope)

    def _formatted(self, node: ast.FormattedValue, scope: Scope) -> None:
        self._use(node.value, scope)
        if node.format_spec is not None:
            self.visit(node.format_spec, scope)

    def _if(self, node: ast.If | ast.While | ast.IfExp | ast.Assert, scope: Scope) -> None:
        self._test(node.test, scope)
        for child in children(node):
            if child is not node.test:
                self.visit(child, scope)

    def _not(self, node: ast.UnaryOp, scope: Scope) -> None:
        if isinstance(node.op, ast.Not):
            self._test(node.operand, scope)
        else:
            self.visit(node.operand, scope)

    def _for(self, node: ast.For, scope: Scope) -> None:
        self._iterated(node.iter, scope)
        for child in children(node):
            if child is not node.iter:
                self.visit(child, scope)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp, scope: Scope) -> None:
        inner = self._scopes.of[node]
        for index, generator in enumerate(node.generators):
            self._iterated(generator.iter, inner if index else scope)
            self.visit(generator.target, inner)
            for test in generator.ifs:
                self._test(test, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.visit(part, inner)

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> None:
        self.escaped.add(mangled(node.target.id, scope.class_name))
        self.visit(node.value, scope)

    def _generator_expression(self, node: ast.GeneratorExp, scope: Scope) -> None:
        """It may run anywhere later: everything it uses escapes."""
        inner = self._scopes.of[node]
        for child in walk(node):
            if isinstance(child, ast.Name):
                self._escape(child, scope)
                self._escape(child, inner)

    def _function(self, node: ast.AST, scope: Scope) -> None:
        """Its body is captured or has its own names; defaults, decorators and annotations are evaluated here."""
        bound = getattr(node, "name", None)
        if isinstance(bound, str):
            self.escaped.add(mangled(bound, scope.class_name))
        body = getattr(node, "body", None)
        inside = set(map(id, body if isinstance(body, list) else [body]))
        for child in children(node):
            if id(child) not in inside:
                self.visit(child, scope)
        for part in (getattr(node, "args", None), getattr(node, "returns", None)):
            for name in walk(part) if part is not None else ():  # annotations
                if isinstance(name, ast.Name):
                    self._escape(name, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            self.escaped.add(mangled(alias.asname or alias.name.partition(".")[0], scope.class_name))


def _borrowed(function: str | None, given: int) -> int:
    """How many of the given arguments, from the first on, a function is done with when it returns."""
    how = BORROWED_ARGUMENTS.get(function or "")
    if how == "first":
        return 1
    return given if how == "all" or (how == "single" and given == 1) else 0


_HANDLERS: dict[type[ast.AST], Callable[[_Candidates, Any, Scope], None]] = {
    ast.Assign: _Candidates._assign,
    ast.AnnAssign: _Candidates._annotated,
    ast.Return: _Candidates._return,
    ast.Subscript: _Candidates._subscript,
    ast.Call: _Candidates._call,
    ast.Compare: _Candidates._compare,
    ast.Starred: _Candidates._starred,
    ast.Dict: _Candidates._dict,
    ast.FormattedValue: _Candidates._formatted,
    ast.If: _Candidates._if,
    ast.While: _Candidates._if,
    ast.IfExp: _Candidates._if,
    ast.Assert: _Candidates._if,
    ast.UnaryOp: _Candidates._not,
    ast.For: _Candidates._for,
    ast.ListComp: _Candidates._comprehension,
    ast.SetComp: _Candidates._comprehension,
    ast.DictComp: _Candidates._comprehension,
    ast.GeneratorExp: _Candidates._generator_expression,
    ast.NamedExpr: _Candidates._walrus,
    ast.FunctionDef: _Candidates._function,
    ast.AsyncFunctionDef: _Candidates._function,
    ast.ClassDef: _Candidates._function,
    ast.Lambda: _Candidates._function,
    ast.Import: _Candidates._import,
    ast.ImportFrom: _Candidates._import,
}
