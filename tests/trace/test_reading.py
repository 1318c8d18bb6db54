"""Opening a trace: detection of format and compression, and errors of files and streams."""

import gzip
import io
import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import atomsan
from atomsan import InputError
from atomsan.trace.byte_input import ByteInput
from atomsan.trace.formats import detect
from atomsan.trace.reading import open_trace

STD = "".join(f"T{i % 3}|r(V{i % 7})|{i % 5}\n" for i in range(1000)).encode()


@pytest.mark.parametrize(
    ("head", "name", "format"),
    [
        (b"T0|r(V1)|12\n", "x", "std"),
        (b"\xef\xbb\xbfT0|r(V1)|12\n", "x", "std"),
        (b"\n\nT0|r(V1)|12\r\n", "x.csv", "std"),
        (b"T0|r(x)\n", "x", "std"),
        (b"T0|acq(a,b)|f(1)\n", "x", "std"),
        (b"r(V123),,\n", "x", "csv"),
        (b",,w(V234.23[0])\n", "x.std", "csv"),
        (b"begin,,\n", "x", "csv"),
        (b"T1:begin T1:r(x) T2:w(x)", "x", "notation"),
        (b"T1:r(x)@app.py:3", "x", "notation"),
        (b"[main: RoadRunner Agent Loaded.]\n", "x", "rr"),
        (b"hello\n@  Enter(0,test/Test.main([Ljava/lang/String;)V) from null\n", "x", "rr"),
        (b"@  main[tid = 0] started .\n", "x", "rr"),
        (b"PAR1....", "x", "parquet"),
        (b"\0\0\0\1\0\0\0\x14\0\0\0\7", "x", "davida"),
        (b"", "x", "std"),
        (b"", "x.csv", "csv"),
        (b"what is this", "x", None),
        (b"what is this", "x.std.gz", "std"),
        (b"what is this", "x.rr", "rr"),
    ],
)
def test_format_is_detected_by_content_first(head: bytes, name: str, format: str | None) -> None:
    assert detect(head, name) == format


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def two_members(data: bytes) -> bytes:
    return gzip.compress(data[:99]) + gzip.compress(data[99:])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, two_members, zstd])
def test_compression_is_detected_by_content(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "trace"
    path.write_bytes(pack(STD))  # type: ignore[operator]
    assert len(atomsan.load(path)) == 1000
    with path.open("rb") as stream:
        assert len(atomsan.load(stream)) == 1000


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "gzip"), (zstd, "zstd")])
def test_cut_compressed_data_is_refused(tmp_path: Path, pack: object, name: str) -> None:
    whole = pack(STD * 50)  # type: ignore[operator]
    path = tmp_path / "t.std"
    for size in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=f"{path}.*the {name} data is cut or damaged") as caught:
            atomsan.load(path)
        assert "\n" not in str(caught.value)


def test_damaged_gzip_data_is_refused(tmp_path: Path) -> None:
    """gzip has a checksum, so every changed byte after the header is detected."""
    whole = gzip.compress(STD * 50)
    for at in range(12, len(whole), 29):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        (tmp_path / "t.std").write_bytes(damaged)
        with pytest.raises(InputError):
            atomsan.load(tmp_path / "t.std")


def test_input_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        atomsan.load(tmp_path / "absent.std")
    with pytest.raises(InputError, match="not a trace bundle"):
        atomsan.load(tmp_path)
    (tmp_path / "t").write_text("what is this")
    with pytest.raises(InputError, match="neither its content nor its name tells the format"):
        atomsan.load(tmp_path / "t")
    with pytest.raises(InputError, match="unknown format 'xml'"):
        atomsan.load(tmp_path / "t", format="xml")
    with pytest.raises(InputError, match="a bundle is a directory"):
        atomsan.load(tmp_path / "t", format="bundle")


def test_file_that_shrinks_while_being_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.std"
    path.write_bytes(STD * 1000)
    source = open_trace(path, batch_events=1000)
    batches = source.batches()
    next(batches)
    os.truncate(path, 2_000_000)
    with pytest.raises(InputError, match="shrank while being read"):
        list(batches)


def test_file_deleted_while_being_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.std"
    path.write_bytes(STD * 1000)
    source = open_trace(path)
    path.unlink()
    assert sum(map(len, source.batches())) == 1_000_000


def test_named_pipe_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(STD * 3000))
    writer.start()
    assert sum(map(len, open_trace(path).batches())) == 3_000_000
    writer.join()


def test_chunk_size_does_not_change_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(atomsan.parse(STD, format="std"))
    monkeypatch.setattr("atomsan.trace.reading.MAX_LINE", 100)
    for chunk in (13, 14, 50, 100, 1001):
        monkeypatch.setattr("atomsan.trace.reading.CHUNK", chunk)
        assert list(atomsan.parse(STD, format="std")) == whole


def test_abandoned_source_leaves_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "t.std"
    path.write_bytes(STD * 1000)
    batches = open_trace(path, batch_events=1000).batches()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if thread.name == "atomsan-read-ahead":
            thread.join(5)
            assert not thread.is_alive()


def test_progress_is_measured_in_compressed_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(STD * 2000)
    (tmp_path / "t.gz").write_bytes(packed)
    data = ByteInput(tmp_path / "t.gz")
    assert data.size == len(packed)
    assert 0 < data.position <= len(packed)
    assert len(data.read_all(1 << 30)) == len(STD) * 2000
    assert data.position == len(packed)
    data.close()


def test_text_stream_is_refused() -> None:
    with pytest.raises(InputError, match="binary"):
        atomsan.load(io.StringIO("T|r(x)|1\n"))  # type: ignore[arg-type]


def test_stream_of_the_caller_stays_open(tmp_path: Path) -> None:
    stream = io.BytesIO(STD)
    assert len(atomsan.load(stream)) == 1000
    assert not stream.closed


def test_size_of_the_notation_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomsan.trace.reading.MAX_NOTATION", 1000)
    with pytest.raises(InputError, match="longer than the 1000 bytes"):
        atomsan.parse("T:r(x) " * 1000)
