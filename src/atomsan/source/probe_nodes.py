"""Syntax-tree nodes of probes, in the forms that `plan.py` lists.

A probe is a constant, and a subscript of it is the cheapest thing that the interpreter does with two objects and that
no other thread can come between. Two things the compiler does to subscripts of constants must not happen: to fold them
(`b"..."[5]` is a byte), and to warn about an index whose type it knows and that is no number.
"""

from __future__ import annotations

import ast
from typing import Any

from atomsan.source import positions
from atomsan.source.plan import placeholder
from atomsan.source.traversal import children

Node = ast.expr | ast.stmt

LOAD, STORE, DELETE = ast.Load(), ast.Store(), ast.Del()

# New each time they are evaluated, or constant: nothing in them is shared. The compiler also warns about some
# operations on these, and would no longer if they stood in a probe.
FRESH = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.Lambda, ast.JoinedStr, ast.FormattedValue, ast.Compare),
)
# The compiler knows or infers the type of these.
_TYPED: set[type[ast.AST]] = {*FRESH, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Subscript}
if hasattr(ast, "TemplateStr"):
    _TYPED.add(ast.TemplateStr)
# The compiler folds these if all parts of them are constants.
_FOLDED = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Compare)


def tap(probe: int, value: ast.expr, at: ast.expr | None = None) -> ast.expr:
    """`P[value]`. `at` is the node whose position the value has, if not its own."""
    at = value if at is None else at
    constant = _constant(probe, at)
    if type(value) not in _TYPED:
        return positions.behind(ast.Subscript(constant, value, LOAD), at)
    if may_be_number(value):
        nothing = positions.copy(ast.Constant(None), constant)
        return second_of(positions.copy(ast.Subscript(_opaque(constant), nothing, LOAD), constant), value)
    return positions.behind(ast.Subscript(_opaque(constant), value, LOAD), at)


def tap_for_store(probe: int, value: ast.expr, at: ast.Attribute) -> ast.Subscript:
    """`P[value]` as a target, in the place of an attribute of the value."""
    constant: ast.expr = _constant(probe, value)
    if type(value) in _TYPED:
        constant = _opaque(constant)
    return positions.behind(ast.Subscript(constant, value, STORE), at)


def tap_pair(probe: int, one: ast.expr, other: ast.expr, at: ast.expr, ctx: ast.expr_context = LOAD) -> ast.Subscript:
    """`P[one, other]`, which does what `at` did."""
    pair = positions.copy(ast.Tuple([one, other], LOAD), at)
    return positions.copy(ast.Subscript(_opaque(_constant(probe, at)), pair, ctx), at)


def mark(probe: int, at: Node, argument: ast.expr | None = None) -> ast.Expr:
    """`P[argument]` as a statement, by default `P[None]`."""
    constant = _opaque(positions.copy(ast.Constant(placeholder(probe)), at))
    given = positions.copy(ast.Constant(None), at) if argument is None else argument
    return positions.copy(ast.Expr(positions.copy(ast.Subscript(constant, given, LOAD), at)), at)


def call(constant: bytes, arguments: list[ast.expr], keywords: list[ast.keyword], at: Node) -> ast.Call:
    """`P(arguments)`."""
    first = positions.first(arguments[0])
    function = _opaque(positions.copy(ast.Constant(constant), first))
    return positions.copy(ast.Call(function, arguments, keywords), at)


def around(begin: int, receiver: str | None, body: list[ast.stmt], end: int, at: Node) -> list[ast.stmt]:
    """`del B[receiver]; try: body finally: del E[None]`, where the end is on no line of the source.

    The compiler has no warnings about what is deleted, and makes one block of it: one block without lines is what it
    copies to each way out of a function.
    """
    about = ast.Constant(None) if receiver is None else ast.Name(receiver, LOAD)
    key, constant = positions.copy(about, at), positions.copy(ast.Constant(placeholder(begin)), at)
    first = positions.copy(ast.Delete([positions.copy(ast.Subscript(constant, key, DELETE), at)]), at)
    last = ast.Delete([ast.Subscript(ast.Constant(placeholder(end)), ast.Constant(None), DELETE)])
    return [first, positions.copy(ast.Try(body, [], [], [positions.nowhere(last)]), at)]


def unless_at_once(probe: int, value: ast.expr | None, node: ast.AugAssign, at: ast.Attribute) -> list[ast.stmt]:
    """`if obj not in P: node`, or with a value `if not P(obj, value): node`; `at` is the target as it was.

    And a `pass`, which is where the statement ends and gives its line to what has none: the jump at the end of a loop,
    or the return at the end of a function, which could be at the end of another branch otherwise.
    """
    assert isinstance(at.value, ast.Name)
    obj = positions.copy(ast.Name(at.value.id, LOAD), at.value)
    test: ast.expr
    if value is None:
        test = ast.Compare(obj, [ast.NotIn()], [positions.copy(ast.Constant(placeholder(probe)), at)])
    else:
        test = ast.UnaryOp(ast.Not(), call(placeholder(probe), [obj, value], [], at))
    decide = ast.If(positions.copy(test, at), [node], [])
    return [positions.copy(decide, node), positions.copy(ast.Pass(), at)]


def second_of(one: ast.expr, other: ast.expr) -> ast.expr:
    """`(one, other)[1]`."""
    both = positions.behind(ast.Tuple([one, other], LOAD), other)
    index = positions.behind(ast.Constant(1), other)
    return positions.behind(ast.Subscript(both, index, LOAD), other)


def one_line(node: ast.stmt) -> ast.stmt:
    """A node with the position of a definition's first line; the definition itself ends where its body does."""
    place = positions.copy(ast.Pass(), node)
    place.end_lineno, place.end_col_offset = place.lineno, place.col_offset
    return place


def may_be_number(node: ast.AST) -> bool:
    """Whether the compiler may fold an expression to a number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, _FOLDED) and all(_is_constant(part) for part in children(node))


def _is_constant(node: Any) -> bool:
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, (*_FOLDED, ast.Tuple, ast.Slice)) and all(_is_constant(part) for part in children(node))


def _constant(probe: int, at: ast.expr) -> ast.Constant:
    """The placeholder, to be loaded before what stands at `at` is evaluated."""
    before = at if at.lineno == at.end_lineno else positions.first(at)
    return positions.copy(ast.Constant(placeholder(probe)), before)


def _opaque(constant: ast.expr) -> ast.expr:
    """The same constant, as an expression whose type the compiler does not infer. It compiles to the constant."""
    true = positions.copy(ast.Constant(True), constant)
    return positions.copy(ast.IfExp(true, constant, constant), constant)
