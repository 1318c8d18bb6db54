"""Writing a trace: the output is complete or not there, whatever goes wrong."""

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import atomsan
from atomsan import InputError, OutputError, Trace
from atomsan.trace.events import Batch
from atomsan.trace.reading import open_trace
from atomsan.trace.writing import output_format, write_trace

NAMES = ["t.atomtrace", "t.parquet", "t.std", "t.std.gz", "t.std.zst", "t.csv", "t.csv.gz", "t.trace"]


@pytest.fixture
def trace() -> Trace:
    return atomsan.parse("T0:begin(m) T0:r(x) T1:w(x) T0:w(x) T0:end(m)")


def names_in(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_read_back(tmp_path: Path, trace: Trace, name: str) -> None:
    trace.save(tmp_path / name)
    assert names_in(tmp_path) == [name]
    assert atomsan.load(tmp_path / name).notation() == trace.notation()


@pytest.mark.parametrize("name", NAMES)
def test_existing_output_is_replaced_only_with_force(tmp_path: Path, trace: Trace, name: str) -> None:
    atomsan.parse("T0:r(old)").save(tmp_path / name)
    with pytest.raises(OutputError, match="exists already"):
        trace.save(tmp_path / name)
    assert atomsan.load(tmp_path / name).notation() == "T0:r(old)"
    trace.save(tmp_path / name, force=True)
    assert atomsan.load(tmp_path / name).notation() == trace.notation()
    assert names_in(tmp_path) == [name]


class Failing:
    """A source that fails after its first batch."""

    def __init__(self, trace: Trace, error: BaseException) -> None:
        self.symbols, self.meta, self.place = trace.symbols, trace.meta, trace.place
        self._trace, self._error = trace, error

    def batches(self) -> Iterator[Batch]:
        yield from self._trace.batches()
        raise self._error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [InputError("broken"), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_failed_output_leaves_no_file(tmp_path: Path, trace: Trace, name: str, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write_trace(Failing(trace, error), tmp_path / name)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_failed_output_keeps_the_old_file(tmp_path: Path, trace: Trace, name: str) -> None:
    trace.save(tmp_path / name)
    with pytest.raises(InputError):
        write_trace(Failing(trace, InputError("broken")), tmp_path / name, force=True)
    assert atomsan.load(tmp_path / name).notation() == trace.notation()
    assert names_in(tmp_path) == [name]


def test_directory_that_is_no_bundle_is_never_replaced(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "t.atomtrace").mkdir()
    (tmp_path / "t.atomtrace" / "thesis.tex").touch()
    with pytest.raises(OutputError, match="not a trace bundle"):
        trace.save(tmp_path / "t.atomtrace", force=True)
    assert names_in(tmp_path / "t.atomtrace") == ["thesis.tex"]


def test_missing_directory_is_refused(tmp_path: Path, trace: Trace) -> None:
    for name in NAMES:
        with pytest.raises(OutputError, match="cannot be written: No such file or directory"):
            trace.save(tmp_path / "absent" / name)


def test_full_disk_is_reported(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "t.std").symlink_to("/dev/full")
    with pytest.raises(OutputError, match="cannot be written: No space left on device"):
        trace.save(tmp_path / "t.std")


@pytest.mark.parametrize("name", ["t.xml", "t", "t.rr", "t.log"])
def test_format_without_a_writer_is_refused(tmp_path: Path, trace: Trace, name: str) -> None:
    with pytest.raises(InputError, match="cannot write"):
        trace.save(tmp_path / name)


def test_compressed_formats_are_not_compressed_again() -> None:
    for name in ("t.parquet.gz", "t.atomtrace.zst"):
        with pytest.raises(InputError, match="compressed already"):
            output_format(name)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path, trace: Trace) -> None:
    trace.save(tmp_path / "a.std.gz")
    trace.save(tmp_path / "b.std.gz")
    assert (tmp_path / "a.std.gz").read_bytes() == (tmp_path / "b.std.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.std.gz").read_bytes()).startswith(b"T0|begin(m)|-\n")


def test_output_has_the_permissions_of_the_umask(tmp_path: Path, trace: Trace) -> None:
    before = os.umask(0o027)
    try:
        trace.save(tmp_path / "t.std")
        trace.save(tmp_path / "t.atomtrace")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.std").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "t.atomtrace").stat().st_mode) == 0o750


def test_streamed_csv_has_all_columns_on_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "t.std").write_text("".join(f"thread {i}|r(x)|{i}\n" for i in range(5)))
    write_trace(open_trace(tmp_path / "t.std", batch_events=2), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "r(x),,,,"
    assert names_in(tmp_path) == ["t.csv", "t.std"]
