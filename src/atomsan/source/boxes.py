"""Boxes: local variables with a container or plain object made in the function, of which only single parts are used.

    kept = types.SimpleNamespace(value=self.total)
    if kept.value > 4:                                  the same as `if self.total > 4`, with what was read before

Which expression a part was given by is known then, because nothing else can have changed it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping

from atomsan.source.traversal import children, walk

Parts = dict[str, ast.expr | None]
"""By part of a box (`.value`, `[0]`, `['key']`): the expression it was given by; None if there are several."""
Canonical = Callable[[ast.AST], str | None]

_Parent = ast.AST | None
_HOOKS = frozenset({"__new__", "__setattr__", "__getattr__", "__getattribute__", "__post_init__"})


class Boxes:
    """The boxes of one function."""

    def __init__(
        self, body: Iterable[ast.AST], is_bound_once: Callable[[str], bool], made: Callable[[ast.expr], Parts | None]
    ) -> None:
        self._parts: dict[str, Parts] = {}
        self._makers: dict[str, ast.expr] = {}
        nodes = [node for part in body for node in walk(part)]
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                parts = made(node.value) if is_bound_once(name) else None
                if parts is not None:
                    self._parts[name], self._makers[name] = parts, node.value
        if self._parts:
            self._visit(nodes)
        self.makers = {self._makers[name] for name in self._parts}
        """The expressions that make them."""

    def part(self, node: ast.expr) -> ast.expr | None:
        """The expression that a part of a box was given by."""
        name, part = _part(node)
        return self._parts.get(name, {}).get(part)

    def has(self, node: ast.expr) -> bool:
        """Whether an expression is a part of a box."""
        return _part(node)[0] in self._parts

    def _visit(self, nodes: list[ast.AST]) -> None:
        parents = {child: node for node in nodes for child in children(node)}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in self._parts and isinstance(node.ctx, ast.Load):
                around = parents.get(node)
                if not self._is_part_used(node, around, parents):
                    del self._parts[node.id]

    def _is_part_used(self, name: ast.Name, around: _Parent, parents: Mapping[ast.AST, ast.AST]) -> bool:
        if not isinstance(around, ast.Attribute | ast.Subscript) or around.value is not name:
            return False
        parent = parents.get(around)
        parts, (_, part) = self._parts[name.id], _part(around)
        if isinstance(around.ctx, ast.Load):
            return self._is_appended(around, parent, parts) if part in _METHODS else bool(part)
        if not part or not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        _give(parts, part, parent.value)
        return True

    def _is_appended(self, method: ast.Attribute | ast.Subscript, call: _Parent, parts: Parts) -> bool:
        """Whether it is the one element of a list that is appended there."""
        if not isinstance(call, ast.Call) or call.func is not method or len(call.args) != 1 or call.keywords:
            return False
        if _part(method)[1] != ".append" or isinstance(call.args[0], ast.Starred):
            return False
        _give(parts, "[0]", call.args[0])
        _give(parts, "[-1]", call.args[0])
        return True


_METHODS = frozenset(f".{name}" for kind in (list, dict, set, tuple) for name in dir(kind))


def _give(parts: Parts, part: str, value: ast.expr) -> None:
    parts[part] = None if part in parts else value


def _part(node: ast.expr) -> tuple[str, str]:
    """The variable and the part of it, if an expression is so simple."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id, f".{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        key = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, int | str):
            return node.value.id, f"[{ast.unparse(node.slice)}]"
    return "", ""


def made_parts(node: ast.expr, canonical: Canonical, classes: Mapping[str, ast.ClassDef]) -> Parts | None:
    """The parts of a container or plain object that an expression makes. None: it is not known to make one."""
    if isinstance(node, ast.List | ast.Tuple):
        if any(isinstance(part, ast.Starred) for part in node.elts):
            return None
        count = len(node.elts)
        return {f"[{place}]": part for i, part in enumerate(node.elts) for place in (i, i - count)}
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        is_known = all(isinstance(key, str | int) for key in keys) and len({*keys}) == len(keys)
        return {f"[{key!r}]": part for key, part in zip(keys, node.values, strict=True)} if is_known else None
    return _parts_of_call(node, canonical, classes) if isinstance(node, ast.Call) else None


def _parts_of_call(node: ast.Call, canonical: Canonical, classes: Mapping[str, ast.ClassDef]) -> Parts | None:
    name = canonical(node.func)
    words = {keyword.arg: keyword.value for keyword in node.keywords}
    if None in words or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    if name in ("types.SimpleNamespace", "dict", "list") and not node.args:
        return {f".{word}" if name == "types.SimpleNamespace" else f"[{word!r}]": words[word] for word in words}
    if not isinstance(node.func, ast.Name) or node.func.id not in classes:
        return None
    fields = fields_of(classes[node.func.id], canonical)
    if fields is None or len(node.args) > len(fields) or not {*words} <= {*fields}:
        return None
    given = dict(zip(fields, node.args, strict=False)) | words
    return {f".{fields[word]}": part for word, part in given.items() if word is not None}


def fields_of(node: ast.ClassDef, canonical: Canonical) -> dict[str, str] | None:
    """The attributes that a class gives its objects, by parameter in order. None: it may do more than that."""
    methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    others = [part for part in node.body if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Pass)]
    makers = [canonical(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    if node.bases or node.keywords or _HOOKS & methods.keys() or any(one != "dataclasses.dataclass" for one in makers):
        return None
    if makers:
        names = [_field(part) for part in others]
        is_plain = "__init__" not in methods and None not in names
        fields = {name: name for name in names if name} if is_plain else None
    elif others:
        fields = None
    else:
        fields = _given_fields(methods["__init__"]) if "__init__" in methods else {}
    return None if fields is None or methods.keys() & {*fields.values()} else fields


def _field(node: ast.stmt) -> str | None:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return None
    is_plain = node.value is None or isinstance(node.value, ast.Constant)
    return node.target.id if is_plain and "Var" not in ast.unparse(node.annotation) else None


def _given_fields(init: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str] | None:
    """The attributes, if all that `__init__` does is to store its parameters."""
    me, *parameters = [argument.arg for argument in (*init.args.posonlyargs, *init.args.args)] or [""]
    stored: dict[str, str] = {}
    for node in init.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Name):
            return None
        name, part = _part(node.targets[0])
        if name != me or not part.startswith(".") or node.value.id in stored:
            return None
        stored[node.value.id] = part[1:]
    more = init.args.vararg or init.args.kwarg or init.args.kwonlyargs or init.decorator_list
    return None if more or {*stored} != {*parameters} else {name: stored[name] for name in parameters}


def raised_parts(node: ast.expr | None, canonical: Canonical, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    """Which parts of the exception that an expression makes are its one argument. None: it may make more of it."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
        return []
    fields = _exception_fields(node.func, canonical, classes)
    return [] if fields is None else [".args[0]", *(f".{field}" for field in fields.values())]


def _exception_fields(
    node: ast.expr, canonical: Canonical, classes: Mapping[str, ast.ClassDef], depth: int = 8
) -> dict[str, str] | None:
    """The attributes that a class of exceptions gives its objects, besides `args`."""
    known = getattr(builtins, canonical(node) or "", None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return {}
    found = classes.get(node.id) if isinstance(node, ast.Name) else None
    if found is None or len(found.bases) != 1 or found.keywords or found.decorator_list or not depth:
        return None
    methods = {part.name: part for part in found.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    is_plain = all(isinstance(part, ast.FunctionDef | ast.Pass) or _is_text(part) for part in found.body)
    above = _exception_fields(found.bases[0], canonical, classes, depth - 1)
    if not is_plain or above is None or (_HOOKS | {"args", *above.values()}) & methods.keys():
        return None
    fields = _given_fields(methods["__init__"]) if "__init__" in methods else above
    return None if fields is None or {"args", *methods} & {*fields.values()} else fields


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def path(node: ast.AST) -> tuple[str, str]:
    """The variable and the path of an expression: `error` and `.args[0]`."""
    found = ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        found = (f".{node.attr}" if isinstance(node, ast.Attribute) else f"[{ast.unparse(node.slice)}]") + found
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), found
