"""What verbs have in common in telling people things: notes, results, numbers, progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from atomsan.cli.exits import say
from atomsan.errors import InputError, printable

if TYPE_CHECKING:
    from atomsan.trace.validation import Checked
    from atomsan.types import EventSource


def number(count: int) -> str:
    """1,234,567"""
    return f"{count:,}"


def counted(count: int, word: str) -> str:
    return f"{number(count)} {word}{'s' * (count != 1)}"


def warn(source: Checked, *, repairs: bool = True) -> None:
    """What a reader could live with, and what leniency repaired."""
    for text in [*source.meta.warnings, *(source.repairs.lines() if repairs else ())]:
        say(f"warning: {source.meta.source}: {text}")


def table(rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Rows in columns; those of `right` are numbers. Lines are as long as they must be: a pipe wants them whole."""
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


def as_json(content: Any) -> str:
    import json

    return json.dumps(content, indent=1) + "\n"


def write_results(files: list[str], text: Callable[[], str], content: Callable[[], Any]) -> None:
    """Write a result to each of the files, in the format of its suffix."""
    write_texts(files, text, lambda: as_json(content()))


def write_texts(files: list[str], text: Callable[[], str], json: Callable[[], str]) -> None:
    """Write a result, as one of two texts, to each of the files, by its suffix."""
    for name in files:
        from atomsan.trace.writing import write_file

        form = json() if result_format(name) == "json" else text()
        write_file(name, form.encode(errors="backslashreplace"), force=True)


def check_results(files: list[str]) -> None:
    """Refuse, before any work is done, files that a result cannot be written to."""
    for name in files:
        from atomsan.trace.outputs import check_output

        result_format(name)
        check_output(name, force=True)


def result_format(name: str) -> str:
    """`json` or `text`, by suffix. Nothing else, so that a slip of the hand cannot replace a trace."""
    formats = {".json": "json", ".txt": "text"}
    suffix = PurePath(name).suffix.lower()
    if suffix not in formats:
        raise InputError("a result is written to a file in .json or .txt", source=name)
    return formats[suffix]


class Watch:
    """Counts the batches that are done, and moves the progress bar if there is one."""

    def __init__(self) -> None:
        self.events = 0
        self.move: Callable[[int], None] = lambda events: None

    def __call__(self, batch: Sized) -> None:
        self.events += len(batch)
        self.move(self.events)


@contextmanager
def progress(what: str, source: EventSource, *, quiet: bool) -> Iterator[Watch]:
    """A watch to call with each batch that is done. It has a progress bar if somebody is there to see it."""
    watch = Watch()
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield watch
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, rate="")

        def move(events: int) -> None:
            fraction = _fraction(source, events)
            rate = f"{number(events)} events, {number(round(events / (bar.tasks[task].elapsed or 1)))} events/s"
            bar.update(task, total=fraction and 1.0, completed=fraction or 0.0, rate=rate)

        watch.move = move
        yield watch


def _fraction(source: EventSource, events: int) -> float | None:
    """How far a source is: by events if it knows how many there are, else by bytes if it knows that."""
    if source.meta.events:
        return min(events / source.meta.events, 1.0)
    fraction: float | None = source.fraction() if hasattr(source, "fraction") else None
    return fraction


def written(target: str, events: int) -> str:
    """What became of an output."""
    if target == "-":
        return f"wrote {counted(events, 'event')}"
    return f"wrote {target}: {counted(events, 'event')}, {counted(_size(target), 'byte')}"


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(entry.stat().st_size for entry in os.scandir(path))
