"""Rewrites expressions: each method takes a node and returns its replacement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from atomsan.source import positions, probe_nodes
from atomsan.source.effects import FUNCTIONS, METHODS, PRIMITIVE_METHODS, READS_ARGUMENT
from atomsan.source.function_kinds import is_trivial_lambda, passed_on
from atomsan.source.plan import placeholder
from atomsan.source.rewriting import Rewriter
from atomsan.source.scopes import FUNCTION, ComprehensionNode
from atomsan.source.traversal import FIELDS

_TESTED = (ast.Name, ast.Attribute, ast.Subscript)
_EQUALITIES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)

# The method that a subscript calls to change one element of its container.
_CHANGES: dict[type[ast.expr_context], str] = {ast.Store: "__setitem__", ast.Del: "__delitem__"}

# Functions that identify the running thread or task: always the same answer in one, another in each other.
_IDENTITIES = frozenset(
    {
        *("threading.get_ident", "threading.current_thread", "threading.get_native_id", "_thread.get_ident"),
        "asyncio.current_task",
    }
)
# Those of them that tell the threads of a pool apart.
_THREAD_IDENTITIES = _IDENTITIES - {"asyncio.current_task"}


class ExpressionRewriter(Rewriter):
    """Has a method for each kind of expression that is rewritten."""

    def _expr(self, node: ast.expr) -> ast.expr:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        self._rewrite_children(node)
        return node

    def _rewrite_children(self, node: ast.AST) -> None:
        """Rewrites the expressions in a node that has no rule of its own."""
        for field in FIELDS[type(node)]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for index, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        value[index] = self._expr(item)
                    elif isinstance(item, ast.AST):
                        self._rewrite_children(item)
            elif isinstance(value, ast.expr):
                setattr(node, field, self._expr(value))
            elif isinstance(value, ast.AST):
                self._rewrite_children(value)

    def _exprs(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        return [self._expr(node) for node in nodes]

    def _test(self, node: ast.expr) -> ast.expr:
        """Rewrites an expression whose truth is tested."""
        if isinstance(node, ast.BoolOp):
            node.values = [self._test(value) for value in node.values]
            return node
        return self._tapped("truth", node) if isinstance(node, _TESTED) else self._expr(node)

    def _tapped(self, kind: str, node: ast.expr, name: str = "") -> ast.expr:
        """`P[x]`, for the kinds that return what they are given."""
        if not self._is_tappable(node):
            return self._expr(node)
        text = self._text(node)
        value = self._expr(node)
        return probe_nodes.tap(self._probe(kind, node, name, text, feeds=self._feeds(node, value)), value, node)

    def _bool_op(self, node: ast.BoolOp) -> ast.expr:
        node.values = [*(self._test(value) for value in node.values[:-1]), self._expr(node.values[-1])]
        return node

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self._test(node.operand) if isinstance(node.op, ast.Not) else self._expr(node.operand)
        return node

    def _binary(self, node: ast.BinOp) -> ast.expr:
        # a sum of a thousand terms is that deep
        lowest = node
        while isinstance(lowest.left, ast.BinOp):
            lowest.right = self._expr(lowest.right)
            lowest = lowest.left
        lowest.left = self._expr(lowest.left)
        lowest.right = self._expr(lowest.right)
        return node

    def _if_exp(self, node: ast.IfExp) -> ast.expr:
        node.test = self._test(node.test)
        node.body = self._expr(node.body)
        node.orelse = self._expr(node.orelse)
        return node

    def _name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            return self._load_name(node)
        if self._probed(node.id) is not None:
            self._stored.append((node, node.id))
        return node

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        before = node.value
        is_load = isinstance(node.ctx, ast.Load)
        if not self._is_tappable(before) or (is_load and self._is_stateless(before)):
            node.value = self._expr(before)
            return node
        if not is_load:
            self._note_stored_outside(node)
        text = self._text(before)
        value = self._expr(before)
        kind = "load_attr" if is_load else "store_attr"
        probe = self._probe(kind, node, self._mangled(node.attr), text, feeds=self._feeds(before, value))
        node.value = probe_nodes.tap(probe, value, before)
        if is_load:
            self._values[node] = probe
        return node

    def _is_stateless(self, node: ast.expr) -> bool:
        """Whether its attributes are no shared state: a module of the standard library, or `super()`."""
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "super"
        return isinstance(node, ast.Name | ast.Attribute) and self.scopes.is_standard_module(self._scope, node)

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        if not self._is_tappable(node.value):
            self._rewrite_children(node)
            return node
        before = node.value
        text = self._text(before)
        container = self._expr(before)
        key = self._expr(node.slice)
        is_one = not _has_slice(key)
        name = _CHANGES.get(type(node.ctx), "") if is_one else ""
        probe = self._probe("item", node, name, text, feeds=self._feeds(before, container))
        if isinstance(node.ctx, ast.Load) and is_one:
            # without the pair it costs half
            return probe_nodes.call(placeholder(probe), [container, key], [], node)
        return probe_nodes.tap_pair(probe, container, key, node, node.ctx)

    def _compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1 and isinstance(node.ops[0], _EQUALITIES):
            return self._identity_comparison(node)
        container = node.comparators[0]
        if len(node.ops) > 1 or not isinstance(node.ops[0], ast.In | ast.NotIn) or not self._is_tappable(container):
            self._rewrite_children(node)
            return node
        is_simple = self._is_simple(node.left) and not isinstance(node.left, ast.Lambda)
        text = self._text(container)
        key = self._expr(node.left)
        value = self._expr(container)
        feeds = self._feeds(container, value)
        if is_simple:
            probe = self._probe("contains", node, text=text, feeds=feeds)
            node.left = key
            pair = probe_nodes.tap_pair(probe, value, key, container)
            node.comparators = [positions.behind(pair, container)]
            return node
        probe = self._probe("late_contains", node, text=text, feeds=feeds)
        answer = probe_nodes.tap_pair(probe, key, value, node)
        if isinstance(node.ops[0], ast.NotIn):
            return positions.copy(ast.UnaryOp(ast.Not(), answer), node)
        return answer

    def _identity_comparison(self, node: ast.Compare) -> ast.expr:
        """`self.owner == get_ident()`: other threads' writes do not change the answer, so it has no probe."""
        sides = [node.left, node.comparators[0]]
        for one, other in (sides, sides[::-1]):
            if self._is_identity(one) and isinstance(other, ast.Attribute):
                other.value = self._expr(other.value)
                if not isinstance(one, ast.Name):
                    self._rewrite_children(one)
                return node
        self._rewrite_children(node)
        return node

    def _is_identity(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._enclosing.identities
        return isinstance(node, ast.Call) and self.scopes.canonical(self._scope, node.func) in _IDENTITIES

    def _note_identity(self, target: ast.Name, value: ast.expr) -> None:
        is_own = self._scope.kind == FUNCTION and self._scope.owner(target.id) is self._scope
        if is_own and self._scope.bound.get(target.id) == 1 and self._is_identity(value):
            self._enclosing.identities.add(target.id)

    def _starred(self, node: ast.Starred) -> ast.expr:
        node.value = self._tapped("unpack", node.value) if isinstance(node.ctx, ast.Load) else self._expr(node.value)
        return node

    def _dict(self, node: ast.Dict) -> ast.expr:
        for index, key in enumerate(node.keys):
            value = node.values[index]
            if key is None:
                node.values[index] = self._tapped("unpack", value, "**")
            else:
                node.keys[index] = self._expr(key)
                node.values[index] = self._expr(value)
        return node

    def _walrus(self, node: ast.NamedExpr) -> ast.expr:
        value = self._expr(node.value)
        self._alias(node.target, value)
        node.value = self._stored_value(node.target, value)
        return node

    def _await(self, node: ast.Await) -> ast.expr:
        text = self._text(node.value)
        first = len(self.probes)
        called = self._called_primitive(node.value)
        value = self._expr(node.value)
        feeds = next((probe.feeds for probe in self.probes[first:] if (probe.name, probe.text) == called), -1)
        node.value = probe_nodes.tap(self._probe("await", node, text=text, feeds=feeds), value, node.value)
        return node

    def _called_primitive(self, node: ast.expr) -> tuple[str, str] | None:
        """Of `jobs.get()` the method and what it is called on, if this may be a primitive."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PRIMITIVE_METHODS:
            return node.func.attr, self._text(node.func.value)
        return None

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> ast.expr:
        given = node.value
        value = None if given is None else self._expr(given)
        if not self._enclosing.suspends:
            node.value = cast(Any, value)
            return node
        region = self._enclosing.region
        if value is None:
            value = given = positions.copy(ast.Constant(None), node)
        node.value = probe_nodes.tap(self._probe("suspend", node, region=region), value, given)
        return probe_nodes.tap(self._probe("resume", node, region=region), node)

    def _comprehension(self, node: ComprehensionNode) -> ast.expr:
        outermost = node.generators[0]
        outermost.iter = self._iterated(outermost.iter, outermost.is_async)
        before, self._scope = self._scope, self.scopes.of[node]
        for generator in node.generators:
            if generator is not outermost:
                generator.iter = self._iterated(generator.iter, generator.is_async)
            generator.target = self._expr(generator.target)
            generator.ifs = [self._test(test) for test in generator.ifs]
        if isinstance(node, ast.DictComp):
            node.key = self._expr(node.key)
            node.value = self._expr(node.value)
        else:
            node.elt = self._expr(node.elt)
        self._scope = before
        return node

    def _iterated(self, node: ast.expr, is_async: int = 0) -> ast.expr:
        return self._expr(node) if is_async or self._is_range(node) else self._tapped("iterate", node)

    def _is_range(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.scopes.canonical(self._scope, node.func) == "range"

    # Calls

    def _call(self, node: ast.Call) -> ast.expr:
        if node is self._enclosing.passed_on:
            return self._passed_on(node)
        return self._usual_call(node)

    def _passed_on(self, node: ast.Call) -> ast.expr:
        """The call that is all a trampoline does. If that is an entry function, so is what it calls."""
        function = node.func
        made = self._usual_call(node)
        probe = self._probe("enter", function)
        if self._enclosing.is_entry and made is node:
            positions.call_at(node, function)
            node.func = positions.behind(probe_nodes.tap(probe, node.func, function), function)
        return made

    def _usual_call(self, node: ast.Call) -> ast.expr:
        canonical = self.scopes.canonical(self._scope, node.func)
        if canonical is not None:
            if canonical in FUNCTIONS:
                return self._function_call(node, canonical)
            if canonical in ("exec", "eval"):
                return self._source_call(node, canonical)
            if canonical == "compile":
                return self._whole_call(node, canonical)
            if canonical in _THREAD_IDENTITIES:
                return probe_nodes.tap(self._probe("identity", node), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            receiver = node.func.value
            is_module = isinstance(receiver, ast.Name | ast.Attribute) and self._is_stateless(receiver)
            # on a private container, it may still read a shared one
            reads = node.func.attr in READS_ARGUMENT and any(map(self._is_tappable, node.args))
            is_ours = self._is_private(receiver) and not reads
            if (self._is_tappable(receiver) or self._is_private(receiver)) and not is_module and not is_ours:
                return self._method_call(node, node.func)
            if self._joins(node):
                return self._method_call(node, node.func)
        node.func = self._expr(node.func)
        self._arguments(node)
        return node

    def _arguments(self, node: ast.Call) -> None:
        node.args = self._exprs(node.args)
        for keyword in node.keywords:
            value = keyword.value
            keyword.value = self._tapped("unpack", value, "**") if keyword.arg is None else self._expr(value)

    def _joins(self, node: ast.Call) -> bool:
        """Whether it is `", ".join(names)`, which reads its argument."""
        function = cast(ast.Attribute, node.func)
        return (
            function.attr == "join"
            and isinstance(function.value, ast.Constant)
            and isinstance(function.value.value, str | bytes)
            and len(node.args) == 1
            and self._is_tappable(node.args[0])
        )

    def _are_simple(self, node: ast.Call, but: int = -1) -> bool:
        """Whether all arguments are simple, but perhaps one."""
        return all(self._is_simple(part) for index, part in enumerate(node.args) if index != but) and all(
            keyword.arg is not None and self._is_simple(keyword.value) for keyword in node.keywords
        )

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> ast.expr:
        receiver = function.value
        name = self._mangled(function.attr)
        is_simple = self._are_simple(node)
        is_keyed = METHODS[function.attr] and bool(node.args)
        if is_keyed and isinstance(node.args[0], ast.Lambda):
            is_simple = False
        text = self._text(receiver)
        value = self._expr(receiver)
        kind = "late_method" if not is_simple else "keyed_method" if is_keyed else "method"
        probe = self._probe(kind, function, name, text, feeds=self._feeds(receiver, value))
        self._arguments(node)
        if kind == "method":
            function.value = probe_nodes.tap(probe, value, receiver)
        elif kind == "keyed_method":
            pair = probe_nodes.tap_pair(probe, value, node.args[0], receiver)
            function.value = positions.behind(pair, receiver)
        else:
            positions.call_at(node, function)
            node.func = positions.behind(probe_nodes.tap(probe, value, receiver), function)
        return node

    def _function_call(self, node: ast.Call, canonical: str) -> ast.expr:
        index = FUNCTIONS[canonical]
        before = node.args[: index + 1] if index >= 0 else node.args
        if index < 0:
            # on what is new there are no effects to be seen
            if not any(self._is_tappable(part) for part in node.args):
                return self._plain_call(node)
            return self._whole_call(node, canonical)
        if any(isinstance(part, ast.Starred) for part in before) or len(before) <= index:
            return self._whole_call(node, canonical) if node.args else self._plain_call(node)
        if not self._is_tappable(node.args[index]):
            return self._plain_call(node)
        if not self._are_simple(node, index):
            return self._whole_call(node, canonical)
        node.args = [
            self._tapped("argument", part, canonical) if place == index else self._expr(part)
            for place, part in enumerate(node.args)
        ]
        for keyword in node.keywords:
            keyword.value = self._expr(keyword.value)
        return node

    def _plain_call(self, node: ast.Call) -> ast.expr:
        """A call of a function with a canonical name: only the arguments are rewritten."""
        self._arguments(node)
        return node

    def _whole_call(self, node: ast.Call, canonical: str) -> ast.expr:
        """`P(f, a, b)`."""
        index = max(FUNCTIONS.get(canonical, 0), 0)
        about = node.args[index] if len(node.args) > index else None
        text = "" if about is None else self._text(about)
        positions.call_at(node, node.func)
        self._arguments(node)
        feeds = -1 if about is None else self._feeds(about, node.args[index])
        probe = self._probe("call", node, canonical, text, feeds=feeds)
        return probe_nodes.call(placeholder(probe), [node.func, *node.args], node.keywords, node)

    def _source_call(self, node: ast.Call, canonical: str) -> ast.expr:
        given = node.args[0] if node.args else None
        self._arguments(node)
        if given is not None and not isinstance(given, ast.Starred):
            node.args[0] = probe_nodes.tap(self._probe("source", node, canonical), node.args[0], given)
        return node

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        self._defaults(node.args)
        is_trivial = is_trivial_lambda(node) or self.scopes.of[node].is_generator
        before = self._enter(node, "<lambda>")
        self._enclosing.is_entry = ("<lambda>", node.lineno) in self._entries
        self._enclosing.passed_on = passed_on(node, ())
        if not is_trivial:
            self._enclosing.region = self._region(
                "",
                "function",
                node,
                is_trampoline=self._enclosing.passed_on is not None,
                flow=self._flow(node.body, self._scope.receivers),
            )
        region = self._enclosing.region
        cells = self._make_cells(node.body)
        at = positions.first(node.body)
        body = self._expr(node.body)
        if region >= 0:
            span = probe_nodes.mark(self._probe("span", node, region=region), at).value
            body = probe_nodes.second_of(span, body)
        if cells is not None:
            name = positions.copy(ast.Name(cells.targets[0].id, probe_nodes.STORE), at)  # type: ignore[attr-defined]
            body = probe_nodes.second_of(positions.copy(ast.NamedExpr(name, cells.value), at), body)
        node.body = body
        self._leave(before)
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = self._exprs(arguments.defaults)
        arguments.kw_defaults = [None if value is None else self._expr(value) for value in arguments.kw_defaults]


def _has_slice(key: ast.expr) -> bool:
    return isinstance(key, ast.Slice) or (isinstance(key, ast.Tuple) and any(map(_has_slice, key.elts)))


_EXPRESSIONS: dict[type[ast.AST], Callable[[ExpressionRewriter, Any], ast.expr]] = {
    ast.BoolOp: ExpressionRewriter._bool_op,
    ast.UnaryOp: ExpressionRewriter._unary,
    ast.BinOp: ExpressionRewriter._binary,
    ast.IfExp: ExpressionRewriter._if_exp,
    ast.Name: ExpressionRewriter._name,
    ast.Attribute: ExpressionRewriter._attribute,
    ast.Subscript: ExpressionRewriter._subscript,
    ast.Compare: ExpressionRewriter._compare,
    ast.Starred: ExpressionRewriter._starred,
    ast.Dict: ExpressionRewriter._dict,
    ast.NamedExpr: ExpressionRewriter._walrus,
    ast.Await: ExpressionRewriter._await,
    ast.Yield: ExpressionRewriter._yield,
    ast.YieldFrom: ExpressionRewriter._yield,
    ast.ListComp: ExpressionRewriter._comprehension,
    ast.SetComp: ExpressionRewriter._comprehension,
    ast.DictComp: ExpressionRewriter._comprehension,
    ast.GeneratorExp: ExpressionRewriter._comprehension,
    ast.Call: ExpressionRewriter._call,
    ast.Lambda: ExpressionRewriter._lambda,
}
