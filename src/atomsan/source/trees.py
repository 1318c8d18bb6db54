"""Going through syntax trees, at a time when the program's imports are under way."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, which imports `collections` each time: that can be the module which is being imported."""
    waiting = [node]
    for found in waiting:
        waiting.extend(ast.iter_child_nodes(found))
        yield found
