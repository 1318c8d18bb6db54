"""Source positions of inserted nodes, such that tracing, coverage and tracebacks see no new line.

The compiler gives each instruction the position of its node, and a line is new to a tracer when it differs from that
of the instruction before. So what is put before an expression has the position of the first instruction of it, and
what is put behind it that of the last. For what stands on one line this is the position of the node.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from atomsan.source.traversal import walk

_Positioned = ast.expr | ast.stmt
_Node = TypeVar("_Node", bound=_Positioned)

# The part of a node that is evaluated first.
_FIRST: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Attribute, ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr, ast.FormattedValue), "value"),
    **dict.fromkeys((ast.Expr, ast.Assign, ast.Return, ast.AnnAssign, ast.Yield, ast.YieldFrom), "value"),
    **dict.fromkeys((ast.BinOp, ast.Compare), "left"),
    **dict.fromkeys((ast.IfExp, ast.If, ast.Assert), "test"),
    **dict.fromkeys((ast.For, ast.AsyncFor), "iter"),
    **dict.fromkeys((ast.BoolOp, ast.JoinedStr), "values"),
    **dict.fromkeys((ast.With, ast.AsyncWith), "items"),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), "decorator_list"),
    **dict.fromkeys((ast.Tuple, ast.List, ast.Set), "elts"),
    ast.Call: "func",
    ast.UnaryOp: "operand",
    ast.AugAssign: "target",
    ast.Delete: "targets",
    ast.Raise: "exc",
    ast.Match: "subject",
}
# These can be on one line and begin on another: the decorators of a definition, and what was rewritten already.
_BEGIN_ELSEWHERE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Subscript, ast.Call)


def first(node: _Positioned) -> _Positioned:
    """The node whose position the first instruction of this one has."""
    while node.lineno != node.end_lineno or isinstance(node, _BEGIN_ELSEWHERE):
        part = getattr(node, _FIRST.get(type(node), ""), None)
        if isinstance(node, ast.Dict):
            part = node.values if len(node.keys) > 1 and all(map(_is_constant, node.keys)) else node.keys
        elif isinstance(node, ast.List | ast.Set | ast.Tuple) and _is_made_first(node):
            part = None
        if isinstance(part, list):
            part = part[0] if part else None
        if isinstance(part, ast.withitem):
            part = part.context_expr
        if part is None or part.lineno < 0:
            break
        node = part
    return node


def _is_made_first(node: ast.List | ast.Set | ast.Tuple) -> bool:
    """Whether a display is filled after it was made: with constants, with what is unpacked, or with very much."""
    if isinstance(node.elts[0] if node.elts else None, ast.Starred) or len(node.elts) > 30:
        return True
    return all(map(_is_constant, node.elts)) and (isinstance(node, ast.Tuple) or len(node.elts) > 2)


def _is_constant(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Tuple) and all(map(_is_constant, node.elts)))


def copy(to: _Node, source: _Positioned) -> _Node:
    """Gives a node the position of another."""
    to.lineno = source.lineno
    to.col_offset = source.col_offset
    to.end_lineno = source.end_lineno
    to.end_col_offset = source.end_col_offset
    return to


def behind(to: _Node, source: ast.expr) -> _Node:
    """Gives a node the position of the last instruction of an expression."""
    copy(to, source)
    if source.lineno != source.end_lineno:
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
            _at_attribute(to, source.func)
        elif isinstance(source, ast.Attribute):
            _at_attribute(to, source)
        elif isinstance(source, ast.BoolOp):
            behind(to, source.values[-1])
    return to


def call_at(to: ast.expr, function: ast.expr) -> None:
    """Gives a call that was one of a method the position that the call of a method has."""
    if isinstance(function, ast.Attribute) and function.lineno != function.end_lineno:
        _at_attribute(to, function)


def nowhere(to: _Node) -> _Node:
    """Takes a node and all in it out of the source: the compiler gives it the line of the instruction before."""
    for node in walk(to):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.col_offset = node.end_lineno = node.end_col_offset = -1
    return to


def _at_attribute(to: ast.expr | ast.stmt, attribute: ast.Attribute) -> None:
    # as the compiler does for an attribute that is not on the line where its expression begins
    assert attribute.end_lineno is not None
    assert attribute.end_col_offset is not None
    to.lineno = attribute.end_lineno
    to.col_offset = max(attribute.end_col_offset - len(attribute.attr), 0)
    to.end_col_offset = attribute.end_col_offset
