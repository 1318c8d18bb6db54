"""The formats of reports and other results, one row each.

Adding a format is a module in this folder, with `render` and `merge` as `types.Reporter` has them, and a row here: the
command line, the configuration files and the pytest plugin take names and suffixes from these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.types import Reporter


class Answer(NamedTuple):
    """A result without findings, such as counts or versions: as text and as data. Only the one needed is made."""

    text: Callable[[], str]
    data: Callable[[], Any]


class ReportFormat(NamedTuple):
    """One format. Its module is imported when `reporter` is called."""

    name: str
    purpose: str
    """For `--help`."""
    suffixes: tuple[str, ...]
    reporter: Callable[[], Reporter]
    answer: Callable[[Answer], str] | None = None
    """Renders results without findings. None: this format is for findings only."""
    is_for_reading: bool = False
    """For people: reports are shown one after the other, as soon as each is there, and may be shortened."""


def _text() -> Reporter:
    from atomsan.reports import text

    return text


def _json() -> Reporter:
    from atomsan.reports import json

    return json


def _json_answer(answer: Answer) -> str:
    from atomsan.reports.json import encoded

    return encoded(answer.data())


REPORTERS: dict[str, ReportFormat] = {
    row.name: row
    for row in (
        ReportFormat("text", "text for people", (".txt",), _text, lambda answer: answer.text(), is_for_reading=True),
        ReportFormat("json", "JSON for programs", (".json",), _json, _json_answer),
    )
}

ANSWER_FORMATS = {name: row for name, row in REPORTERS.items() if row.answer}
"""The formats that can hold any result."""

DEFAULT = next(iter(REPORTERS.values()))


def rendered(format: ReportFormat, answer: Answer) -> str:
    """A result without findings, in one of the `ANSWER_FORMATS`."""
    if format.answer is None:
        raise InputError(f"the format {format.name} is for findings only")
    return format.answer(answer)


def suffixes(formats: Mapping[str, ReportFormat]) -> list[str]:
    return sorted(suffix for row in formats.values() for suffix in row.suffixes)


def format_of_file(name: str, formats: Mapping[str, ReportFormat] = REPORTERS) -> ReportFormat:
    """The format that a file's suffix stands for. Other files are refused, so that no typing error replaces a trace."""
    suffix = PurePath(name).suffix.lower()
    for row in formats.values():
        if suffix in row.suffixes:
            return row
    raise InputError(f"a result is written to a file in {' or '.join(suffixes(formats))}", source=name)
