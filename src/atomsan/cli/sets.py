"""`atomsan sets`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomsan.cli.check import report_on, specification, watched
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.findings.report import Report

_Sets = dict[str, list[str]]


def sets(
    traces: list[str],
    sets: str | None,
    method: str,
    timeout: float | None,
    spec: str | None,
    atomic: list[str],
    not_atomic: list[str],
    split_at_waits: bool,
    format: str,
    output: list[str],
    limit: int,
    all: bool,
    input_format: str | None,
    lenient: bool,
    quiet: bool,
) -> int:
    """Is each object's data consistent? Check the atomic sets of traces, one by one.

    An atomic set is data that belongs together: each object of a recorded program is one, with the containers it holds.
    In other traces it is what stands before the last dot of a variable's name, or what the file of sets says. The units
    of work on a set must be serializable for that set alone; what happens across sets does not count.

    The 14 patterns of accesses say what is wrong in words; projection gives the exact answer for each set.

    Examples:
      atomsan sets run.atomtrace
      atomsan sets t.std --sets sets.toml --method projection --format json
      atomsan sets t.std --sets sets.toml --split-at-waits --all --lenient -o report.json --quiet
    """
    rules = specification(spec, atomic, not_atomic)
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
            lenient=lenient,
            format=input_format,
            progress=watched("checking sets", timeout, quiet=quiet),
        )

    return report_on(traces, checked, timeout, format, output, limit, all, quiet)


def read_sets(path: str) -> tuple[_Sets, _Sets | None]:
    """The sets in a file, TOML or JSON, and which regions are units on them, if it says so."""
    import json
    import tomllib

    try:
        text = Path(path).read_bytes().decode()
        content: Any = json.loads(text) if os.fspath(path).endswith(".json") else tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid TOML or JSON: {error}", source=path) from error
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
