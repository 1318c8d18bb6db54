"""`atomsan sets`: checks each atomic set of traces by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atomsan.cli.option_groups import RegionOptions, ReportOptions, TraceOptions
from atomsan.cli.progress import timed_progress
from atomsan.cli.reporting import check_and_report
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.findings.report import Report

_Sets = dict[str, list[str]]


def sets(
    traces: list[str],
    sets: str | None,
    method: str,
    timeout: float | None,
    split_at_waits: bool,
    reading: TraceOptions,
    regions: RegionOptions,
    reporting: ReportOptions,
) -> int:
    """Is each object's data consistent? Check the atomic sets of traces, one by one.

    An atomic set is data that belongs together: in a recorded program each object, with the containers it holds; in
    other traces the variables with the same name before the last dot, or as the file of sets says. The units of work on
    a set must be serializable for that set alone; violations across sets do not count.

    The 14 access patterns say in words what is wrong; projection gives the exact answer for each set.

    Examples:
      atomsan sets run.atomtrace
      atomsan sets t.std --sets sets.toml --method projection --format json
      atomsan sets t.std --sets sets.toml --split-at-waits --all --lenient -o report.json --quiet
    """
    rules = regions.specification()
    chosen, declared = (None, None) if sets is None else read_sets(sets)

    def checked(trace: str) -> Report:
        from atomsan.flow import sets as flow

        return flow.sets(
            trace,
            chosen,
            declared,
            method=method,  # type: ignore[arg-type]  # one of the choices of the option
            spec=rules,
            timeout=timeout,
            split_at_waits=split_at_waits,
            lenient=reading.lenient,
            format=reading.input_format,
            progress=timed_progress("checking sets", timeout, quiet=reporting.quiet),
        )

    return check_and_report(traces, checked, timeout, reporting)


def read_sets(path: str) -> tuple[_Sets, _Sets | None]:
    """The atomic sets in a TOML or JSON file, and its table of units of work on them, if it has one."""
    import json

    from atomsan.source.toml_files import parse_toml, read_bytes

    raw = read_bytes(path)
    try:
        content: Any = json.loads(raw) if path.endswith(".json") else parse_toml(raw, path)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", source=path) from error
    if not isinstance(content, dict) or "sets" not in content:
        raise InputError("has no table 'sets'", source=path)
    return _table("sets", content["sets"], path), (
        _table("declared", content["declared"], path) if content.get("declared") is not None else None
    )


def _table(key: str, content: Any, path: str) -> _Sets:
    if not isinstance(content, dict):
        raise InputError(f"{key!r} must be a table of lists", source=path)
    table = {name: [given] if isinstance(given, str) else given for name, given in content.items()}
    for name, given in table.items():
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise InputError(f"'{key}.{name}' must be a list of texts", source=path)
    return table
