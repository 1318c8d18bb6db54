"""Kept decisions: recognizes that what others did after a look cannot change what the look has decided.

    if self.items:                  the look
                                    others: self.items.append(job)
        job = self.items.pop()      it is still true that there are items

The look might as well have come after the others' write, so the order of the two does not matter.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from atomsan.findings.flow_graph import Node

# Operations that only add elements, and those that only remove some. An assignment to a slice does either.
_GROWING = frozenset({"append", "appendleft", "extend", "extendleft", "insert", "add", "setdefault", "__iadd__"})
_SHRINKING = frozenset({"pop", "popleft", "popitem", "remove", "discard", "clear", "__delitem__"})
_HOLE = "value"

Part = Literal["structure", "value of a mapping", "other"]

_Compare = Callable[[Any, Any], bool]
_COMPARISONS: Mapping[type[ast.cmpop], _Compare] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def is_kept(shape: str, look: Node, write: Node, operation: str | None, part: Part) -> bool:
    """Whether a condition on what was read still holds after a write to the same location, as it did before.

    `shape` is the condition (`? > 0`), `operation` that of the write. Of the structure of a container, a look sees how
    many elements there are.
    """
    condition = _parsed(shape)
    if condition is None:
        return False
    looked = look.facts.get("op")
    if looked == "__contains__" and operation == "__setitem__":
        # a list is looked through for a value, which others may replace
        return part == "value of a mapping" and _is_upward(condition)
    if part == "structure" or looked == "__contains__":
        is_size = part == "structure" and looked in (None, "len", "__len__", "__bool__")
        return (is_size or looked == "__contains__") and _is_kept_by_size(condition, operation or "")
    if looked not in (None, "get", "__getitem__"):
        return False
    if write.facts.get("value") == "literal":
        return _holds(condition, str(write.facts.get("literal", "")))
    return _is_kept_by_sum(condition, write)


def holds(shape: str, literal: str) -> bool:
    """Whether a condition holds of a literal."""
    condition = _parsed(shape)
    return condition is not None and _holds(condition, literal)


def equal_to(shape: str) -> str | None:
    """The literal that a condition wants a value to be equal to, as it is written down."""
    condition = _parsed(shape)
    is_equality = isinstance(condition, ast.Compare) and isinstance(condition.ops[0], ast.Eq | ast.Is)
    return ast.unparse(condition.comparators[0]) if is_equality and isinstance(condition, ast.Compare) else None


def _parsed(shape: str) -> ast.expr | None:
    """A condition on one value: itself, not itself, or one comparison with a literal."""
    try:
        found = ast.parse(shape.replace("?", _HOLE), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    value = found.operand if isinstance(found, ast.UnaryOp) and isinstance(found.op, ast.Not) else found
    if isinstance(value, ast.Compare) and value is found:
        is_one = len(value.ops) == 1 and type(value.ops[0]) in _COMPARISONS and _is_literal(value.comparators[0])
        value = value.left if is_one else value
    return found if isinstance(value, ast.Name) and value.id == _HOLE else None


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def _is_kept_by_size(condition: ast.expr, operation: str) -> bool:
    """Of a number of elements, or of whether one element is there."""
    if operation in _GROWING:
        return _is_upward(condition)
    return operation in _SHRINKING and _is_downward(condition)


def _is_kept_by_sum(condition: ast.expr, write: Node) -> bool:
    """Of a number that is changed by a literal."""
    sign = {"+": 1, "-": -1}.get(str(write.facts.get("operator")))
    if sign is None or write.facts.get("operand") != "number" or "literal" not in write.facts:
        return False
    try:
        added = sign * ast.literal_eval(str(write.facts["literal"]))
    except (ValueError, SyntaxError, TypeError):
        return False
    if isinstance(added, complex) or not isinstance(condition, ast.Compare):
        return False
    return _is_upward(condition) if added >= 0 else _is_downward(condition)


def _is_upward(condition: ast.expr) -> bool:
    """Whether it holds of every larger number, too, if it holds of one."""
    if isinstance(condition, ast.Compare):
        return isinstance(condition.ops[0], ast.Gt | ast.GtE) and _is_number(condition.comparators[0])
    return isinstance(condition, ast.Name)


def _is_downward(condition: ast.expr) -> bool:
    if isinstance(condition, ast.Compare):
        return isinstance(condition.ops[0], ast.Lt | ast.LtE) and _is_number(condition.comparators[0])
    return isinstance(condition, ast.UnaryOp)


def _is_number(node: ast.expr) -> bool:
    value = ast.literal_eval(node)
    return isinstance(value, int | float)


def _holds(condition: ast.expr, literal: str) -> bool:
    """Whether it holds of a literal that is written."""
    try:
        value = ast.literal_eval(literal)
        if isinstance(condition, ast.Compare):
            other = ast.literal_eval(condition.comparators[0])
            if isinstance(condition.ops[0], ast.Is | ast.IsNot) and not isinstance(other, bool | None):
                return False  # which objects are the same is up to the interpreter
            return bool(_COMPARISONS[type(condition.ops[0])](value, other))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False
    return not value if isinstance(condition, ast.UnaryOp) else bool(value)
