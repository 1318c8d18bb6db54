"""Instrumentation: a pure function from source to a tree with probes in it, and the plan that says what they are.

`plan.py` has the forms that the rewriting makes. The rules that hold for all of them:

- every expression is evaluated as often as before and in the same order;
- nothing is bound that was not bound before, but for the token of closure variables, whose name no program can write;
- a node that replaces another has its position (`positions.py`), and a probe is a constant, so that no name of ours
  can be mangled, shadowed or found missing;
- annotations, patterns, `__future__` imports and docstrings stay as they are.

The tree that was parsed is changed in place; nodes are looked at before the nodes in them are changed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from types import CodeType
from typing import Any, cast

from atomsan.source.plan import Plan, operation, probe_number
from atomsan.source.source_text import decode_source
from atomsan.source.statements import StatementRewriter

Entries = Collection[tuple[str, int]]
"""Functions, by qualified name and line (of the `def` or of its first decorator); lambdas as `<lambda>`, and all of a
line at once."""


def instrument(
    source: str | bytes,
    *,
    module: str,
    file: str,
    mode: str = "exec",
    flags: int = 0,
    entries: Entries = (),
    tree: ast.Module | None = None,
) -> tuple[ast.Module | ast.Expression | ast.Interactive, Plan]:
    """The source as a tree with placeholders for probes, and the plan.

    `flags` are those of `compile`, for the features of `__future__`. The outermost loops of the functions in `entries`
    get regions, and one that only calls another function tells of that (`enter`); the plan's rows are the same with and
    without them, so code that is made later can use probes that are there. `tree` is the source as another tool has
    rewritten it: it is changed in its place.
    """
    parsed: ast.AST = tree if tree is not None else compile(source, file, mode, ast.PyCF_ONLY_AST | flags, True)
    rewriter = StatementRewriter(parsed, _lines(source), module, frozenset(entries))
    rewriter.rewrite(parsed)
    shared = sorted(rewriter.scopes.shared)
    outside = sorted(rewriter.stored_outside)
    plan = Plan(module, file, rewriter.probes, rewriter.functions, rewriter.regions, shared, outside, rewriter.sets)
    return cast(Any, parsed), plan


def compile_instrumented(
    source: str | bytes,
    *,
    module: str,
    file: str,
    mode: str = "exec",
    flags: int = 0,
    optimize: int = -1,
    entries: Entries = (),
    tree: ast.Module | None = None,
) -> tuple[CodeType, Plan]:
    """Code with placeholders, and the plan.

    Source that is wrong raises what `compile` raises. Source that is right, but too deep for the rewriting (nested
    expressions, nested blocks), is compiled as it is, and the plan is empty. With a `tree` it raises: the tree is
    spoiled, and only who made it can make another.
    """
    try:
        rewritten, plan = instrument(
            source, module=module, file=file, mode=mode, flags=flags, entries=entries, tree=tree
        )
        return compile(rewritten, file, mode, flags, True, optimize), plan
    except (SyntaxError, RecursionError, ValueError):
        if tree is not None:
            raise
        # so that errors are about the source, and not about the rewritten tree
        return compile(source, file, mode, flags, True, optimize), Plan(module, file, [], [], [], [])


def bind(code: CodeType, make: Callable[[int], object]) -> CodeType:
    """The code with a probe for each placeholder in it: `make` gives the one of a number."""
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(bind(constant, make))
        elif (number := probe_number(constant)) is not None:
            constants.append(make(number))
        else:
            constants.append(operation(constant) or constant)
    return code.replace(co_consts=tuple(constants))


def _lines(source: str | bytes) -> list[bytes]:
    """The lines, in the encoding in which the parser counts columns."""
    text = source if isinstance(source, str) else decode_source(source)
    return text.encode("utf-8", "surrogatepass").splitlines()
