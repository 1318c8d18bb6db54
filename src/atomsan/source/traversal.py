"""Traversal of syntax trees, without imports of its own: it runs while the program's imports are under way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

# By class of node, the fields that can hold nodes with names in them. Annotations and whatever else the instrumenter
# leaves alone are not among them: they are evaluated elsewhere, or never.
_IGNORED = {"ctx", "op", "ops", "annotation", "returns", "type_params", "type_comment", "kind", "type_ignores"}
_TEXTS = {"id", "attr", "names", "module", "level", "is_async", "conversion", "simple", "lineno", "asname", "tag"}
FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    cls: tuple(field for field in cls._fields if field not in _IGNORED and field not in _TEXTS)
    for cls in vars(ast).values()
    if isinstance(cls, type) and issubclass(cls, ast.AST)
}
FIELDS[ast.Constant] = ()


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The child nodes that can hold names, nearly always in the order of the source."""
    for field in FIELDS[type(node)]:
        value = getattr(node, field, None)
        if value.__class__ is list:
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
        elif isinstance(value, ast.AST):
            yield value


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, which imports `collections` each time: that can be the module which is being imported."""
    waiting = [node]
    for found in waiting:
        waiting.extend(ast.iter_child_nodes(found))
        yield found
