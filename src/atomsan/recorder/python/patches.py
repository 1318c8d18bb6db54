"""Patches functions of the standard library in place, and undoes the patches.

Two ways, both without a Python frame of ours: a function is replaced by a `Watched` that passes for it; a coroutine or
generator stays the object it is, and gets code with a `Marker` at the places that count. That code is compiled from the
library's own source, with its own lines, so that tracebacks and `inspect` show what they always do.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Sequence, Set
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from atomsan.recorder.python._sync import Marker, Watched, is_watched, original, set_in_type
from atomsan.source.source_text import decode_source

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef
# Of a type: a class of Python code.
_HEAP_TYPE = 1 << 9
_PLACEHOLDER = b"\0atomsan-marker:"

# Called with the name of a function that could not be watched, and why.
Report = Callable[[str, str], None]


UNKNOWN_FORM = "this Python has another form of it than those that are known"


class Hooked(NamedTuple):
    """A function that is replaced: `hook` is the name that `_sync` has for what it does."""

    module: str
    owner: str
    """The class, or nothing for a function of the module."""
    name: str
    hook: str


class Marked(NamedTuple):
    """A coroutine or generator that gets markers, by a function that changes its syntax tree."""

    module: str
    qualname: str
    change: Callable[[AnyFunction], None]


class Patches:
    """The patches so far, in order. `undo` leaves alone what somebody else has changed after us."""

    def __init__(self) -> None:
        self.unwatched: list[str] = []
        """Functions that could not be watched: this version of the library has another form of them than we know."""
        self.report: Report | None = None
        self._replaced: list[tuple[Any, str, Watched, Any]] = []
        self._marked: list[tuple[FunctionType, CodeType, CodeType]] = []
        self._made: dict[int, Watched] = {}

    def add_unwatched(self, what: str, why: str = UNKNOWN_FORM) -> None:
        if what not in self.unwatched:
            self.unwatched.append(what)
            if self.report is not None:
                self.report(what, why)

    def hook(self, rows: Iterable[Hooked]) -> None:
        for row in rows:
            owner: Any = sys.modules.get(row.module)
            if owner is not None and row.owner:
                owner = getattr(owner, row.owner, None)
            if owner is None:
                self.add_unwatched(f"{row.module}:{row.owner}")
            elif row.name not in vars(owner):
                self.add_unwatched(f"{row.module}:{row.owner}.{row.name}" if row.owner else f"{row.module}:{row.name}")
            else:
                self.replace(owner, row.name, row.hook)

    def replace(self, owner: Any, name: str, hook: str) -> None:
        function = vars(owner)[name]
        if is_watched(function):
            watched, function = function, original(function)
        else:
            # One for each function: `__enter__` can be the same as `acquire`, and stays the same.
            watched = self._made.get(id(function)) or Watched(function, hook)
            self._made[id(function)] = watched
            _set(owner, name, watched)
        self._replaced.append((owner, name, watched, function))

    def mark(self, rows: Sequence[Marked]) -> None:
        for module in dict.fromkeys(row.module for row in rows):
            changes = {row.qualname: row.change for row in rows if row.module == module}
            self._mark_module(sys.modules[module], changes)

    def _mark_module(self, module: ModuleType, changes: dict[str, Callable[[AnyFunction], None]]) -> None:
        codes = _marked_codes(module, changes)
        for qualname in changes:
            function: Any = module
            for part in qualname.split("."):
                function = getattr(function, part, None)
            code = codes.get(qualname)
            if type(function) is not FunctionType or code is None or not _is_alike(function.__code__, code):
                self.add_unwatched(f"{module.__name__}:{qualname}")
                continue
            self._marked.append((function, function.__code__, code))
            function.__code__ = code

    def undo(self) -> None:
        while self._replaced:
            owner, name, watched, function = self._replaced.pop()
            if vars(owner).get(name) is watched:
                _set(owner, name, function)
        while self._marked:
            function, before, ours = self._marked.pop()
            if function.__code__ is ours:
                function.__code__ = before
        self._made.clear()
        self.unwatched.clear()


def _set(owner: Any, name: str, value: Any) -> None:
    """Also of a type in C, which Python leaves alone."""
    if isinstance(owner, type) and not owner.__flags__ & _HEAP_TYPE:
        set_in_type(owner, name, value)
    else:
        setattr(owner, name, value)


def _marked_codes(module: ModuleType, changes: dict[str, Callable[[AnyFunction], None]]) -> dict[str, CodeType]:
    """The code of these functions with markers; those that look different from what we know are left out."""
    try:
        tree = _parsed(_source_of(module), {name.partition(".")[0] for name in changes})
    except (AttributeError, ImportError, OSError, TypeError, SyntaxError):
        return {}
    tree.body = [node for node in tree.body if _keep(node, "", changes)]
    ast.fix_missing_locations(tree)
    found: dict[str, CodeType] = {}
    _collect(compile(tree, module.__file__ or "", "exec", dont_inherit=True), found)
    return {name: _with_markers(found[name]) for name in changes if name in found}


def _source_of(module: ModuleType) -> str:
    # Not by `get_source`: it imports `tokenize`, and the loader of pytest, which may be asked to rewrite the assertions
    # of asyncio too by `-p asyncio`, has none.
    loader: Any = module.__spec__.loader if module.__spec__ is not None else None
    return decode_source(loader.get_data(module.__file__))


def _parsed(source: str, names: Set[str]) -> ast.Module:
    """The classes and functions of these names on their lines, because to parse the others takes ten times as long."""
    lines, is_kept = [], False
    for line in source.split("\n"):
        if line[:1] not in ("", " ", "\t", "#", ")"):
            is_kept = line.startswith("from __future__ ")
            words = line.replace("(", " ").replace(":", " ").split()
            if words[0] in ("class", "def", "async"):
                is_kept = not names.isdisjoint(words[1:3])
            elif words[0].startswith("@"):
                return ast.parse(source)
        lines.append(line if is_kept else "")
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:
        return ast.parse(source)


def _keep(node: ast.stmt, prefix: str, changes: dict[str, Callable[[AnyFunction], None]]) -> bool:
    """Whether the code has to be compiled: the functions we change, and what they stand in. Changes them."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, ast.ClassDef):
        node.body = [inner for inner in node.body if _keep(inner, f"{prefix}{node.name}.", changes)]
        return bool(node.body)
    if isinstance(node, AnyFunction) and prefix + node.name in changes:
        try:
            changes[prefix + node.name](node)
        except LookupError:
            return False
        return True
    return False


def _collect(code: CodeType, found: dict[str, CodeType]) -> None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found[constant.co_qualname] = constant
            _collect(constant, found)


def _with_markers(code: CodeType) -> CodeType:
    constants = [
        Marker(constant[len(_PLACEHOLDER) :].decode())
        if type(constant) is bytes and constant.startswith(_PLACEHOLDER)
        else constant
        for constant in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))


def _is_alike(code: CodeType, other: CodeType) -> bool:
    """Whether one can stand for the other: the source on disk may not be what was loaded.

    Assertions that pytest has rewritten have variables more.
    """
    names = "co_filename", "co_firstlineno", "co_qualname", "co_freevars", "co_flags", "co_argcount"
    variables = [name for name in code.co_varnames if not name.startswith("@py_")]
    return variables == list(other.co_varnames) and all(getattr(code, name) == getattr(other, name) for name in names)


# How syntax trees are changed. A LookupError says that the function is not the one we know.


def marker(name: str, argument: ast.expr) -> ast.Subscript:
    """`M[argument]`. The constant is bytes, because the compiler neither folds nor warns about a subscript of bytes."""
    constant = ast.copy_location(ast.Constant(_PLACEHOLDER + name.encode()), argument)
    return ast.copy_location(ast.Subscript(constant, argument, ast.Load()), argument)


def mark_variable(name: str, variable: str, place: ast.stmt) -> ast.stmt:
    """The statement `M[variable]`, on the line of another statement."""
    argument = ast.copy_location(ast.Name(variable, ast.Load()), place)
    return ast.copy_location(ast.Expr(marker(name, argument)), place)


def start_of(function: AnyFunction) -> int:
    """The place after the docstring."""
    return 1 if ast.get_docstring(function) is not None else 0


def mark_exception(body: list[ast.stmt], name: str, variable: str, otherwise: Sequence[ast.stmt] = ()) -> ast.Try:
    """The statements, and `M[variable]` if an exception comes out of them."""
    place = body[0]
    again = ast.copy_location(ast.Raise(exc=None, cause=None), place)
    handler = ast.ExceptHandler(type=None, name=None, body=[mark_variable(name, variable, place), again])
    ast.copy_location(handler, place)
    return ast.copy_location(ast.Try(body=body, handlers=[handler], orelse=list(otherwise), finalbody=[]), place)


def mark_end(body: list[ast.stmt], name: str) -> ast.Try:
    """The statements, and `M[self]` however they end."""
    marked = mark_variable(name, "self", body[-1])
    return ast.copy_location(ast.Try(body=body, handlers=[], orelse=[], finalbody=[marked]), body[0])


class BeforeReturns(ast.NodeTransformer):
    """Puts `M[variable]` before every return of the function, not of those inside it."""

    def __init__(self, name: str, variable: str = "self") -> None:
        self.name = name
        self.variable = variable
        self.count = 0

    def change(self, inside: AnyFunction | ast.With) -> None:
        inside.body = [changed for node in inside.body for changed in self._changed(node)]
        if not self.count:
            raise LookupError(self.name)

    def _changed(self, node: ast.stmt) -> list[ast.stmt]:
        result = self.visit(node)
        return result if isinstance(result, list) else [result]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        self.count += 1
        return [mark_variable(self.name, self.variable, node), node]

    def visit(self, node: ast.AST) -> Any:
        has_returns_of_its_own = isinstance(node, AnyFunction | ast.Lambda | ast.ClassDef)
        return node if has_returns_of_its_own else super().visit(node)


def before_returns(name: str, variable: str = "self") -> Callable[[AnyFunction], None]:
    def change(function: AnyFunction) -> None:
        BeforeReturns(name, variable).change(function)

    return change


def before_statements(**starts: str) -> Callable[[AnyFunction], None]:
    """Puts `M[self]` before every statement that starts so. By the name of the marker; each must be there."""

    def change(function: AnyFunction) -> None:
        missing = set(starts)
        for node in [*ast.walk(function)]:
            body: list[ast.stmt] = getattr(node, "body", [])
            for statement in [*body]:
                for name, start in starts.items():
                    if not hasattr(statement, "body") and ast.unparse(statement).startswith(start):
                        body.insert(body.index(statement), mark_variable(name, "self", statement))
                        missing.discard(name)
        if missing:
            raise LookupError(function.name)

    return change


class EndsEarly(ast.NodeTransformer):
    """Puts `M[variable]` where an exception comes out of a statement: a wait that was cancelled. Another otherwise."""

    def __init__(self, name: str, variable: str, statement: str, otherwise: str | None) -> None:
        self.name = name
        self.otherwise = otherwise
        self.variable = variable
        self.statement = statement
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.Expr | ast.Return) or ast.unparse(node) != self.statement:
            return self.generic_visit(node)
        self.count += 1
        otherwise = [] if self.otherwise is None else [mark_variable(self.otherwise, self.variable, node)]
        return mark_exception([node], self.name, self.variable, otherwise)


def ends_early(name: str, variable: str, statement: str, otherwise: str | None = None) -> Callable[[AnyFunction], None]:
    def change(function: AnyFunction) -> None:
        changer = EndsEarly(name, variable, statement, otherwise)
        changer.generic_visit(function)
        if not changer.count:
            raise LookupError(function.name)

    return change


class AfterImport:
    """Calls `then` when a module has been imported, without importing it: a program that has no use for asyncio should
    not wait for it. The module and its spec have their own loader by then."""

    def __init__(self, names: Iterable[str], then: Callable[[str], None]) -> None:
        self._names = set(names)
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        self._names.discard(fullname)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if finder is not self and find else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _ThenCall(spec, spec.loader, self._then)  # type: ignore[assignment]
                return spec
        return None


class _ThenCall:
    def __init__(self, spec: ModuleSpec, loader: Any, then: Callable[[str], None]) -> None:
        self._spec = spec
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then(self._spec.name)  # a module can have another name by now

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
