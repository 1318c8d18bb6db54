"""Base of the rewriters of expressions and statements: the current function, the rows of the plan, and names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from atomsan.source import positions, probe_nodes
from atomsan.source.call_flow import call_flow
from atomsan.source.effects import VIEWS
from atomsan.source.escape_analysis import private_names
from atomsan.source.flow_summaries import flow_summaries
from atomsan.source.plan import Function, Probe, Region
from atomsan.source.scopes import CLASS, FUNCTION, FunctionNode, Scope, Scopes, mangled

_TEXT_LENGTH = 80

# Probes that are about code, not about an expression in it.
_MARKS = frozenset({"cells", "begin", "end", "span", "drive", "enter", "match"})
# Probes of what is done with a value, at the position of the value.
_TAPS = frozenset({"argument", "iterate", "unpack", "truth", "with"})
# Probes of what a pattern is matched with.
_OF_PATTERNS = frozenset({"load_attr", "keyed_method"})


class Enclosing:
    """The function, class body or module that is being rewritten."""

    def __init__(self, function: int, qualname: str, node: ast.AST | None, inner_prefix: str) -> None:
        self.function = function
        self.qualname = qualname
        self.node = node
        self.inner_prefix = inner_prefix
        """The prefix of the qualified names of functions in here."""
        self.region = -1
        self.suspends = False
        """A generator whose region ends at each yield."""
        self.loops = 0
        self.has_loop_regions = False
        self.is_entry = False
        """It was named as an entry function."""
        self.passed_on: ast.Call | None = None
        """A trampoline: the call that is all it does."""
        self.aliases: dict[str, int] = {}
        """Local variables that are bound once, to the value of a probe."""
        self.certain: frozenset[str] = frozenset()
        """Local variables that have a value by now, whatever was run."""
        self.identities: set[str] = set()
        """Local variables that are bound once, to the identity of the running thread or task."""


class Rewriter:
    """State of the rewriting of one module."""

    def __init__(self, tree: ast.AST, lines: list[bytes], module: str, entries: frozenset[tuple[str, int]]) -> None:
        self.probes: list[Probe] = []
        self.regions: list[Region] = []
        self.sets: list[tuple[str, ...]] = []
        self.stored_outside: set[str] = set()
        self.scopes = Scopes(tree)
        self._flows = flow_summaries(tree, self.scopes)
        self.functions: list[Function] = [Function("<module>", 1, summary=self._flows.of[tree])]
        self._lines = lines
        self._module = module
        self._entries = entries
        self._scope = self.scopes.module
        self._enclosing = Enclosing(0, "<module>", None, "")
        self._region_numbers: dict[tuple[str, int], int] = {}
        self._cells: dict[Scope, str] = {}
        self._private: dict[Scope, frozenset[str]] = {}
        """By function: its variables that hold private containers (`escape_analysis.py`)."""
        self._values: dict[ast.expr, int] = {}
        """By expression that was rewritten: the probe whose value it is."""
        self._stored: list[tuple[ast.expr | ast.stmt, str]] = []
        """The probed names that the statement in work stores without a value to wrap, and where."""

    # Rows of the plan

    def _probe(
        self,
        kind: str,
        node: ast.expr | ast.stmt,
        name: str = "",
        text: str = "",
        region: int = -1,
        feeds: int = -1,
        step: str = "",
    ) -> int:
        at = (node.lineno, node.col_offset, self._enclosing.function)
        self.probes.append(Probe(kind, *at, name, text, region, feeds, self._flow_node(kind, node), step))
        return len(self.probes) - 1

    def _flow_node(self, kind: str, node: ast.AST) -> int:
        """The node of the flow summary that stands for a probe."""
        if kind in _MARKS:
            return -1
        if kind in _OF_PATTERNS and isinstance(node, ast.pattern):
            return self._flows.subjects.get(node, -1)
        number = self._flows.taps.get(node) if kind in _TAPS else None
        return self._flows.nodes.get(node, -1) if number is None else number

    def _text(self, node: ast.expr) -> str:
        """The source of an expression, on one line."""
        try:
            if node.lineno == node.end_lineno:
                text = self._lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8", "replace")
            else:
                text = ast.unparse(node)
        except (IndexError, ValueError):
            return ""
        return text if len(text) <= _TEXT_LENGTH else f"{text[: _TEXT_LENGTH - 3]}..."

    def _mangled(self, name: str) -> str:
        return mangled(name, self._scope.class_name)

    def _region(self, suffix: str, origin: str, node: ast.stmt | ast.expr, **more: Any) -> int:
        """The region of a function (no suffix), or of a loop, statement or block in it."""
        name = f"{self._module}:{self._enclosing.qualname}"
        if suffix:
            name += f"/{suffix}:{node.lineno}"
        key = (name, self._enclosing.function)
        number = self._region_numbers.get(key)
        if number is None:
            number = self._region_numbers[key] = len(self.regions)
            self.regions.append(Region(name, origin, node.lineno, self._enclosing.function, **more))
        return number

    # Names

    def _probed(self, name: str) -> tuple[str, Scope] | None:
        """Of a name that gets probes here: the name at run time, and the scope that owns it."""
        name = self._mangled(name)
        owner = self._scope.owner(name)
        if owner.parent is None:
            return (name, owner) if name in self.scopes.shared else None
        if name not in owner.changing or self._scope.kind == CLASS or self._scope.function().shows_locals:
            return None
        return (name, owner)

    def _cells_of(self, owner: Scope, at: ast.expr | ast.stmt) -> ast.Name:
        return positions.copy(ast.Name(self._cells[owner], probe_nodes.LOAD), at)

    def _load_name(self, node: ast.Name, region: int = -1) -> ast.expr:
        probed = self._probed(node.id)
        if probed is None or node.id == "__debug__":
            return node
        name, owner = probed
        if owner.parent is None:
            probe = self._probe("load_name", node, name, node.id, region)
            result = probe_nodes.tap(probe, node)
        else:
            probe = self._probe("load_cell", node, name, node.id, region)
            result = probe_nodes.tap_pair(probe, node, self._cells_of(owner, node), node)
        self._values[result] = probe
        return result

    def _stored_value(self, target: ast.Name, value: ast.expr, region: int = -1) -> ast.expr:
        """The value with the probe of a store to a name around it, where there is one."""
        probed = self._probed(target.id)
        if probed is None:
            return value
        name, owner = probed
        if owner.parent is None:
            return probe_nodes.tap(self._probe("store_name", target, name, target.id, region), value)
        probe = self._probe("store_cell", target, name, target.id, region)
        return positions.behind(probe_nodes.tap_pair(probe, value, self._cells_of(owner, value), value), value)

    def _store_marks(self, names: Iterable[tuple[ast.expr | ast.stmt, str]], *, is_done: bool = True) -> list[ast.stmt]:
        """Statements that log stores that have been made, or (not `is_done`) deletions that will be."""
        marks: list[ast.stmt] = []
        for at, text in names:
            probed = self._probed(text)
            if probed is None:
                continue
            name, owner = probed
            kind = "store_name" if owner.parent is None else "store_cell"
            argument: ast.expr = positions.copy(ast.Constant(... if is_done else None), at)
            if owner.parent is not None:
                argument = positions.copy(ast.Tuple([argument, self._cells_of(owner, at)], probe_nodes.LOAD), at)
            marks.append(probe_nodes.mark(self._probe(kind, at, name, text), at, argument))
        return marks

    def _global_name(self, node: ast.expr) -> tuple[str, ...] | None:
        """The parts of a dotted name that begins with a global or a builtin; None: it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(self._mangled(node.attr))
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        name = self._mangled(node.id)
        return (name, *reversed(parts)) if self._scope.owner(name).parent is None else None

    def _feeds(self, before: ast.expr, after: ast.expr) -> int:
        """The probe whose value an expression is, also through a variable that is bound once."""
        if isinstance(before, ast.Name) and self._enclosing.aliases:
            found = self._enclosing.aliases.get(before.id)
            if found is not None:
                return found
        return self._values.get(after, -1)

    def _is_simple(self, node: ast.expr) -> bool:
        """Whether evaluating it runs no code and meets no probe."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Name):
            return self._scope.kind != CLASS and self._probed(node.id) is None
        if isinstance(node, ast.Tuple):
            return all(map(self._is_simple, node.elts))
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
        if isinstance(node, ast.Lambda):
            return not node.args.defaults and not any(node.args.kw_defaults)
        return False

    def _is_tappable(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            function = node.func
            return not (
                isinstance(function, ast.Attribute) and function.attr in VIEWS and self._is_private(function.value)
            )
        if isinstance(node, ast.Name):
            return node.id != "__debug__" and not self._is_private(node)
        return not isinstance(node, probe_nodes.FRESH)

    def _is_private(self, node: ast.expr) -> bool:
        """Whether it is a variable that holds a private container."""
        if not isinstance(node, ast.Name):
            return False
        name = self._mangled(node.id)
        return name in self._private.get(self._scope.owner(name), ())

    def _alias(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and value in self._values and self._scope.kind == FUNCTION:
            name = self._mangled(target.id)
            if self._scope.owner(name) is self._scope and self._scope.bound.get(name) == 1:
                self._enclosing.aliases[target.id] = self._values[value]

    # Places

    def _enter(self, node: FunctionNode | ast.Lambda | ast.ClassDef, name: str) -> tuple[Scope, Enclosing, Any]:
        before = (self._scope, self._enclosing, self._stored)
        around = self._enclosing
        is_global = not isinstance(node, ast.Lambda) and self._mangled(name) in self._scope.globals
        qualname = name if is_global else around.inner_prefix + name
        self.functions.append(Function(qualname, node.lineno, around.function, self._flows.of.get(node, "")))
        inner = f"{qualname}." if isinstance(node, ast.ClassDef) else f"{qualname}.<locals>."
        self._enclosing = Enclosing(len(self.functions) - 1, qualname, node, inner)
        self._scope = self.scopes.of[node]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._private[self._scope] = private_names(node, self.scopes)
        self._stored = []
        return before

    def _leave(self, before: tuple[Scope, Enclosing, Any]) -> None:
        self._scope, self._enclosing, self._stored = before

    def _make_cells(self, at: ast.expr | ast.stmt) -> ast.Assign | None:
        """`~cells = P[None]`, in a function whose captured variables can change."""
        if not self._scope.changing:
            return None
        name = f"~cells{self._enclosing.function}"
        self._cells[self._scope] = name
        token = probe_nodes.mark(self._probe("cells", at), at).value
        return positions.copy(ast.Assign([positions.copy(ast.Name(name, probe_nodes.STORE), at)], token), at)

    def _flow(self, body: Sequence[ast.stmt] | ast.expr, receivers: set[str]) -> tuple[str, ...]:
        if not receivers:
            return ()
        modules = frozenset(
            name for name in (receiver.partition(".")[0] for receiver in receivers) if self._is_import(name)
        )
        return call_flow(body, modules)

    def _note_stored_outside(self, target: ast.Attribute) -> None:
        """Notes a store to what may be a global of another module: `settings.level = 1`."""
        root = target.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and self._is_import(root.id):
            self.stored_outside.add(self._mangled(target.attr))

    def _is_import(self, name: str) -> bool:
        name = self._mangled(name)
        return name in self._scope.owner(name).imports
