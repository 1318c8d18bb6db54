"""Name resolution: the scopes of a module and their bindings.

Python's own `symtable` resolves names too, but does not say how often one is bound, which decides whether a closure
variable can change after it was captured. So the scopes are read off the tree, in one pass.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable

from atomsan.source.traversal import FIELDS

MODULE, CLASS, FUNCTION, COMPREHENSION = range(4)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_BUILTINS = frozenset(vars(builtins))
# Functions that show the local variables of their caller, unless they have this many arguments.
_SHOWS_LOCALS = {"locals": 1, "vars": 1, "dir": 1, "eval": 2, "exec": 2}


def mangled(name: str, class_name: str | None) -> str:
    """A name as the compiler mangles it in the body of a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    prefix = class_name.lstrip("_")
    return f"_{prefix}{name}" if prefix else name


# The names that a method has for its own object or class.
OWN = frozenset({"self", "cls"})


def dotted(node: ast.AST) -> str | None:
    """`self.pool` of a chain of names, None of anything else."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    names.append(node.id)
    return ".".join(reversed(names))


class Scope:
    """A module, class body, function, lambda or comprehension."""

    __slots__ = (
        *("bound", "captured", "class_name", "globals", "imports", "kind", "loops", "nonlocals", "parent", "rebound"),
        *("changing", "is_generator", "owners", "receivers", "shows_locals", "unbound", "uses"),
    )

    def __init__(self, kind: int, parent: Scope | None, class_name: str | None) -> None:
        self.kind = kind
        self.parent = parent
        self.class_name = class_name
        """The class by which names here are mangled."""
        self.bound: dict[str, int] = {}
        """How often a name is bound here; in a loop, or in place, counts twice."""
        self.unbound: set[str] = set()
        """The names that are deleted here, by `del` or at the end of an `except`."""
        self.imports: dict[str, tuple[str, bool]] = {}
        """The names that imports bind here: what they stand for, and whether that is known to be a module."""
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.uses: set[str] = set()
        self.captured: set[str] = set()
        """The variables of this function that functions inside it use."""
        self.rebound: set[str] = set()
        """Those that functions inside it bind."""
        self.changing: frozenset[str] = frozenset()
        """The captured variables that can change: those that get probes."""
        self.loops = 0
        """The number of loops of this scope around the node being visited."""
        self.shows_locals = False
        self.is_generator = False
        self.receivers: set[str] = set()
        """Receivers with two or more attributes in use; during the pass also those with one, with a dot in front."""
        self.owners: dict[str, Scope] = {}

    def function(self) -> Scope:
        """The scope around comprehensions: that which an assignment expression binds in."""
        scope = self
        while scope.kind == COMPREHENSION:
            assert scope.parent is not None
            scope = scope.parent
        return scope

    def owner(self, name: str) -> Scope:
        """The scope that owns a name used here. A built-in belongs to the module."""
        found = self.owners.get(name)
        if found is None:
            found = self.owners[name] = self._find(name)
        return found

    def _find(self, name: str) -> Scope:
        scope = self
        while scope.parent is not None:
            if scope.kind != CLASS or scope is self:
                if name in scope.globals:
                    break
                if name in scope.bound and name not in scope.nonlocals:
                    return scope
            scope = scope.parent
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """All scopes of a module."""

    def __init__(self, tree: ast.AST) -> None:
        self.module = Scope(MODULE, None, None)
        self.of: dict[ast.AST, Scope] = {}
        """By the function, class, lambda or comprehension."""
        self.shared: set[str] = set()
        """The globals that functions write."""
        self.modules = {"os.path"}
        """The modules, by their full names, that import statements name."""
        self._scope = self.module
        self._visit(tree)
        self._find_captured()

    def canonical(self, scope: Scope, node: ast.AST) -> str | None:
        """The full name of a builtin or of something imported: `heapq.heappush`, whatever it is called here."""
        if isinstance(node, ast.Attribute):
            base = self.canonical(scope, node.value)
            return None if base is None else f"{base}.{node.attr}"
        if not isinstance(node, ast.Name):
            return None
        name = mangled(node.id, scope.class_name)
        owner = scope.owner(name)
        if name in owner.imports and owner.bound[name] == 1:
            return owner.imports[name][0]
        if owner.parent is None and name not in owner.bound and name in _BUILTINS:
            return name
        return None

    def is_standard_module(self, scope: Scope, node: ast.AST) -> bool:
        """Whether an expression is surely a module of the standard library: its attributes are nobody's state."""
        if isinstance(node, ast.Name):
            name = mangled(node.id, scope.class_name)
            owner = scope.owner(name)
            what, is_module = owner.imports.get(name, ("", False))
            return is_module and owner.bound[name] == 1 and what.partition(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.Attribute) and self.is_standard_module(scope, node.value):
            return self.canonical(scope, node) in self.modules
        return False

    # One pass

    def _visit(self, node: ast.AST) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node)
            return
        for field in FIELDS[type(node)]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        self._visit(item)
            elif isinstance(value, ast.AST):
                self._visit(value)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _bind(self, name: str, weight: int = 1, scope: Scope | None = None) -> None:
        if scope is None:
            scope = self._scope
        name = mangled(name, scope.class_name)
        if scope.loops:
            weight = 2
        scope.bound[name] = scope.bound.get(name, 0) + weight
        if name in scope.globals and scope.parent is not None:
            self.shared.add(name)
            self.module.bound[name] = self.module.bound.get(name, 0) + 2

    def _enter(self, node: ast.AST, kind: int, class_name: str | None) -> Scope:
        before, self._scope = self._scope, Scope(kind, self._scope, class_name)
        self.of[node] = self._scope
        return before

    def _leave(self, before: Scope) -> None:
        scope, self._scope = self._scope, before
        scope.receivers = {name for name in scope.receivers if name[0] != "."}

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._scope.uses.add(mangled(node.id, self._scope.class_name))
        else:
            self._bind(node.id)
            if isinstance(node.ctx, ast.Del):
                self._scope.unbound.add(mangled(node.id, self._scope.class_name))

    def _function(self, node: FunctionNode) -> None:
        self._visit_all(node.decorator_list)
        self._bind(node.name)
        self._callable(node, node.body)

    def _lambda(self, node: ast.Lambda) -> None:
        self._callable(node, [node.body])

    def _callable(self, node: FunctionNode | ast.Lambda, body: Iterable[ast.AST]) -> None:
        arguments = node.args
        self._visit_all(arguments.defaults)
        self._visit_all(arguments.kw_defaults)
        before = self._enter(node, FUNCTION, self._scope.class_name)
        for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs, [arguments.vararg, arguments.kwarg]):
            for argument in group:
                if argument is not None:
                    self._bind(argument.arg)
        self._type_parameters(node)
        self._visit_all(body)
        self._leave(before)

    def _class(self, node: ast.ClassDef) -> None:
        self._visit_all(node.decorator_list)
        self._visit_all(node.bases)
        self._visit_all(node.keywords)
        self._bind(node.name)
        before = self._enter(node, CLASS, node.name)
        self._visit_all(node.body)
        self._leave(before)

    def _type_parameters(self, node: ast.AST) -> None:
        for parameter in getattr(node, "type_params", ()):
            self._bind(parameter.name)

    def _type_alias(self, node: ast.AST) -> None:
        self._visit(node.name)  # type: ignore[attr-defined]

    def _comprehension(self, node: ComprehensionNode) -> None:
        self._visit(node.generators[0].iter)
        before = self._enter(node, COMPREHENSION, self._scope.class_name)
        self._scope.loops = 1
        for generator in node.generators:
            if generator is not node.generators[0]:
                self._visit(generator.iter)
            self._visit(generator.target)
            self._visit_all(generator.ifs)
        if isinstance(node, ast.DictComp):
            self._visit(node.key)
            self._visit(node.value)
        else:
            self._visit(node.elt)
        scope = self._scope
        self._leave(before)
        before.receivers |= scope.receivers

    def _walrus(self, node: ast.NamedExpr) -> None:
        self._visit(node.value)
        inside = self._scope.kind == COMPREHENSION
        self._bind(node.target.id, 2 if inside else 1, self._scope.function())

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Attribute):
            self._receive(node.target)  # it is read and assigned to
        if isinstance(node.target, ast.Name):
            self._bind(node.target.id, 2)
        else:
            self._visit(node.target)
        self._visit(node.value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None and isinstance(node.target, ast.Name):
            self._bind(node.target.id, 0)
            return
        self._visit_all([node.value, node.target])

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self._visit(node.iter)
        self._scope.loops += 1
        self._visit(node.test if isinstance(node, ast.While) else node.target)
        self._visit_all(node.body)
        self._scope.loops -= 1
        self._visit_all(node.orelse)

    def _global(self, node: ast.Global) -> None:
        self._scope.globals.update(mangled(name, self._scope.class_name) for name in node.names)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(mangled(name, self._scope.class_name) for name in node.names)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._bind(name)
            what = alias.name if alias.asname else name
            self._scope.imports[mangled(name, self._scope.class_name)] = (what, True)
            self.modules.add(alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                name = alias.asname or alias.name
                self._bind(name)
                what = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                self._scope.imports[mangled(name, self._scope.class_name)] = (what, False)

    def _handler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self._visit(node.type)
        if node.name is not None:
            self._bind(node.name, 2)
            self._scope.unbound.add(mangled(node.name, self._scope.class_name))
        self._visit_all(node.body)

    def _capture(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if isinstance(node, ast.MatchAs) and node.pattern is not None:
            self._visit(node.pattern)
        if node.name is not None:
            self._bind(node.name)

    def _match_mapping(self, node: ast.MatchMapping) -> None:
        self._visit_all(node.patterns)
        if node.rest is not None:
            self._bind(node.rest)

    def _call(self, node: ast.Call) -> None:
        scope = self._scope
        if isinstance(node.func, ast.Name) and len(node.args) < _SHOWS_LOCALS.get(node.func.id, 0):
            scope.shows_locals = scope.function().shows_locals = True
        if isinstance(node.func, ast.Attribute):
            self._receive(node.func)
            self._visit(node.func.value)
        else:
            self._visit(node.func)
        self._visit_all(node.args)
        for keyword in node.keywords:
            self._visit(keyword.value)

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.value, ast.Name) or node.value.id not in OWN:
            self._receive(node)
        self._visit(node.value)

    def _receive(self, node: ast.Attribute) -> None:
        receiver = dotted(node.value)
        if receiver is not None:
            scope = self._scope
            once = f".{receiver}"
            scope.receivers.add(receiver if once in scope.receivers or scope.loops else once)

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> None:
        self._scope.is_generator = True
        if node.value is not None:
            self._visit(node.value)

    # Captured variables

    def _find_captured(self) -> None:
        for scope in self.of.values():
            around = scope.function()
            for name in scope.uses | scope.nonlocals:
                owner = scope.owner(name)
                if owner is not around and owner.kind == FUNCTION:
                    owner.captured.add(name)
                    if name in scope.nonlocals and scope.bound.get(name):
                        owner.rebound.add(name)
        for scope in self.of.values():
            if scope.captured and not scope.shows_locals:
                often = (name for name in scope.captured if name in scope.rebound or scope.bound[name] > 1)
                scope.changing = frozenset(often)


_HANDLERS: dict[type[ast.AST], Callable[[Scopes, ast.AST], None]] = {}
_TABLE: dict[str, tuple[type[ast.AST], ...]] = {
    "_name": (ast.Name,),
    "_function": (ast.FunctionDef, ast.AsyncFunctionDef),
    "_lambda": (ast.Lambda,),
    "_class": (ast.ClassDef,),
    "_comprehension": (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    "_walrus": (ast.NamedExpr,),
    "_augmented": (ast.AugAssign,),
    "_annotated": (ast.AnnAssign,),
    "_loop": (ast.For, ast.AsyncFor, ast.While),
    "_global": (ast.Global,),
    "_nonlocal": (ast.Nonlocal,),
    "_import": (ast.Import,),
    "_import_from": (ast.ImportFrom,),
    "_handler": (ast.ExceptHandler,),
    "_capture": (ast.MatchAs, ast.MatchStar),
    "_match_mapping": (ast.MatchMapping,),
    "_attribute": (ast.Attribute,),
    "_call": (ast.Call,),
    "_yield": (ast.Yield, ast.YieldFrom),
}
for _method, _classes in _TABLE.items():
    for _cls in _classes:
        _HANDLERS[_cls] = getattr(Scopes, _method)
if hasattr(ast, "TypeAlias"):
    _HANDLERS[ast.TypeAlias] = Scopes._type_alias
