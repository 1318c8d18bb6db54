"""Prints results without findings (counts, versions, ...), writes them to files, and formats tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import zip_longest

from atomsan.errors import printable
from atomsan.reports.files import ReportFile, report_files
from atomsan.reports.registry import ANSWER_FORMATS, Answer, rendered


def answer_files(paths: Iterable[str]) -> list[ReportFile]:
    """The files to write a result to that has no findings. Those that cannot be written are refused at once."""
    return report_files(paths, ANSWER_FORMATS)


def write_answer(files: Iterable[ReportFile], answer: Answer) -> None:
    for file in files:
        file.write(rendered(file.format, answer))


def print_answer(format: str, answer: Answer) -> None:
    print(rendered(ANSWER_FORMATS[format], answer), end="")


def table(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Rows in columns, those of `right` aligned to the right. Lines are never wrapped: the reader may be a pipe."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    filled = [[printable(cell) for cell in row] for row in rows]
    columns = list(zip_longest(*filled, fillvalue=""))
    grid = Table.grid(padding=(0, 2))
    for column in range(len(columns)):
        grid.add_column(justify="right" if column in right else "left", no_wrap=True)
    for row in filled:
        grid.add_row(*row)
    width = sum(2 + max(map(cell_len, column)) for column in columns)
    console = Console(width=width, color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(grid)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
