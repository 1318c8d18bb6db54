"""Flow through expressions: each method makes the nodes of an expression and returns what its value is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, cast

from atomsan.source.boxes import path
from atomsan.source.effects import CALLS, FUNCTIONS, METHODS
from atomsan.source.flow_facts import (
    KEYED,
    KEYS_ONLY,
    OPERATORS,
    READ_ONLY,
    condition_form,
    condition_shape,
    condition_views,
    is_fresh,
    stored_facts,
)
from atomsan.source.flow_graph import NOTHING, Values
from atomsan.source.flow_state import FlowState, Place
from atomsan.source.function_kinds import is_trivial_lambda
from atomsan.source.scopes import ComprehensionNode

_TESTED = (ast.Name, ast.Attribute, ast.Subscript)
_IDENTITY = (ast.Is, ast.IsNot)
_PARTIAL = "functools.partial"
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ExpressionFlow(FlowState):
    def value(self, node: ast.expr) -> Values:
        """What the value of an expression is made of."""
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else self._parts(node)

    def values(self, nodes: Iterable[ast.expr | None]) -> Values:
        return NOTHING.union(*[self.value(node) for node in nodes if node is not None])

    def _parts(self, node: ast.AST) -> Values:
        return NOTHING.union(*[self.value(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)])

    def _constant(self, node: ast.Constant) -> Values:
        return NOTHING

    def _attribute(self, node: ast.Attribute) -> Values:
        values = self.value(node.value)
        if self._is_stateless(node.value):
            return values
        number = self.access("read", node, **self.wrapping(self.boxes.has(node)))
        _multiline_attribute(self, number, node, node)
        self.receive(values, number)
        # the probe before the access looks a cached property up, and has the position of the object
        self.graph.call_at(number, node.value)
        return frozenset((number,))

    def _is_stateless(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "super"
        return isinstance(node, ast.Name | ast.Attribute) and self.scopes.is_standard_module(self.scope, node)

    def made_name(self, node: ast.expr) -> str | None:
        """The variable whose object, made here, an expression is or is a part of."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        name = self.mangled(node.id) if isinstance(node, ast.Name) else ""
        return name if name in self.made else None

    def _subscript(self, node: ast.Subscript) -> Values:
        values, keys = self.value(node.value), self.value(node.slice)
        number = self.access("read", node, **self.wrapping(self.boxes.has(node)))
        self.receive(values, number)
        self.graph.flow(keys, number, "k")
        return frozenset((number,))

    def _binary(self, node: ast.BinOp) -> Values:
        # a sum of a thousand terms is that deep
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        values = self.value(chain[-1].left)
        for one in reversed(chain):
            values = self._operation(one, values | self.value(one.right), OPERATORS[type(one.op)])
        return values

    def _operation(self, node: Place, values: Values, name: str) -> Values:
        number = self.access("call", node, name=name)
        self.graph.flow(values, number)
        return frozenset((number,))

    def _unary(self, node: ast.UnaryOp) -> Values:
        if isinstance(node.op, ast.Not):
            values = self.tested(node.operand)
            number = self.module.taps.get(node.operand, self.module.nodes.get(node.operand))
            if number is not None:
                self.graph.call_at(number, node)
            return values
        values = self.value(node.operand)
        return self._operation(node, values, OPERATORS[type(node.op)]) if values else values

    def _compare(self, node: ast.Compare) -> Values:
        left, *others = [self.value(part) for part in (node.left, *node.comparators)]
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            number = self.access("read", node, op="__contains__", keys=True)
            self.graph.flow(left, number, "k")
            self.receive(others[0], number)
            return frozenset((number,))
        values = left.union(*others)
        if all(isinstance(operator, _IDENTITY) for operator in node.ops):
            return values
        return self._operation(node, values, OPERATORS[type(node.ops[0])])

    # Conditions

    def tested(self, node: ast.expr) -> Values:
        """What the truth of an expression is made of."""
        if isinstance(node, ast.BoolOp):
            return self._bool_op(node, is_tested=True)
        return self._truth(node, self.value(node))

    def _truth(self, node: ast.expr, values: Values) -> Values:
        return values | {self.tap(node, values, keys=True)} if isinstance(node, _TESTED) else values

    def condition(self, test: ast.expr, branch: int, around: Place) -> tuple[int, ...]:
        """The condition that a test makes. The code of `__bool__` is called at the position of what is around."""
        control = self.decided(self.tested(test), condition_form(test, self.resolve), branch, test)
        self.graph.call_at(control[0], around)
        return control

    def decided(
        self, values: Values, form: str, branch: int, test: ast.expr | None = None, **facts: Any
    ) -> tuple[int, ...]:
        facts |= self.shape_facts(test) or self._view_facts(test)
        number = self.node("cond", None, form=form, branch=branch, **facts)
        self.graph.flow(values, number)
        return (number,)

    def _view_facts(self, node: ast.expr | None) -> dict[str, Any]:
        """What a condition on several values says of each, with the nodes that give exactly these."""
        views = [] if node is None else condition_views(node, self.resolve_parts, self.term)
        found = [(self._giving(view.value), view.holds, view.opposite) for view in views]
        return {"views": found} if found and all(number is not None for number, _, _ in found) else {}

    def shape_facts(self, node: ast.expr | None) -> dict[str, Any]:
        """The condition on one value that an expression is, and the node (`of`) that gives exactly this value."""
        found = None if node is None else condition_shape(node, self.resolve_parts, self.fixed)
        if found is None:
            return {}
        number = self._giving(found.value)
        if number is None and not isinstance(found.value, ast.Name):
            return {}
        facts: dict[str, Any] = {"shape": found.holds, "opposite": found.opposite}
        name, part = path(found.value)
        if name in self.caught:
            facts["part"] = part
        return facts if number is None else {**facts, "of": number}

    def _giving(self, node: ast.AST) -> int | None:
        number = self.module.nodes.get(node)
        if number is None and isinstance(node, ast.Name):
            values = self.values_of(self.mangled(node.id))
            # of a global that nobody binds again only its truth is read
            number = next(iter(values)) if len(values) == 1 else None if values else self.module.taps.get(node)
        return number if number is not None and self.graph.nodes[number] is not None else None

    def _bool_op(self, node: ast.BoolOp, *, is_tested: bool = False) -> Values:
        branch = self.branch(node, "BoolOp")
        before, since = self.copied(), len(self.bound)
        values = NOTHING
        control: tuple[int, ...] = self.control
        for place, part in enumerate(node.values):
            is_last = place == len(node.values) - 1
            with self.under(control, (branch, place)):
                found = self.value(part)
                truth = self._truth(part, found) if is_tested or not is_last else found
                values |= truth if is_tested else found
                if not is_last:
                    facts = {"joins": "and" if isinstance(node.op, ast.And) else "or", "tested": is_tested}
                    control = self.decided(truth, condition_form(part, self.resolve), branch, part, **facts)
                    self.graph.call_at(control[0], node)
        self.merge([before, self.variables], (), since)
        return self.join(values, control)

    def _if_exp(self, node: ast.IfExp) -> Values:
        branch = self.branch(node, "IfExp")
        control = self.condition(node.test, branch, node)
        before, since = self.copied(), len(self.bound)
        with self.under(control, (branch, 0)):
            values = self.value(node.body)
        after, self.variables = self.variables, before
        with self.under(control, (branch, 1)):
            values |= self.value(node.orelse)
        self.merge([after, self.variables], control, since)
        return self.join(values, control)

    # Taps

    def tap(self, node: ast.expr, values: Values, kind: str = "read", **facts: Any) -> int:
        """Something that is done with a value, at its place: the code that makes the value comes first there."""
        number = self.node(kind, None, **facts)
        self.module.taps[node] = number
        self.graph.call_at(number, node)
        self.receive(values, number)
        return number

    def unpacked(self, node: ast.expr) -> Values:
        return frozenset((self.tap(node, self.value(node)),))

    def _starred(self, node: ast.Starred) -> Values:
        return self.unpacked(node.value)

    def _dict(self, node: ast.Dict) -> Values:
        pairs = zip(node.keys, node.values, strict=True)
        found = [self.unpacked(value) if key is None else self.value(key) | self.value(value) for key, value in pairs]
        self._unpack_at(node, [value for key, value in zip(node.keys, node.values, strict=True) if key is None])
        return self._container(found)

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Values:
        found = [self.value(part) for part in node.elts]
        self._unpack_at(node, [part.value for part in node.elts if isinstance(part, ast.Starred)])
        return self._container(found)

    def _unpack_at(self, node: ast.expr, parts: list[ast.expr]) -> None:
        """What is unpacked into a display is so at the position of the display."""
        for part in parts:
            self.graph.call_at(self.module.taps[part], node)

    def _container(self, parts: list[Values]) -> Values:
        values = NOTHING.union(*parts)
        return self.join(values, is_content=True) if values else values

    def _formatted(self, node: ast.FormattedValue) -> Values:
        values = self.value(node.value) | (NOTHING if node.format_spec is None else self.value(node.format_spec))
        return self._operation(node, values, "format") if values else values

    def _joined(self, node: ast.JoinedStr) -> Values:
        values = self.values(node.values)
        for number in sorted(values):
            self.graph.call_at(number, node)
        return values

    def _walrus(self, node: ast.NamedExpr) -> Values:
        values = self.value(node.value)
        self.assign(node.target, values, node.value)
        return self.variables[self.mangled(node.target.id)]

    # Calls that leave the function, or come back to it

    def _await(self, node: ast.Await) -> Values:
        return self._operation(node, self.value(node.value), "await")

    def _yield(self, node: ast.Yield) -> Values:
        values = NOTHING if node.value is None else self.value(node.value)
        number = self.node("yield", node, **self.shape_facts(node.value))
        self.graph.flow(values, number)
        return frozenset((number,))

    def _yield_from(self, node: ast.YieldFrom) -> Values:
        values = self._operation(node, self.value(node.value), "yield from")
        self.graph.flow(values, self.node("yield", None))
        return values

    # Functions and comprehensions

    def _lambda(self, node: ast.Lambda, given: Values = NOTHING) -> Values:
        """`given` is what it may be called with: the other arguments of the call that it is passed to."""
        values = self.defaults(node.args)
        inner = self.scopes.of[node]
        if not (is_trivial_lambda(node) or inner.is_generator):
            self.module.waiting.append(node)
            return values | self.closure(inner)
        everything = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        names = [self.mangled(argument.arg) for argument in everything if argument is not None]
        before = self.scope, self.copied(), self.is_later
        self._own.add(inner)
        self.scope, self.is_later = inner, True
        self.variables |= dict.fromkeys(names, values | given)
        values |= self.value(node.body)
        self.scope, self.variables, self.is_later = before
        return self.join(values, is_content=True)

    def defaults(self, arguments: ast.arguments) -> Values:
        return self._container([self.values([*arguments.defaults, *arguments.kw_defaults])])

    def _comprehension(self, node: ComprehensionNode) -> Values:
        before, is_later = self.copied(), self.is_later
        names = [self.mangled(name) for name in self.scopes.of[node].bound]
        self.is_later = is_later or isinstance(node, ast.GeneratorExp)
        values = self._generators(node, node.generators)
        after, self.is_later = self.variables, is_later
        for name in names:
            after.pop(name, None)
            if name in before:
                after[name] = before[name]
        return self.join(values, is_content=True)

    def _generators(self, node: ComprehensionNode, generators: list[ast.comprehension]) -> Values:
        if not generators:
            return self.values([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        first, *others = generators
        iterated = self.value(first.iter)
        scope, control, arms = self.scope, self.control, self.arms
        self.scope = self.scopes.of[node]
        changed = changed_names([node], self.made)
        with self.loop(sorted(changed & self.variables.keys())):
            values = self.iteration(first.iter, iterated, node)
            self.assign(first.target, values, None)
            for test in first.ifs:
                branch = self.branch(test, "comprehension")
                self.control = self.condition(test, branch, test)
                self.arms = (*self.arms, (branch, 0))
            conditions = self.control if self.control is not control else ()
            values = self._generators(node, others)
        self.scope, self.control, self.arms = scope, control, arms
        return self.join(values, conditions) if conditions else values

    def iteration(self, node: ast.expr, values: Values, around: Place) -> Values:
        """One step of an iteration over a value."""
        if isinstance(node, ast.Call) and self.canonical(node.func) == "range":
            return values
        name = self.canonical(node.func) if isinstance(node, ast.Call) else None
        if name in CALLS and CALLS[name].borrows == "loop":
            # `enumerate` and the like read the elements one by one
            for value in values:
                self.graph.move_into(value, self.loops)
        number = self.tap(node, values)
        if values or not isinstance(around, _COMPREHENSIONS):
            self.graph.call_at(number, around)
        return frozenset((number,))

    # Calls

    def _call(self, node: ast.Call) -> Values:
        canonical = self.canonical(node.func)
        function = node.func
        if isinstance(function, ast.Name) and function.id == "super" and not node.args:
            return NOTHING
        if canonical is not None and canonical in FUNCTIONS:
            return self._function_call(node, canonical)
        if isinstance(function, ast.Attribute):
            if function.attr in METHODS and not self._is_stateless(function.value):
                return self._method_call(node, function)
            received = self.value(function)
            return self._any_call(node, received, function.attr)
        received = self.value(function)
        return self._any_call(node, received, function.id if isinstance(function, ast.Name) else "")

    def _arguments(self, node: ast.Call, receiver: Values = NOTHING) -> list[Values]:
        """Positional ones first. What is passed together with a trivial lambda may be what that is called with."""
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        unpacked = {keyword.value for keyword in node.keywords if keyword.arg is None}
        found: list[Values] = [NOTHING] * len(parts)
        for place, part in enumerate(parts):
            if not isinstance(part, ast.Lambda):
                found[place] = self.unpacked(part) if part in unpacked else self.value(part)
        given = receiver.union(*found)
        for place, part in enumerate(parts):
            if isinstance(part, ast.Lambda):
                found[place] = self._lambda(part, given)
        return found

    def _given(self, node: ast.Call) -> dict[str, Any]:
        """Where a call passes exactly what another node gives, or a condition on that: by position or name."""
        function = node.func
        calls = [node]
        while True:
            found = self.resolve(function) if isinstance(function, ast.Name) else function
            if not isinstance(found, ast.Call) or self.canonical(found.func) != _PARTIAL or not found.args:
                break
            calls.insert(0, found)
            function = found.args[0]
        args = [arg for call in calls for arg in (call.args if call is node else call.args[1:])]
        words = [word for call in calls for word in call.keywords]
        if any(isinstance(arg, ast.Starred) for arg in args) or any(word.arg is None for word in words):
            return {}
        return self.given([*enumerate(args), *((word.arg or "", word.value) for word in words)])

    def given(self, arguments: Iterable[tuple[int | str, ast.expr]]) -> dict[str, Any]:
        """The nodes that give exactly what is passed, if that is known of all that is no literal."""
        found = [(at, self.shape_facts(arg)) for at, arg in arguments if not isinstance(arg, ast.Constant)]
        if not found or any("of" not in facts for _, facts in found):
            return {}
        known = [(at, facts["of"], facts["shape"], facts["opposite"]) for at, facts in found]
        return {"given": [one[:2] if one[2] == "?" else one for one in known]}

    def _any_call(self, node: ast.Call, received: Values, name: str) -> Values:
        arguments = self._arguments(node)
        is_partial = self.canonical(node.func) == _PARTIAL
        facts = self.wrapping(is_partial or node in self.boxes.makers) | self._given(node)
        number = self.access("call", node, name="" if _is_generated(node.func) else name, **facts)
        _multiline_call(self, number, node)
        self.receive(received, number)
        self.graph.flow(NOTHING.union(*arguments), number)
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            parts.append(node.func.value)
        for part in parts:
            made = self.made_name(part)
            if made is not None:
                self.add_to(made, (number,))  # it may have put something in there
        self._may_rebind(number, [node.func, *parts])
        return frozenset((number,))

    def _may_rebind(self, number: int, parts: Iterable[ast.expr]) -> None:
        """A call of a function that was defined here, or one that it is passed to, can bind variables."""
        if self.functions:
            for part in parts:
                if isinstance(part, ast.Name):
                    self.changed_by(number, sorted(self.functions.get(self.mangled(part.id), ())))

    def _method_call(self, node: ast.Call, function: ast.Attribute) -> Values:
        name = function.attr
        receiver = self.value(function.value)
        arguments = self._arguments(node, receiver)
        facts: dict[str, Any] = {"op": name, "keys": True} if name in KEYS_ONLY else {"op": name}
        if name not in READ_ONLY:
            facts |= self._stored_by_method(node, function) | self.wrapping(self.boxes.has(function))
        number = self.access("read" if name in READ_ONLY else "write", node, **facts)
        self.module.nodes[function] = number
        _multiline_call(self, number, node)
        self.graph.call_at(number, function)
        self.graph.call_at(number, function.value)
        self.receive(receiver, number)
        for place, values in enumerate(arguments):
            self.graph.flow(values, number, "k" if place == 0 and name in KEYED else "v")
        made = self.made_name(function.value)
        if made is not None and name not in READ_ONLY:
            self.add_to(made, (number,))
        self._may_rebind(number, node.args)
        return frozenset((number,))

    def _stored_by_method(self, node: ast.Call, function: ast.Attribute) -> dict[str, Any]:
        """What `append(v)`, `add(v)`, `put(v)` or `setdefault(k, v)` store."""
        given = node.args[1:] if function.attr in KEYED else node.args
        return self._stored(function, given[0]) if len(given) == 1 else {"value": "other"}

    def _stored(self, target: ast.expr, value: ast.expr | None) -> dict[str, Any]:
        """What a store stores; of an update, also the node of its read."""
        facts = stored_facts(target, value, self.resolve, self.canonical)
        read = facts.pop("read", None)
        number = None if read is None else self._giving(read)
        return facts if number is None else {**facts, "read": number}

    def _function_call(self, node: ast.Call, canonical: str) -> Values:
        arguments = self._arguments(node)
        name = canonical.rpartition(".")[2]
        kind = "read" if canonical in READ_ONLY else "write"
        facts: dict[str, Any] = {"op": canonical, "keys": True} if canonical in KEYS_ONLY else {"op": canonical}
        if kind == "write":
            facts["value"] = "other"
        number = self.access(kind, node, name=name, **facts)
        _multiline_call(self, number, node)
        about = max(FUNCTIONS[canonical], 0)
        for place, values in enumerate(arguments):
            self.graph.flow(values, number, "r" if name.endswith("attr") and place == 0 else "v")
        if len(node.args) > about:
            part = node.args[about]
            self.module.taps[part] = number
            self.graph.call_at(number, part)
            made = self.made_name(part)
            if made is not None and kind == "write":
                self.add_to(made, (number,))
        self._may_rebind(number, node.args)
        return frozenset((number,))

    # Targets

    def assign(self, target: ast.expr, values: Values, value: ast.expr | None) -> None:
        """Binds a target; `value` is the expression, where there is one for it alone."""
        if isinstance(target, ast.Name):
            self._assign_name(target, values, value)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self._assign_place(target, values, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, None)
        elif isinstance(target, ast.Tuple | ast.List):
            for number in values:
                self.graph.call_at(number, target)
            for part in target.elts:
                self.assign(part, values, None)

    def _assign_name(self, target: ast.Name, values: Values, value: ast.expr | None) -> None:
        name = self.mangled(target.id)
        facts: dict[str, Any] = {}
        if self.is_probed(name):
            facts = self._stored(target, value)
        expression = None if value is None else self.spelled_out(value)
        self.store(target, target.id, values, **facts)
        self.made.discard(name)
        if value is not None and expression is not None:
            self.remember(target, expression)
            if is_fresh(value, self.canonical):
                self.made.add(name)

    def _assign_place(self, target: ast.Attribute | ast.Subscript, values: Values, value: ast.expr | None) -> None:
        received = self.value(target.value)
        keys = self.value(target.slice) if isinstance(target, ast.Subscript) else NOTHING
        facts = self._stored(target, value)
        if isinstance(target, ast.Subscript):
            facts["op"] = "__setitem__"
        elif value is not None and target.attr in self.module.properties:
            facts |= self.given([(0, value)])
        number = self.access("write", target, **facts, **self.wrapping(self.boxes.has(target)))
        if isinstance(target, ast.Attribute):
            _multiline_attribute(self, number, target, target)
            self.graph.call_at(number, target.value)
        self.graph.flow(values, number)
        self.graph.flow(keys, number, "k")
        self.graph.flow(received, number, "r")
        made = self.made_name(target)
        if made is not None:
            self.add_to(made, (number,))


def changed_names(nodes: Iterable[ast.AST], made: set[str]) -> set[str]:
    """The variables that code may bind, or whose objects it may change; a few more do no harm."""
    found: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load) or node.id in made:
                found.add(node.id)
            continue
        for field in ("name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                found.add(name)
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        todo.extend(ast.iter_child_nodes(node))
    return found


def _multiline_attribute(flow: FlowState, number: int, attribute: ast.Attribute, whole: Place) -> None:
    """The code of an attribute that is not on the line where its object begins has the position of its name."""
    if attribute.lineno != attribute.end_lineno:
        assert attribute.end_col_offset is not None
        start = max(attribute.end_col_offset - len(attribute.attr), 0)
        line, end = attribute.end_lineno, attribute.end_col_offset
        for last in (whole.end_lineno, line):
            flow.graph.calls.setdefault(f"{line}:{start}:{last}:{end}", number)
        flow.graph.calls.setdefault(f"{line}:{start}:{whole.end_lineno}:{whole.end_col_offset}", number)


def _multiline_call(flow: FlowState, number: int, node: ast.Call) -> None:
    if isinstance(node.func, ast.Attribute):
        _multiline_attribute(flow, number, node.func, node)


_EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Values]] = {
    ast.Constant: ExpressionFlow._constant,
    ast.Name: lambda flow, node: cast(ExpressionFlow, flow).load(node),
    ast.Attribute: ExpressionFlow._attribute,
    ast.Subscript: ExpressionFlow._subscript,
    ast.BinOp: ExpressionFlow._binary,
    ast.UnaryOp: ExpressionFlow._unary,
    ast.Compare: ExpressionFlow._compare,
    ast.BoolOp: ExpressionFlow._bool_op,
    ast.IfExp: ExpressionFlow._if_exp,
    ast.Starred: ExpressionFlow._starred,
    ast.Dict: ExpressionFlow._dict,
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), ExpressionFlow._display),
    ast.FormattedValue: ExpressionFlow._formatted,
    ast.JoinedStr: ExpressionFlow._joined,
    ast.NamedExpr: ExpressionFlow._walrus,
    ast.Await: ExpressionFlow._await,
    ast.Yield: ExpressionFlow._yield,
    ast.YieldFrom: ExpressionFlow._yield_from,
    ast.Lambda: ExpressionFlow._lambda,
    ast.ListComp: ExpressionFlow._comprehension,
    ast.SetComp: ExpressionFlow._comprehension,
    ast.DictComp: ExpressionFlow._comprehension,
    ast.GeneratorExp: ExpressionFlow._comprehension,
    ast.Call: ExpressionFlow._call,
}


def _is_generated(function: ast.expr) -> bool:
    """Whether nobody wrote a call in the source: pytest's rewritten assertions call `@pytest_ar._saferepr`."""
    base = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(base, ast.Name) and base.id.startswith("@")
