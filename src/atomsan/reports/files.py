"""Output files of reports: chooses the format by suffix, refuses paths that cannot be written, and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from atomsan.reports.registry import REPORTERS, ReportFormat, format_of_file


class ReportFile(NamedTuple):
    path: str
    format: ReportFormat

    def write(self, document: str) -> None:
        """Replaces what is there. An `OutputError` says why it cannot be written."""
        from atomsan.trace.writing import write_file

        write_file(self.path, document.encode(errors="backslashreplace"), force=True)


def report_files(paths: Iterable[str], formats: Mapping[str, ReportFormat] = REPORTERS) -> list[ReportFile]:
    """The files at these paths. Those that cannot be written are refused at once, before any work is done."""
    files = []
    for path in paths:
        from atomsan.trace.output_paths import check_output

        files.append(ReportFile(path, format_of_file(path, formats)))
        check_output(path, force=True)
    return files
