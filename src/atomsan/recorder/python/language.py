"""The `Language` of Python programs: reads the sites and regions of a module from its plan (`source/plan.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atomsan.recorder.log.definitions import (
    FunctionDefinition,
    Language,
    ModuleDefinition,
    Position,
    RegionDefinition,
    SiteDefinition,
    SiteLinks,
)
from atomsan.source.effects import PRIMITIVE_METHODS, QUEUE_METHODS, STATE_METHODS
from atomsan.source.normal_statements import NormalStatements

# Probes whose name is that of a method or function which reads or writes something: what is done at their sites.
_OPERATIONS = frozenset({"method", "keyed_method", "late_method", "argument", "call", "item"})

# Probes that are about an object of which a method is called.
_CALLED = frozenset({"load_attr", "method", "keyed_method", "late_method"})

# Probes of stores, and the lines in which what is stored is a primitive that was made for it.
_STORING = frozenset({"store_attr", "store_name", "store_cell"})
_MAKING = re.compile(r"=\s*(?:\w+\.)*(?:R?Lock|Condition|(?:Bounded)?Semaphore|Event|Barrier|\w*Queue)\(")

# Probes at which a primitive is used that another probe read.
_ENTERING = frozenset({"with", "await"})

# Probes that stand in statements of their own, never inside the right side of an assignment. (A name can, through `:=`,
# but hardly ever does; and then the assignment's region ends a little early.)
_STATEMENTS = frozenset({"store_attr", "store_name", "store_cell", "aug_attr", "aug_item", "with"})

# How the qualified name of a comprehension's code ends.
_COMPREHENSION = re.compile(r"(?:(?:\.<locals>)?\.|^)<(?:listcomp|setcomp|dictcomp|genexpr)>$")


def read_module(definition: Mapping[str, Any], shown: Callable[[str], str]) -> ModuleDefinition:
    """The sites and regions of a module, as the definition of its instrumentation has them."""
    plan = definition["plan"]
    file = shown(str(plan["file"]))
    source = str(definition["source"])
    lines = source.split("\n")
    normal = NormalStatements(source).at
    functions = [str(function[0]) for function in plan["functions"]]
    owners = _owners(plan["functions"])
    regions = [_region(region) for region in plan["regions"]]
    sites = []
    uses = []
    for place, (kind, line, column, function, name, text, region, fed_by, node, *_) in enumerate(plan["probes"]):
        line, column = int(line), int(column)
        site = SiteDefinition(
            file=file,
            line=max(line, 0),
            column=max(column, 0),
            function=functions[function],
            text=lines[line - 1].strip() if 0 < line <= len(lines) else "",
            operation=str(name) if kind in _OPERATIONS and name else None,
            expression=str(text),
            closure=_closure_owner(functions[function], kind) if kind in ("load_cell", "store_cell") else "",
            primitive=_entered(functions[function], str(text)) if kind == "with" else "",
            node=node if node >= 0 else None,
            owner=owners[function],
            normal=normal,
        )
        is_iteration = kind == "begin" and region >= 0 and regions[region].origin == "loop"
        links = SiteLinks(
            function=function,
            region=region if region >= 0 else None,
            fed_by=fed_by if fed_by >= 0 else None,
            is_statement=kind in _STATEMENTS or is_iteration,
        )
        sites.append((site, links))
        if fed_by >= 0 and kind in _CALLED and name in PRIMITIVE_METHODS:
            uses.append((fed_by, "reads"))
        elif fed_by >= 0 and kind in _ENTERING:
            uses.append((place, "enters"))
        if kind in _STORING and _MAKING.search(site.text):
            uses.append((place, "makes"))
    sets = {str(name): [str(field) for field in fields] for name, *fields in plan.get("sets", ())}
    module = str(plan["module"])
    defined = [
        FunctionDefinition(f"{module}:{name}", int(line), str(summary)) for name, line, _, summary in plan["functions"]
    ]
    calls = _Calls(file, lines, plan["functions"], owners, normal)
    return ModuleDefinition(defined, regions, sites, uses, sets, calls.site)


class _Calls:
    """Makes the sites of calls in a module, each when it is met."""

    def __init__(
        self,
        file: str,
        lines: Sequence[str],
        functions: Sequence[Any],
        owners: Sequence[int],
        normal: Callable[[int, int], str | None],
    ) -> None:
        self._file = file
        self._lines = lines
        self._functions = functions
        self._owners = owners
        self._normal = normal
        self._by_name: dict[str, list[int]] = {}
        """The functions of each qualified name, by their lines: a getter and its setter share one."""
        for number in sorted(range(len(functions)), key=lambda number: int(functions[number][1])):
            self._by_name.setdefault(str(functions[number][0]), []).append(number)
        self._summaries: dict[int, dict[str, Any]] = {}
        """Of the functions that were asked for."""

    def site(self, position: Position, code: str) -> SiteDefinition:
        line, last_line, column, last_column = position
        function, node = self._place(line, f"{line}:{column}:{last_line}:{last_column}", _function_of(code))
        return SiteDefinition(
            file=self._file,
            line=max(line, 0),
            column=max(column, 0),
            function=_function_of(code) if function is None else str(self._functions[function][0]),
            text=self._lines[line - 1].strip() if 0 < line <= len(self._lines) else "",
            operation=self._method_used(function, node),
            expression="",
            is_call=True,
            node=node,
            owner=None if function is None else self._owners[function],
            normal=self._normal,
        )

    def _place(self, line: int, position: str, name: str) -> tuple[int | None, int | None]:
        """The function of this name that has the position, and the node there; else the last one that starts before."""
        named = self._by_name.get(name, ())
        before = [number for number in named if int(self._functions[number][1]) <= line]
        for number in reversed(before):
            node = self._calls_of(self._owners[number]).get(position)
            if node is not None:
                return number, int(node)
        return (before or named or (None,))[-1], None

    def _method_used(self, function: int | None, node: int | None) -> str | None:
        """The method, where a call or what is awaited may change a primitive: which has no probe to tell."""
        if function is None or node is None:
            return None
        summary = self._summary(self._owners[function])
        nodes = summary.get("nodes", ())
        name = _called(nodes, node)
        if name == "await":
            awaited = (_called(nodes, start) for start, end, *_ in summary["edges"] if end == node)
            name = next((one for one in awaited if one in QUEUE_METHODS), None)
        return name if name in QUEUE_METHODS or name in STATE_METHODS else None

    def _calls_of(self, function: int) -> dict[str, int]:
        calls: dict[str, int] = self._summary(function).get("calls", {})
        return calls

    def _summary(self, function: int) -> dict[str, Any]:
        known = self._summaries.get(function)
        if known is None:
            summary = str(self._functions[function][3])
            try:
                known = json.loads(summary) if summary else {}
            except RecursionError:  # it is damaged
                known = {}
            self._summaries[function] = known
        return known


def _called(nodes: Sequence[Mapping[str, Any]], node: int) -> str | None:
    """The function or method that a node of a summary calls, where it is one that calls something by a name."""
    facts = nodes[node] if node < len(nodes) else {}
    return facts.get("name") or facts.get("op")


def _function_of(code: str) -> str:
    """The function that code is of, by its qualified name: that of a comprehension is of the function around it."""
    while (found := _COMPREHENSION.search(code)) is not None:
        code = code[: found.start()] or "<module>"
    return code


def _owners(functions: Any) -> list[int]:
    """By function, the one whose summary has its code: that around it, for a lambda without one of its own."""
    owners: list[int] = []
    for number, (_name, _line, parent, summary) in enumerate(functions):
        owners.append(number if summary or parent < 0 else owners[parent])
    return owners


def _region(region: Any) -> RegionDefinition:
    name, origin, _line, function, _has_loops, is_trampoline, flow = region
    flows = "\n".join(map(str, flow)) or None
    return RegionDefinition(str(name), str(origin), bool(is_trampoline), flows, int(function))


def _closure_owner(function: str, kind: str) -> str:
    """The function whose closure variables these are. It stores them first, or gets them as parameters."""
    around = function.rpartition(".<locals>.")[0]
    return around if around and kind == "load_cell" else function


def _entered(function: str, expression: str) -> str:
    """What a primitive is called that a `with` statement enters: `Account.lock`, for `with self.lock` in a method."""
    if not expression.replace(".", "").isidentifier():
        return ""
    head, _, rest = expression.partition(".")
    owner = function.rpartition(".")[0]
    return f"{owner}.{rest}" if head in ("self", "cls") and rest and owner else expression


# An object at the address of a namespace that has another type than these is not the namespace any more.
PYTHON = Language(read_module, frozenset({"dict", "type"}))
