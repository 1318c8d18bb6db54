"""Rewrites statements: each method takes a node and returns the statement or statements that replace it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from atomsan.source import positions, probe_nodes
from atomsan.source.call_flow import calls_on
from atomsan.source.expressions import ExpressionRewriter
from atomsan.source.function_kinds import calls_out, is_outer, is_trivial, passed_on, receiver_parameter
from atomsan.source.match_patterns import ELEMENT, SUBJECT, PatternForms, reads
from atomsan.source.plan import operation_placeholder
from atomsan.source.scopes import CLASS, FUNCTION, FunctionNode
from atomsan.source.traversal import walk

_INPLACE = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.MatMult: "imatmul",
    ast.Div: "itruediv",
    ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod",
    ast.Pow: "ipow",
    ast.LShift: "ilshift",
    ast.RShift: "irshift",
    ast.BitOr: "ior",
    ast.BitXor: "ixor",
    ast.BitAnd: "iand",
}

# Operators that a probe applies to numbers in one step. To subtract a constant is to add its opposite, also for floats:
# they represent integers up to this exactly, but for zero, of which they have two.
_SIGNS = {ast.Add: "+", ast.Sub: "-"}
_MOST_COUNTED = 1 << 30


# The probes of what a pattern reads; else it is an attribute.
PATTERN_READS = {"{}": ("keyed_method", "get"), "**": ("unpack", "**"), "[]": ("unpack", "")}

# Methods that let a generator go on.
_STEPPING = frozenset({"send", "__next__", "asend", "__anext__"})


class StatementRewriter(ExpressionRewriter):
    """Has a method for each kind of statement that is rewritten."""

    def rewrite(self, tree: ast.AST) -> None:
        if isinstance(tree, ast.Expression):
            tree.body = self._expr(tree.body)
        else:
            assert isinstance(tree, ast.Module | ast.Interactive)
            # what is typed at a prompt is not what a thread begins with
            self._enclosing.has_loop_regions = isinstance(tree, ast.Module)
            tree.body = self._block(tree.body)

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        certain = self._enclosing.certain
        for statement in statements:
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                self._rewrite_children(statement)
                result.append(statement)
            else:
                made = handler(self, statement)
                if isinstance(made, list):
                    result += made
                else:
                    result.append(made)
            if self._stored:
                result += self._store_marks(self._take_stored())
            if isinstance(statement, ast.Assign):
                self._make_certain(statement.targets)
        # what is bound in a branch or in a loop may not be so after it
        self._enclosing.certain = certain
        return result

    def _make_certain(self, targets: Iterable[ast.expr]) -> None:
        """Notes that these local variables are bound from here on."""
        names = [self._mangled(target.id) for target in targets if isinstance(target, ast.Name)]
        self._enclosing.certain |= {name for name in names if self._is_local(name)}

    def _is_local(self, name: str) -> bool:
        """Whether it is a local variable of the function that is never deleted."""
        scope = self._scope
        return scope.kind == FUNCTION and scope.owner(name) is scope and name not in scope.unbound | scope.rebound

    def _take_stored(self) -> list[tuple[ast.expr | ast.stmt, str]]:
        stored, self._stored = self._stored, []
        return stored

    def _leave_alone(self, node: ast.stmt) -> ast.stmt:
        return node

    def _assign(self, node: ast.Assign) -> ast.stmt:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._note_identity(node.targets[0], node.value)
            value = self._expr(node.value)
            self._alias(node.targets[0], value)
            if probe_nodes.may_be_number(value) or (isinstance(value, ast.Constant) and value.value is ...):
                # simpler than to hide the number from the compiler; and `...` given to the probe has another meaning
                self._stored.append((node.targets[0], node.targets[0].id))
                node.value = value
            else:
                node.value = self._stored_value(node.targets[0], value)
            return node
        unpacks = any(isinstance(target, ast.Tuple | ast.List) for target in node.targets)
        node.value = self._tapped("unpack", node.value) if unpacks else self._expr(node.value)
        node.targets = self._exprs(node.targets)
        return node

    def _annotated(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is not None:
            node.value = self._expr(node.value)
            if isinstance(node.target, ast.Name):
                self._alias(node.target, node.value)
                node.value = self._stored_value(node.target, node.value)
                return node
        if not isinstance(node.target, ast.Name):
            # without a value nothing is stored, but what the target is made of is evaluated
            if node.value is not None:
                node.target = cast(Any, self._expr(node.target))
            else:
                self._rewrite_children(node.target)
        return node

    def _augmented(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        target = node.target
        if isinstance(target, ast.Name):
            if self._probed(target.id) is not None:
                return self._augmented_name(node, target)
        elif self._is_tappable(target.value):
            region = self._region("statement", "statement", node)
            text = self._text(target.value)
            before = target.value
            if isinstance(target, ast.Attribute):
                self._note_stored_outside(target)
            value = self._expr(before)
            feeds = self._feeds(before, value)
            if isinstance(target, ast.Attribute):
                name = self._mangled(target.attr)
                step = self._step(node)
                probe = self._probe("aug_attr", target, name, text, region, feeds, step)
                node.target = probe_nodes.tap_for_store(probe, value, target)
                if step:
                    given = node.value if len(step) == 1 else None
                    return probe_nodes.unless_at_once(probe, given, node, target)
            else:
                key = self._expr(target.slice)
                probe = self._probe("aug_item", target, "", text, region, feeds)
                node.target = probe_nodes.tap_pair(probe, value, key, target, probe_nodes.STORE)
        else:
            self._rewrite_children(target)
        node.value = self._expr(node.value)
        return node

    def _step(self, node: ast.AugAssign) -> str:
        """The step that its probe can do at once (`Probe.step`), if evaluating the object twice makes no difference."""
        sign = _SIGNS.get(type(node.op))
        obj = node.target.value if isinstance(node.target, ast.Attribute) else None
        value = node.value
        if sign is None or node.lineno != node.end_lineno or not isinstance(obj, ast.Name):
            return ""
        if self._scope.owner(self._mangled(obj.id)).kind != FUNCTION or not self._is_simple(obj):
            return ""  # nobody but a function surely has its variables at hand: a namespace can be anything
        if isinstance(value, ast.Constant):
            return f"{sign}{value.value}" if type(value.value) is int and 0 < value.value <= _MOST_COUNTED else ""
        if not isinstance(value, ast.Name) or self._mangled(value.id) not in self._enclosing.certain:
            return ""
        return sign if self._is_simple(value) else ""

    def _augmented_name(self, node: ast.AugAssign, target: ast.Name) -> ast.stmt:
        """`NAME = P[IADD(P[NAME], v)]`."""
        region = self._region("statement", "statement", node)
        name = positions.copy(ast.Name(target.id, probe_nodes.LOAD), target)
        self._flows.nodes[name] = self._flows.nodes[target]
        read = self._load_name(name, region)
        constant = operation_placeholder(_INPLACE[type(node.op)])
        call = probe_nodes.call(constant, [read, self._expr(node.value)], [], node)
        return positions.copy(ast.Assign([target], self._stored_value(target, call, region)), node)

    def _delete(self, node: ast.Delete) -> list[ast.stmt]:
        node.targets = self._exprs(node.targets)
        return [*self._store_marks(self._take_stored(), is_done=False), node]

    def _import(self, node: ast.Import | ast.ImportFrom) -> ast.stmt:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return node
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if self._probed(name) is not None:
                self._stored.append((node, name))
        return node

    def _if(self, node: ast.If) -> ast.stmt:
        node.test = self._test(node.test)
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse)
        return node

    def _assert(self, node: ast.Assert) -> ast.stmt:
        node.test = self._test(node.test)
        if node.msg is not None:
            node.msg = self._expr(node.msg)
        return node

    def _try(self, node: ast.Try | ast.TryStar) -> ast.stmt:
        node.body = self._block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                handler.type = self._expr(handler.type)
            marks = [] if handler.name is None else self._store_marks([(cast(ast.stmt, handler), handler.name)])
            handler.body = [*marks, *self._block(handler.body)]
        node.orelse = self._block(node.orelse)
        node.finalbody = self._block(node.finalbody)
        return node

    def _match(self, node: ast.Match) -> ast.stmt:
        node.subject = self._matched(node)
        for case in node.cases:
            names = [
                (cast(ast.expr, child), name)
                for child in walk(case.pattern)
                if (name := getattr(child, "name", None) or getattr(child, "rest", None)) is not None
            ]
            if case.guard is not None:
                case.guard = self._test(case.guard)
            case.body = [*self._store_marks(names), *self._block(case.body)]
        return node

    def _matched(self, node: ast.Match) -> ast.expr:
        """The subject, with a probe that follows the patterns, and probes behind it for what they read."""
        given = node.subject
        text = self._text(given)
        value = self._expr(given)
        if not any(map(reads, (case.pattern for case in node.cases))) or not (
            self._is_tappable(given) or isinstance(given, ast.Tuple)
        ):
            return value
        probe = self._probe("match", given, text=text)
        feeds = self._feeds(given, value)

        def row(what: str, at: ast.pattern, inside: int) -> int:
            kind, name = PATTERN_READS.get(what, ("load_attr", what))
            fed_by = feeds if inside == SUBJECT else -1 if inside == ELEMENT else probe + inside
            return self._probe(kind, cast(ast.expr, at), name, text, feeds=fed_by) - probe

        forms = PatternForms(row, self._global_name)
        patterns = tuple(forms.form(case.pattern) for case in node.cases)
        self.probes[probe] = self.probes[probe]._replace(step=repr((patterns, len(self.probes) - probe - 1)))
        return probe_nodes.tap(probe, value, given)

    def _with(self, node: ast.With | ast.AsyncWith) -> ast.stmt:
        region = self._region("with", "lock-block", node)
        for item in node.items:
            given = item.context_expr
            text = self._text(given)
            value = self._expr(given)
            if self._is_tappable(given):
                probe = self._probe("with", given, text=text, region=region, feeds=self._feeds(given, value))
                value = probe_nodes.tap(probe, value, given)
            item.context_expr = value
            if item.optional_vars is not None:
                item.optional_vars = self._expr(item.optional_vars)
        marks = self._store_marks(self._take_stored())
        node.body = [*marks, *self._block(node.body)]
        return node

    # Loops

    def _for(self, node: ast.For | ast.AsyncFor) -> list[ast.stmt]:
        stepped = self._stepped(node)
        region = self._loop_region(node)
        node.iter = self._driving(node)
        node.target = self._expr(node.target)
        marks = self._store_marks(self._take_stored())
        first = node.body[0]
        at = positions.first(first)
        calls, probes = calls_out(node.body), len(self.probes)
        body = self._loop_body(node.body)
        if not calls and len(self.probes) == probes:
            region = None  # nothing that happens in an iteration is logged
        node.body = [*marks, *self._around(region, at, body)]
        node.orelse = self._block(node.orelse)
        return self._driven_by_hand(node, stepped)

    def _while(self, node: ast.While) -> list[ast.stmt]:
        stepped = self._stepped(node)
        region = self._loop_region(node)
        at = positions.first(node.test)
        first = positions.first(node.body[0])
        is_endless = isinstance(node.test, ast.Constant)
        calls, probes = calls_out([node.test, *node.body]), len(self.probes)
        node.test = self._test(node.test)
        body = self._loop_body(node.body)
        if not calls and len(self.probes) == probes:
            region = None
        if region is None:
            node.body = body
        elif is_endless or node.orelse:
            node.body = self._around(region, first, body)
        else:
            # the condition is part of the iteration that it lets in
            leave = positions.copy(ast.Break(), at)
            decide = positions.copy(ast.If(node.test, body, [leave]), node)
            node.test = positions.copy(ast.Constant(True), at)
            node.body = self._around(region, at, [decide])
        node.orelse = self._block(node.orelse)
        return self._driven_by_hand(node, stepped)

    def _loop_body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        self._enclosing.loops += 1
        body = self._block(statements)
        self._enclosing.loops -= 1
        return body

    def _loop_region(self, node: ast.For | ast.AsyncFor | ast.While) -> tuple[int, int] | None:
        """The probes that begin and end an iteration, of a loop that is outermost and has a region."""
        if not self._has_loop_region:
            return None
        region = self._region("loop", "loop", node, flow=self._flow(node.body, self._scope.receivers))
        begin = self._probe("begin", node, region=region)
        end = self._probe("end", node, region=region)
        return (begin, end) if self._enclosing.has_loop_regions else None

    @property
    def _has_loop_region(self) -> bool:
        """Whether a loop here is outermost and has a region, in an entry function."""
        return not self._enclosing.loops and self._scope.kind != CLASS and not self._scope.is_generator

    def _driving(self, node: ast.For | ast.AsyncFor) -> ast.expr:
        """What a loop goes over. If that is a generator, it runs between the iterations, and the loop is a region."""
        given = node.iter
        is_plain = self._is_range(given) or not self._is_tappable(given)
        value = self._iterated(given, isinstance(node, ast.AsyncFor))
        if is_plain or not self._has_loop_region:
            return value
        probe = self._probe("drive", node, region=self._region("loop", "loop", node))
        return probe_nodes.tap(probe, value, given) if self._enclosing.has_loop_regions else value

    def _stepped(self, node: ast.For | ast.AsyncFor | ast.While) -> str | None:
        """The variable that is bound before a loop, and may be a generator: iterations ask it for the next value."""
        if not self._has_loop_region or self._scope.kind != FUNCTION:
            return None
        names = {self._stepped_by(child) for child in walk(node) if isinstance(child, ast.Call)}
        bound = {child.id for child in walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
        return min((name for name in names if name and name not in bound and self._is_at_hand(name)), default=None)

    def _stepped_by(self, call: ast.Call) -> str | None:
        """`next(NAME)`, `NAME.send(x)`."""
        function, given = call.func, call.args[0] if call.args else None
        if isinstance(function, ast.Attribute):
            given = function.value if function.attr in _STEPPING else None
        elif self.scopes.canonical(self._scope, function) not in ("next", "anext"):
            given = None
        return given.id if isinstance(given, ast.Name) else None

    def _is_at_hand(self, name: str) -> bool:
        """Whether a local variable surely has a value, and nothing happens when it is read."""
        return self._mangled(name) in self._enclosing.certain and self._probed(name) is None

    def _driven_by_hand(self, node: ast.For | ast.AsyncFor | ast.While, name: str | None) -> list[ast.stmt]:
        """The loop, and around it its region if the variable is a generator: as if the loop went over that."""
        if name is None:
            return [node]
        region = self._region("loop", "loop", node)
        probes = self._probe("drive", node, region=region), self._probe("end", node, region=region)
        at = positions.first(node.test if isinstance(node, ast.While) else node.iter)
        return self._around(probes if self._enclosing.has_loop_regions else None, at, [node], name)

    def _around(
        self,
        probes: tuple[int, int] | None,
        at: ast.expr | ast.stmt,
        body: list[ast.stmt],
        receiver: str | None = None,
    ) -> list[ast.stmt]:
        """`begin; try: body finally: end`."""
        if probes is None:
            return body
        return probe_nodes.around(probes[0], receiver, body, probes[1], at)

    # Functions and classes

    def _class(self, node: ast.ClassDef) -> ast.stmt:
        for name, fields in self._marked(node, "atomsan.atomic_set"):
            of_class = f"{self._enclosing.inner_prefix}{node.name}"
            self.sets.append((f"{of_class}:{name}" if name else of_class, *fields))
        node.decorator_list = self._exprs(node.decorator_list)
        node.bases = self._exprs(node.bases)
        for keyword in node.keywords:
            keyword.value = self._expr(keyword.value)
        if self._probed(node.name) is not None:
            self._stored.append((self._one_line(node), node.name))
        before = self._enter(node, node.name)
        node.body = self._block(node.body)
        self._leave(before)
        return node

    def _one_line(self, node: FunctionNode | ast.ClassDef) -> ast.stmt:
        """Where the name of a definition is stored."""
        place = probe_nodes.one_line(node)
        if node in self._flows.nodes:
            self._flows.nodes[place] = self._flows.nodes[node]
        return place

    def _marked(self, node: FunctionNode | ast.ClassDef, decorator: str) -> Iterator[tuple[str, list[str]]]:
        """The arguments of an annotation: its `name`, if it has one, and its texts."""
        for given in node.decorator_list:
            if isinstance(given, ast.Call) and self.scopes.canonical(self._scope, given.func) == decorator:
                named = [_text_of(keyword.value) for keyword in given.keywords if keyword.arg == "name"]
                yield "".join(named), [text for text in map(_text_of, given.args) if text]

    def _function(self, node: FunctionNode) -> ast.stmt:
        marks = {self.scopes.canonical(self._scope, decorator) for decorator in node.decorator_list}
        is_outer_function = is_outer(node.name, self._enclosing.node) or "atomsan.not_atomic" in marks
        origin = "annotated" if "atomsan.atomic" in marks else "outer" if is_outer_function else "function"
        has_receiver = isinstance(self._enclosing.node, ast.ClassDef)
        lines = {node.lineno, *(decorator.lineno for decorator in node.decorator_list[:1])}
        parameters = [name for _, names in self._marked(node, "atomsan.unit_for") for name in names]
        node.decorator_list = self._exprs(node.decorator_list)
        self._defaults(node.args)
        if self._probed(node.name) is not None:
            self._stored.append((self._one_line(node), node.name))
        before = self._enter(node, node.name)
        start = int(ast.get_docstring(node, clean=False) is not None)
        body = node.body[start:]
        if not is_trivial(body):
            self._enclosing.is_entry = any((self._enclosing.qualname, line) in self._entries for line in lines)
            self._enclosing.passed_on = passed_on(node, body)
            self._enclosing.has_loop_regions = not self._scope.is_generator and (
                is_outer(node.name, before[1].node)
                or isinstance(node, ast.AsyncFunctionDef)
                or self._enclosing.is_entry
            )
            self._function_region(node, body, origin, [f"!{line}" for line in calls_on(body, parameters)])
            receiver = receiver_parameter(node) if has_receiver else None
            node.body = [*node.body[:start], *self._function_body(node, body, receiver)]
        self._leave(before)
        return node

    def _function_region(self, node: FunctionNode, body: list[ast.stmt], origin: str, units_for: Sequence[str]) -> None:
        place = self._enclosing
        place.suspends = self._scope.is_generator
        place.region = self._region(
            "",
            origin,
            node,
            has_loops=not self._scope.is_generator and _has_loop(body),
            is_trampoline=place.passed_on is not None,
            flow=(*self._flow(body, self._scope.receivers), *units_for),
        )

    def _function_body(self, node: FunctionNode, body: list[ast.stmt], receiver: str | None) -> list[ast.stmt]:
        region = self._enclosing.region
        begin = self._probe("begin", node, region=region)
        end = self._probe("end", node, region=region)
        if self.regions[region].has_loops:
            with_loops = self._probe("begin", node, "loops", region=region)
            begin = with_loops if self._enclosing.has_loop_regions else begin
        at = positions.first(next((one for one in body if not isinstance(one, ast.Global | ast.Nonlocal)), body[0]))
        cells = self._make_cells(at)
        parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        names = (self._mangled(parameter.arg) for parameter in parameters)
        self._enclosing.certain = frozenset(name for name in names if self._is_local(name))
        inside = self._block(body)
        if not isinstance(body[-1], ast.Return | ast.Raise):
            # The compiler copies what has no line of its own and leaves the function to where it is come from.
            inside.append(positions.nowhere(ast.Return(None)))
        rewritten = self._around((begin, end), at, inside, receiver)
        return rewritten if cells is None else [cells, *rewritten]


def _text_of(node: ast.expr) -> str:
    """The text of a constant; empty if it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _has_loop(body: Iterable[ast.stmt]) -> bool:
    """Whether a function has a loop, not counting functions and classes in it."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            todo += ast.iter_child_nodes(node)
    return False


_STATEMENTS: dict[type[ast.AST], Callable[[StatementRewriter, Any], ast.stmt | list[ast.stmt]]] = {
    ast.Assign: StatementRewriter._assign,
    ast.AnnAssign: StatementRewriter._annotated,
    ast.AugAssign: StatementRewriter._augmented,
    ast.Delete: StatementRewriter._delete,
    ast.Import: StatementRewriter._import,
    ast.ImportFrom: StatementRewriter._import,
    ast.If: StatementRewriter._if,
    ast.Assert: StatementRewriter._assert,
    ast.Try: StatementRewriter._try,
    ast.TryStar: StatementRewriter._try,
    ast.Match: StatementRewriter._match,
    ast.With: StatementRewriter._with,
    ast.AsyncWith: StatementRewriter._with,
    ast.For: StatementRewriter._for,
    ast.AsyncFor: StatementRewriter._for,
    ast.While: StatementRewriter._while,
    ast.ClassDef: StatementRewriter._class,
    ast.FunctionDef: StatementRewriter._function,
    ast.AsyncFunctionDef: StatementRewriter._function,
}
if hasattr(ast, "TypeAlias"):
    _STATEMENTS[ast.TypeAlias] = StatementRewriter._leave_alone
