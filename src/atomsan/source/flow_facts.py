"""Facts of the nodes of flow summaries: what a store stores, and conditions in a normal form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from atomsan.source.effects import CALLS, EFFECTS, MAKERS
from atomsan.source.traversal import children

Resolve = Callable[[ast.expr], ast.expr | str | None]
"""Of a local variable: the one expression that it is bound to, a name that no renaming changes, or None."""

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.Invert: "~",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Not: "not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_COMMUTATIVE = (ast.Add, ast.Mult, ast.BitOr, ast.BitXor, ast.BitAnd)
_OPPOSITE = {"==": "!=", "is": "is not", "in": "not in", "<": ">=", ">": "<="}
_OPPOSITE |= {after: before for before, after in _OPPOSITE.items()}
_MIRRORED = {"==": "==", "!=": "!=", "is": "is", "is not": "is not", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

# Called without arguments they give an empty value.
_EMPTY = MAKERS | {"tuple", "frozenset", "str", "bytes", "int", "float", "bool"}

_VALUES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Await)
_LONGEST_LITERAL = 40
_LONGEST_FORM = 160


def _names_of(test: Callable[[str], bool]) -> frozenset[str]:
    """The methods and functions of which the steps of all variants pass a test."""
    steps: dict[str, list[str]] = {}
    for methods in EFFECTS.values():
        for name, effect in methods.items():
            steps.setdefault(name, []).append(f"{effect.steps},{effect.absent or ''}")
    for name, call in CALLS.items():
        changes = "write" if any(word in call.does for word in ("write", "delete", "augment")) else call.effect.absent
        steps.setdefault(name, []).append(f"{call.effect.steps},{changes or ''}")
    return frozenset(name for name, variants in steps.items() if all(map(test, variants)))


READ_ONLY = _names_of(lambda steps: "write" not in steps)
# They read which elements there are, or how many.
KEYS_ONLY = _names_of(lambda steps: steps == "read structure,") - {"__iter__", "iter", "enumerate"} | {"keys"}
# Methods of mappings whose first argument is a key.
KEYED = frozenset(
    name for name, effect in EFFECTS["dict"].items() if "element" in effect.steps.replace(",", "").split()
)


def is_fresh(node: ast.expr, canonical: Callable[[ast.AST], str | None]) -> bool:
    """Whether an expression makes a new container or object, as far as one can tell by its name."""
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    if not isinstance(node, ast.Call):
        return False
    if canonical(node.func) in MAKERS:
        return True
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.lstrip("_")[:1].isupper()


def is_literal(node: ast.expr, canonical: Callable[[ast.AST], str | None]) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Name):
        return node.id.isupper()
    if isinstance(node, ast.Attribute):
        base = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        return node.attr.isupper() or base[:1].isupper()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    return isinstance(node, ast.Call) and not node.args and not node.keywords and canonical(node.func) in _EMPTY


def operand_facts(node: ast.expr) -> dict[str, Any]:
    """The kind of what is added, subtracted, ..."""
    facts: dict[str, Any] = {"operand": _operand(node)}
    if isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)):
        facts["literal"] = literal_text(node)
    return facts


def _operand(node: ast.expr) -> str:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Constant):
        is_number = isinstance(node.value, int | float | complex)
        return "number" if is_number else "text" if isinstance(node.value, str | bytes) else "unknown"
    if isinstance(node, ast.Call):
        return "number" if isinstance(node.func, ast.Name) and node.func.id == "len" else "unknown"
    if isinstance(node, ast.JoinedStr):
        return "text"
    return "list" if isinstance(node, ast.List | ast.ListComp) else "unknown"


def literal_text(node: ast.expr) -> str:
    return ast.unparse(node)[:_LONGEST_LITERAL]


def stored_facts(
    target: ast.expr, value: ast.expr | None, resolve: Resolve, canonical: Callable[[ast.AST], str | None]
) -> dict[str, Any]:
    """What a store stores: a literal, what it read there (`read`), changed by an operator, or something else."""
    if value is None:
        return {"value": "other"}
    value = resolved(value, resolve)
    if is_literal(value, canonical):
        return {"value": "literal", "literal": literal_text(value)}
    if isinstance(value, ast.BinOp):
        place = location(target, resolve)
        sides = [(value.left, value.right)]
        if isinstance(value.op, _COMMUTATIVE):
            sides.append((value.right, value.left))
        for one, other in sides:
            read = resolved(one, resolve)
            if location(read, resolve) == place:
                operator = OPERATORS[type(value.op)]
                operand = operand_facts(resolved(other, resolve))
                return {"value": "update", "operator": operator, "read": read, **operand}
    return {"value": "other"}


def resolved(node: ast.expr, resolve: Resolve) -> ast.expr:
    """The expression that a variable is bound to, through variables that are bound to others."""
    for _ in range(8):
        found = resolve(node)
        if not isinstance(found, ast.expr):
            break
        node = found
    return node


def location(node: ast.expr, resolve: Resolve) -> str:
    """The location of a target or of a load, in words that are the same for both."""
    node = resolved(node, resolve)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{location(node.value, resolve)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return f"{location(node.value, resolve)}[{location(node.slice, resolve)}]"
    return ast.unparse(node)[:_LONGEST_FORM]


def condition_form(node: ast.expr, resolve: Resolve) -> str:
    """A condition in a normal form: without receivers, `not` pushed inward, the sides of comparisons ordered."""
    try:
        return _form(node, resolve, negated=False)[:_LONGEST_FORM]
    except RecursionError:
        return "..."


class Shape(NamedTuple):
    """A condition on one value, whatever it is read from, and its opposite: `? is None`, `? is not None`."""

    holds: str
    opposite: str
    value: ast.AST


Fixed = Callable[[ast.AST], str | None]
"""Of an expression that is the same in the whole call of the function: a name for it."""


def condition_shape(node: ast.expr, resolve: Resolve, fixed: Fixed) -> Shape | None:
    """What a condition is, if it is on one value. That a key is in a container counts as one.

    That value may be compared with parameters that the function does not change: `? < #1`.
    """
    return _one_shape(node, resolve, _nothing, fixed) or _one_shape(node, resolve, fixed, fixed)


def condition_views(node: ast.expr, resolve: Resolve, term: Fixed) -> list[View]:
    """What a condition on several values says of each of them, the others being the same. Empty: that is not known."""
    node, is_negated = _without_not(node)
    if not isinstance(node, ast.BoolOp):
        return _views_of_part(node, resolve, term, is_negated)
    is_all = isinstance(node.op, ast.And) is not is_negated
    found: list[View] = []
    for part in node.values:
        inner, is_inner_negated = _without_not(part)
        views = [] if isinstance(inner, ast.BoolOp) else _views_of_part(inner, resolve, term, is_inner_negated)
        if not views:
            return []
        turned = [View(one.value, one.opposite, one.holds) if is_negated else one for one in views]
        found += [one._replace(opposite=None) if is_all else one._replace(holds=None) for one in turned]
    return found


class View(NamedTuple):
    """What is known of one value if a condition holds, and if it does not; None for nothing."""

    value: ast.AST
    holds: str | None
    opposite: str | None


def _without_not(node: ast.expr) -> tuple[ast.expr, bool]:
    is_negated = False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, is_negated = node.operand, not is_negated
    return node, is_negated


def _views_of_part(node: ast.expr, resolve: Resolve, term: Fixed, is_negated: bool) -> list[View]:
    found: list[View] = []
    for leaf in _shape(node, resolve, _nothing, term, negated=False)[1]:
        shape = _one_shape(node, resolve, _all_but(leaf, term), term)
        holds, opposite = (shape.holds, shape.opposite) if shape else (None, None)
        found.append(View(leaf, opposite, holds) if is_negated else View(leaf, holds, opposite))
    return found


def _all_but(leaf: ast.AST, term: Fixed) -> Fixed:
    return lambda other: None if other is leaf else term(other)


def _one_shape(node: ast.expr, resolve: Resolve, fixed: Fixed, stable: Fixed) -> Shape | None:
    shape, leaves = _shape(node, resolve, fixed, stable, negated=False)
    opposite, _ = _shape(node, resolve, fixed, stable, negated=True)
    is_known = len(leaves) == 1 and max(len(shape), len(opposite)) <= _LONGEST_FORM
    return Shape(shape, opposite, leaves[0]) if is_known else None


def _nothing(node: ast.AST) -> str | None:
    return None


def _shape(
    node: ast.expr, resolve: Resolve, fixed: Fixed, stable: Fixed, *, negated: bool
) -> tuple[str, list[ast.AST]]:
    """A condition, with `?` for the values that it is on, and these values. `stable` knows what is none of them."""
    leaves: list[ast.AST] = []

    def value(part: ast.AST) -> str:
        part = resolved(part, resolve) if isinstance(part, ast.expr) else part
        if isinstance(part, ast.NamedExpr):
            return value(part.value)
        if isinstance(part, ast.Constant):
            return repr(part.value)
        if isinstance(part, ast.UnaryOp) and not isinstance(part.op, ast.Not):
            return f"{OPERATORS[type(part.op)]}{value(part.operand)}"
        if isinstance(part, ast.BinOp):
            return f"({value(part.left)} {OPERATORS[type(part.op)]} {value(part.right)})"
        name = fixed(part)
        if name is None:
            # of `a and b`, of a chain of comparisons and the like it is not known which part decides
            leaves.extend([part] if isinstance(part, _VALUES) else [part, part])
        return name or "?"

    def shape(part: ast.expr, *, negated: bool) -> str:
        part = resolved(part, resolve)
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            return shape(part.operand, negated=not negated)
        if isinstance(part, ast.NamedExpr):
            return shape(part.value, negated=negated)
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.In | ast.NotIn):
            leaves.append(part)
            return "not ?" if isinstance(part.ops[0], ast.NotIn) is not negated else "?"
        if isinstance(part, ast.Compare) and len(part.ops) == 1:
            sides = [part.left, part.comparators[0]]
            named = [_sentinel(side) for side in sides]
            # only beside a value: else what has such a name is the value
            is_beside = [_is_value(side, resolve, stable) for side in reversed(sides)]
            left, right = (
                name if name and is_value else value(side)
                for side, name, is_value in zip(sides, named, is_beside, strict=True)
            )
            operator = OPERATORS[type(part.ops[0])]
            operator = _OPPOSITE[operator] if negated else operator
            if "?" not in left:
                left, operator, right = right, _MIRRORED[operator], left
            return f"{left} {operator} {right}"
        shown = value(part)
        return f"not {shown}" if negated else shown

    return shape(node, negated=negated), leaves


def _is_value(node: ast.expr, resolve: Resolve, fixed: Fixed) -> bool:
    """Whether an expression gives something that others may change: no literal, no parameter, no name in capitals."""
    found = resolved(node, resolve)
    is_same = isinstance(found, ast.Constant) or (fixed(found) is not None and not isinstance(found, ast.Attribute))
    return not is_same and _sentinel(node) is None


def _sentinel(node: ast.expr) -> str | None:
    """A name in capitals, with which values are compared as with a literal: `UNSET`, `State.NEW`."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name if name.isupper() else None


def _form(node: ast.expr, resolve: Resolve, *, negated: bool) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _form(node.operand, resolve, negated=not negated)
    if isinstance(node, ast.NamedExpr):
        return _form(node.value, resolve, negated=negated)
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) is not negated else " or "
        return f"({word.join(_form(value, resolve, negated=negated) for value in node.values)})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node, resolve, negated)
    shown = _term(node, resolve)
    return f"not {shown}" if negated else shown


def _comparison(node: ast.Compare, resolve: Resolve, negated: bool) -> str:
    operator = OPERATORS[type(node.ops[0])]
    if negated:
        operator = _OPPOSITE[operator]
    left, right = _term(node.left, resolve), _term(node.comparators[0], resolve)
    order = isinstance(node.left, ast.Constant), left
    other = isinstance(node.comparators[0], ast.Constant), right
    if operator in _MIRRORED and order > other:
        left, operator, right = right, _MIRRORED[operator], left
    return f"{left} {operator} {right}"


def _term(node: ast.AST, resolve: Resolve) -> str:
    if isinstance(node, ast.Name):
        found = resolve(node)
        return node.id if found is None else found if isinstance(found, str) else _term(found, resolve)
    if isinstance(node, ast.NamedExpr):
        return _term(node.value, resolve)
    if isinstance(node, ast.Constant):
        return repr(node.value)[:_LONGEST_LITERAL]
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    if isinstance(node, ast.Subscript):
        return f"{_term(node.value, resolve)}[{_term(node.slice, resolve)}]"
    if isinstance(node, ast.Call):
        arguments = ", ".join(_term(part, resolve) for part in (*node.args, *(word.value for word in node.keywords)))
        return f"{_term(node.func, resolve)}({arguments})"
    if isinstance(node, ast.Compare | ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return f"({_form(node, resolve, negated=False)})"
    if isinstance(node, ast.BinOp):
        return f"({_term(node.left, resolve)} {OPERATORS[type(node.op)]} {_term(node.right, resolve)})"
    parts = ", ".join(_term(part, resolve) for part in children(node) if isinstance(part, ast.expr))
    return f"{type(node).__name__}({parts})"


def pattern_form(node: ast.AST, resolve: Resolve) -> str:
    """A pattern of a `case`, without the names that it binds."""
    if isinstance(node, ast.MatchValue):
        return _term(node.value, resolve)
    if isinstance(node, ast.MatchSingleton):
        return repr(node.value)
    parts = [pattern_form(part, resolve) for part in children(node) if isinstance(part, ast.pattern)]
    if isinstance(node, ast.MatchAs):
        return parts[0] if parts else "_"
    if isinstance(node, ast.MatchClass):
        first = len(node.patterns)
        parts[first:] = [f"{name}={part}" for name, part in zip(node.kwd_attrs, parts[first:], strict=True)]
        parts.insert(0, _term(node.cls, resolve))
    if isinstance(node, ast.MatchMapping):
        parts = [f"{_term(key, resolve)}: {part}" for key, part in zip(node.keys, parts, strict=True)]
    return f"{type(node).__name__.removeprefix('Match')}({', '.join(parts)})"[:_LONGEST_FORM]
