"""Speed of reading, validating and writing traces, compared with `md5sum` on the same file; memory of converting.

python bench/run.py --only reading --only growth --only memory
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from harness import MILLION, InMemory, Row, atomsan, best, command, measured

from atomsan.trace._validate import Validator
from atomsan.trace.generator import generate, options_for
from atomsan.trace.reading import open_trace
from atomsan.trace.writing import write_trace

# threads, variables, and the limit of reading and validating in units of md5sum
SHAPES = {"8 threads, 100k variables": (8, 100_000, 1.8), "32 threads, 1M variables": (32, MILLION, 2.5)}


def text_of(directory: Path, threads: int, variables: int, events: int) -> Path:
    """A serializable trace in STD, generated once."""
    path = directory / f"{threads}x{variables}x{events}.std"
    if not path.exists():
        options = options_for("serializable", events=events, threads=threads, variables=variables)
        write_trace(generate(options), path)
    return path


def reading(directory: Path, repeat: int, events: int) -> Iterator[Row]:
    empty, empty_bundle = directory / "empty.std", directory / "empty.atomtrace"
    empty.touch()
    write_trace(open_trace(empty), empty_bundle)
    for shape, (threads, variables, limit) in SHAPES.items():
        text = text_of(directory, threads, variables, events)
        bundle = text.with_suffix(".atomtrace")
        write_trace(open_trace(text), bundle, force=True)
        start_up, bundle_start_up, checksum, from_text, from_bundle = best(
            repeat,
            atomsan("validate", empty),
            atomsan("validate", empty_bundle),
            command("md5sum", text),
            atomsan("validate", text),
            atomsan("validate", bundle),
        )
        parse = from_text - start_up
        yield Row(
            f"STD, {shape}: read and validate / md5sum",
            parse / checksum,
            "x",
            limit,
            detail=f"{parse:.3f} s net of {start_up:.3f} s start-up, md5sum {checksum:.3f} s,"
            f" {events / parse / MILLION:.1f} Mev/s",
        )
        yield Row(
            f"bundle, {shape}: speed of reading / STD's",
            parse / (from_bundle - bundle_start_up),
            "x",
            4,
            at_least=True,
            detail=f"{from_bundle - bundle_start_up:.3f} s net of {bundle_start_up:.3f} s start-up",
        )
        size = sum(part.stat().st_size for part in bundle.iterdir())
        yield Row(f"bundle, {shape}: size", size / events, "bytes/event", 8)
        yield from in_process(text, bundle, shape, repeat, events)
        shutil.rmtree(bundle)


def in_process(text: Path, bundle: Path, shape: str, repeat: int, events: int) -> Iterator[Row]:
    source = InMemory(open_trace(bundle))
    copy = bundle.with_name("copy.atomtrace")

    def parse_only() -> None:
        for _ in open_trace(text).source.batches():
            pass

    def validate_only() -> None:
        validator = Validator()
        validator.grow(source.symbols)
        for batch in source.batches():
            assert validator.check(batch) == 0

    parse, validate, write_bundle, write_text = best(
        repeat,
        parse_only,
        validate_only,
        lambda: write_trace(source, copy, force=True),
        lambda: write_trace(source, "/dev/null", format="std"),
    )
    shutil.rmtree(copy)
    detail = f"{events / validate / MILLION:.0f} Mev/s"
    yield Row(f"{shape}: validating / parsing", validate / parse, "x", 0.25, detail=detail)
    yield Row(f"{shape}: writing a bundle", events / write_bundle / MILLION, "Mev/s", 10, at_least=True)
    yield Row(f"{shape}: writing STD", events / write_text / MILLION, "Mev/s")


def growth(directory: Path, repeat: int, most: int) -> Iterator[Row]:
    """Time of reading ever longer prefixes of one trace: at most 2.2 times for twice the events."""
    text = text_of(directory, 8, 100_000, most)
    sizes = [most]
    while sizes[0] >= 2 * MILLION:
        sizes.insert(0, sizes[0] // 2)
    ends = _line_ends(text, sizes)
    times = dict(zip(sizes, best(repeat, *(partial(_read, text, ends[size]) for size in sizes)), strict=True))
    for smaller, larger in itertools.pairwise(sizes):
        yield Row(
            f"growth from {smaller / MILLION:g} to {larger / MILLION:g} million events",
            times[larger] / times[smaller],
            "x the time",
            2.2,
            detail=f"{times[smaller]:.3f} s, {times[larger]:.3f} s",
        )


def _line_ends(text: Path, sizes: list[int]) -> dict[int, int]:
    """For each number of lines, the number of bytes of that prefix."""
    ends, at, lines = {}, 0, 0
    wanted = iter(sizes)
    size = next(wanted)
    with text.open("rb") as file:
        for block in iter(lambda: file.read(1 << 24), b""):
            while size <= lines + (count := block.count(b"\n")):
                position = -1
                for _ in range(size - lines):
                    position = block.index(b"\n", position + 1)
                ends[size] = at + position + 1
                size = next(wanted, sys.maxsize)
            lines += count
            at += len(block)
    return ends


class _Prefix(io.RawIOBase):
    """The first `size` bytes of a file."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file = file
        self._left = size

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= size
        return size


def _read(text: Path, end: int) -> None:
    with io.FileIO(text) as file:
        for _ in open_trace(_Prefix(file, end), format="std").batches():
            pass


def memory(directory: Path, events: int) -> Iterator[Row]:
    """Peak memory of converting a long trace of a million variables."""
    text = text_of(directory, 8, MILLION, events)
    bundle = directory / "memory.atomtrace"
    _, _, peak = measured("convert", "--force", text, bundle)
    yield Row(
        f"converting {events / MILLION:g} million events, 1M variables: memory",
        peak,
        "MB",
        1000,
        detail=f"a file of {os.path.getsize(text) / 1e9:.2f} GB",
    )
    shutil.rmtree(bundle)
    text.unlink()
