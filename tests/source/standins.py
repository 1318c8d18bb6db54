"""Stand-ins for probes, in plain Python: they behave as plan.py says and log nothing, so no recorder is needed."""

import ast
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

from atomsan.source.instrument import bind, compile_instrumented, instrument
from atomsan.source.plan import Plan, Probe


class StandIn:
    def __init__(self, row: Probe, happened: Callable[[Probe, Any], None] | None = None) -> None:
        self.row = row
        self.happened = happened or (lambda row, given: None)

    def __getitem__(self, given: Any) -> Any:
        kind, name = self.row.kind, self.row.name
        if kind in ("begin", "end"):
            raise TypeError("a region begins and ends by a deletion")
        self.happened(self.row, given)
        if kind in ("load_cell", "store_cell", "keyed_method", "contains"):
            return given[0]
        if kind in ("item", "aug_item"):
            return given[0][given[1]]
        if kind == "late_contains":
            return given[0] in given[1]
        if kind in ("aug_attr", "late_method"):
            return getattr(given, name)
        if kind in ("cells", "span"):
            return Token(self)
        return given

    def __setitem__(self, given: Any, value: Any) -> None:
        self.happened(self.row, given)
        if self.row.kind == "aug_attr":
            setattr(given, self.row.name, value)
        else:
            given[0][given[1]] = value

    def __delitem__(self, given: Any) -> None:
        self.happened(self.row, given)
        if self.row.kind not in ("begin", "end", "drive"):
            del given[0][given[1]]

    def __contains__(self, given: Any) -> bool:
        return self(given, int(self.row.step))

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        if self.row.kind == "aug_attr":
            value = getattr(function, self.row.name, None)
            if type(value) not in (int, float) or type(args[0]) not in (int, float):
                return False
            self[function]
            self[function] = value - args[0] if self.row.step == "-" else value + args[0]
            return True
        if self.row.kind == "item":
            self.happened(self.row, (function, *args))
            return function[args[0]]
        self.happened(self.row, (function, args, kwargs))
        return function(*args, **kwargs)


class Token:
    """What `cells` and `span` give."""

    def __init__(self, probe: StandIn) -> None:
        self.probe = probe

    def __del__(self) -> None:
        if self.probe.row.kind == "span":
            self.probe.happened(self.probe.row._replace(kind="span end"), None)


def prepared(
    source: str | bytes,
    happened: Callable[[Probe, Any], None] | None = None,
    *,
    module: str = "m",
    file: str = "m.py",
    **options: Any,
) -> tuple[CodeType, Plan]:
    """Instrumented code with stand-ins for its probes."""
    code, plan = compile_instrumented(source, module=module, file=file, **options)
    return bind(code, lambda number: StandIn(plan.probes[number], happened)), plan


def rewritten(source: str, **options: Any) -> str:
    """The rewritten source, with the kinds of the probes in their places."""
    tree, plan = instrument(source, module="m", file="m.py", **options)
    text = re.sub(r"b'\\x00atomsan:(\d+)'", lambda found: plan.probes[int(found[1])].kind, ast.unparse(tree))
    text = re.sub(r"b'\\x00atomsan=(\w+)'", lambda found: found[1].upper(), text)
    return re.sub(r"\((\w+) if True else \1\)", r"\1", text)
