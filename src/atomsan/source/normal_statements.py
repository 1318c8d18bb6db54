"""Source of statements in a normal form: the same for every formatting, with the header alone of a compound one."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import Any

from atomsan.source.compiler_warnings import CompilerWarnings
from atomsan.source.traversal import walk

_TRIES = 5
_LONGEST = 200

_Place = tuple[int, int]


class NormalStatements:
    """The statements of a module, parsed when the first one is asked for."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._starts: list[_Place] | None = None
        self._statements: list[tuple[_Place, Any, int]] = []
        """By start: where it ends, the statement, and the place in this list of the one around it, or -1."""
        self._known: dict[int, str] = {}

    def at(self, line: int, column: int) -> str | None:
        """The innermost statement around a line and column; None if there is none, or the source cannot be read."""
        if self._starts is None:
            self._starts = self._parse()
        number = bisect_right(self._starts, (line, column)) - 1
        while number >= 0 and self._statements[number][0] < (line, column):
            number = self._statements[number][2]
        if number < 0:
            return None
        if number not in self._known:
            self._known[number] = _normal(self._statements[number][1])
        return self._known[number]

    def _parse(self) -> list[_Place]:
        tree = self._tree()
        if tree is None:
            return []
        found = [
            (_start(node), (node.end_lineno or 0, node.end_col_offset or 0), node)
            for node in walk(tree)
            if isinstance(node, ast.stmt | ast.ExceptHandler)
        ]
        # the outer of two that start at one place comes first
        found.sort(key=lambda one: (one[0], (-one[1][0], -one[1][1])))
        around: list[int] = []
        for number, (start, end, node) in enumerate(found):
            while around and self._statements[around[-1]][0] <= start:
                around.pop()
            self._statements.append((end, node, around[-1] if around else -1))
            around.append(number)
        return [start for start, _, _ in found]

    def _tree(self) -> ast.Module | None:
        for _ in range(_TRIES):
            try:
                # Python has warned when it compiled the program
                with CompilerWarnings(are_hidden=True):
                    return ast.parse(self._source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
            except SystemError:
                # Python 3.11 counts the depth of all threads that parse at a time together
                continue
        return None


def _start(node: ast.stmt | ast.ExceptHandler) -> _Place:
    decorators = getattr(node, "decorator_list", None)
    first = decorators[0] if decorators else node
    return first.lineno, first.col_offset


def _normal(node: ast.stmt | ast.ExceptHandler) -> str:
    make: Any = type(node)
    header = make()
    for field, value in ast.iter_fields(node):
        is_block = isinstance(value, list) and field in ("body", "orelse", "handlers", "finalbody", "cases")
        setattr(header, field, [] if is_block else value)
    header.lineno = node.lineno
    try:
        text = ast.unparse(header)
    except (RecursionError, ValueError):
        return ""
    return text[:_LONGEST]
