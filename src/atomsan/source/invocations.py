"""Names that each call site invokes: `update` where the source has `self.update()`.

The recorder needs them for calls through a library. If the call site invokes the name of the function that is entered,
it is an ordinary call, through a decorator or descriptor of the library; if not, the library calls it back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from types import CodeType

from atomsan.source.source_text import decode_source

# Lines and columns as `co_positions` gives them: first line, last line, first column, last column.
Position = tuple[int | None, int | None, int | None, int | None]

# A backslash and what it escapes, in a string. (At the end of a line it is something else.)
_ESCAPE = re.compile(r"\\N\{[^{}\r\n]*\}|\\([^\r\n])")

_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Invocations:
    """The invoked names by position, for the source of a module. Raises what `compile` raises."""

    def __init__(self, source: bytes | str) -> None:
        text = source if isinstance(source, str) else decode_source(source)
        # Python has warned about strange escapes when it compiled the program, and is not to do so again for us.
        tree = ast.parse(_ESCAPE.sub(_without_backslash, text))
        self._names: dict[Position, set[str]] = {}
        self._calls: dict[tuple[int | None, int | None], set[str]] = {}
        for node in ast.walk(tree):
            for at, names in _invocations(node):
                self._names.setdefault(_position(at), set()).update(names)
                if isinstance(at, ast.Call):
                    self._calls.setdefault((at.end_lineno, at.end_col_offset), set()).update(names)

    def at(self, position: Position) -> set[str]:
        """The names invoked by the code at this position; empty if they are not known."""
        found = self._names.get(position)
        if found is None:
            # A call of a method in a later line than its object has the position of the method's name.
            found = self._calls.get((position[1], position[3]), set())
        return found


def position_of(code: CodeType, instruction: int) -> Position:
    """The source position of the instruction at this offset of the bytecode."""
    return next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))


def is_invoked_by(called: CodeType, names: set[str]) -> bool:
    """Whether one of these names invokes the function of this code, or it is one that nobody invokes by its name.

    Special methods are how objects are used, by a library as by anybody: `self.get(key)` of a `MutableMapping` is a way
    to `__getitem__`, and `Account()` to `__init__`. But `__call__` is as good as a function.
    """
    name = called.co_name
    is_special = name.startswith("__") and name.endswith("__") and name != "__call__"
    return is_special or name in names


def _invocations(node: ast.AST) -> Iterator[tuple[ast.AST, set[str]]]:
    """The nodes whose positions the code of this node has, each with the names it invokes."""
    names = _names(node)
    if names:
        yield node, names
    if isinstance(node, ast.With | ast.AsyncWith):
        # to enter has the position of the expression, to exit that of the expression or of the statement
        for item in node.items:
            yield item.context_expr, _names(item.context_expr)
            yield node, _names(item.context_expr)
    elif isinstance(node, _LOOPS):
        for at in (node, node.iter):  # which, depends on the version
            yield at, _names(node.iter)
    elif isinstance(node, _COMPREHENSIONS):
        for one in node.generators:
            yield node, _names(one.iter)
    elif isinstance(node, ast.Attribute):
        # the probe before the access looks a cached property up, and has the position of the object
        yield node.value, {node.attr}


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name):
            return {function.id, "__call__"}
        return {function.attr, "__call__"} if isinstance(function, ast.Attribute) else {"__call__"}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Await | ast.YieldFrom):
        return _names(node.value)
    return {"<module>"} if isinstance(node, ast.Import | ast.ImportFrom) else set()


def _without_backslash(escape: re.Match[str]) -> str:
    """As many bytes. Braces stay: in an f-string they are not escaped by a backslash."""
    escaped = escape[1] or "N"
    return f"_{escaped}" if escaped in "{}" or not escaped.isascii() else "_" * len(escape[0])


def _position(node: ast.AST) -> Position:
    places = (getattr(node, name, None) for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))
    first, last, column, end = places
    return first, last, column, end
