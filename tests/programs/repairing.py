"""Follows a hint to the letter: rewrites a program so that the lock is held over the lines that the repair names."""

from __future__ import annotations

import ast
import re
from typing import Any

STEP = "    "


class NotMechanicalError(Exception):
    """The lines cannot be put under a lock as they stand."""


def repaired(text: str, repair: dict[str, Any], file: str) -> str:
    """The program after the repair. All that is named is in this file, or nobody could follow it here."""
    if not repair["mechanical"]:
        raise NotMechanicalError("the hint says so")
    if any(section["file"].rpartition("/")[2] != file for section in repair["sections"]):
        raise NotMechanicalError("in another file")
    lines = text.splitlines()
    is_async = any(line.lstrip().startswith("await ") or "asyncio" in line for line in lines)
    for number in repair["dropped"]:
        lines[number - 1] = _indent(lines[number - 1]) + "pass"
    for number in repair["blocks"]:
        # a block of the same lock inside the new one
        lines[number - 1] = re.sub(r"(async )?with .*:", "if True:", lines[number - 1], count=1)
    for section in sorted(_outermost(repair["sections"]), key=lambda one: -one["first"]):
        _wrap(lines, section, "async with" if is_async and section["is_async"] else "with")
    if repair["reentrant"]:
        name = re.escape(repair["sections"][0]["lock"].rpartition(".")[2])
        lines = [re.sub(rf"(\b{name}\s*=\s*(?:threading\.)?)Lock\(\)", r"\1RLock()", line) for line in lines]
    if repair["new"]:
        _make(lines, **repair["new"])
    changed = "\n".join(lines) + "\n"
    ast.parse(changed)
    return changed


def _outermost(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without those that are inside others, or the same."""
    kept: list[dict[str, Any]] = []
    for one in sorted(sections, key=lambda one: (one["first"], -one["last"])):
        if not kept or one["last"] > kept[-1]["last"]:
            kept.append(one)
    return kept


def _wrap(lines: list[str], section: dict[str, Any], statement: str) -> None:
    first, last = section["first"], section["last"]
    indent = _indent(lines[first - 1])
    if re.match(r"\s*(elif|else|except|finally)\b", lines[first - 1]):
        raise NotMechanicalError("no statement starts there")
    lines[first - 1 : last] = [
        f"{indent}{statement} {section['lock']}:",
        *(STEP + line if line.strip() else line for line in lines[first - 1 : last]),
    ]


def _make(lines: list[str], made: str, name: str, method: str | None) -> None:
    """Make the lock: first thing in the constructor, or behind the imports of the module."""
    tree = ast.parse("\n".join(lines))
    if method is None:
        imports = [node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        at, indent = max(imports), ""
    else:
        wanted = method.partition(":")[2]
        body = next(function.body for full, function in _functions(tree) if full == wanted)
        # as the hint says
        slot = name.rpartition(".")[2]
        lines[:] = [re.sub(r"(__slots__ = \()", rf'\1"{slot}", ', line) for line in lines]
        at, indent = body[0].lineno - 1, _indent(lines[body[0].lineno - 1])
    lines.insert(at, f"{indent}{name} = {made}")
    module = made.partition(".")[0]
    if f"import {module}" not in lines:
        first = min(node.lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
        lines.insert(first - 1, f"import {module}")


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{kind.name}.{function.name}", function)
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef)
        for function in kind.body
        if isinstance(function, ast.FunctionDef)
    ]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
