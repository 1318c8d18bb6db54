"""Bad input and failing output: one clear line on standard error and exit code 2."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import atomsan as api
from atomsan.trace.byte_input import ByteInput
from cli.running import Atomsan, assert_refused, environment, leftovers, process

GOOD = b"T1|r(x)|1\nT2|w(x)|2\nT1|r(y)|3\n"

ACCEPTED = {
    "an empty file": (b"", 0),
    "only blank lines": (b"\n\r\n\n", 0),
    "no newline at the end": (b"T1|r(x)|1\nT1|r(x)|2", 2),
    "CRLF": (b"T1|r(x)|1\r\nT1|r(x)|2\r\n", 2),
    "a byte order mark": (b"\xef\xbb\xbfT1|r(x)|1\n", 1),
    "unicode and brackets": ("Fädchen|r(größe(λ)[0])|日本:1\n".encode(), 1),
}

REFUSED = {
    "invalid UTF-8": (b"T1|r(x)|1\nT1|r(\xff\xfe)|2\n", "t.std:2: "),
    "a NUL byte": (b"T1|r(x)|1\nT1|r(a\0b)|2\n", "t.std:2: "),
    "a line of 3 MB": (b"T1|r(x)|1\nT1|r(" + b"x" * 3_000_000 + b")|2\n", "t.std:2: "),
    "an unknown operation": (b"T1|r(x)|1\nT1|frob(x)|2\n", "t.std:2: unknown operation 'frob'"),
    "a missing field": (b"T1|r(x)|1\nT1|r(x)\n", "t.std:2: "),
    "an extra field": (b"T1|r(x)|1\nT1|r(x)|2|3\n", "t.std:2: "),
    "an empty thread": (b"T1|r(x)|1\n|r(x)|2\n", "t.std:2: "),
    "an empty target": (b"T1|r(x)|1\nT1|r()|2\n", "t.std:2: "),
    "an empty site": (b"T1|r(x)|1\nT1|r(x)|\n", "t.std:2: "),
    "no format at all": (b"hello\nworld\n", "t.std:1: "),
    "a lock released by nobody's holder": (b"T1|acq(l)|1\nT2|rel(l)|2\n", "t.std:2: T2 releases lock l, which T1"),
    "cut gzip": (gzip.compress(GOOD * 1000)[:-20], "t.std: the gzip data is cut"),
    "damaged gzip": (b"\x1f\x8bxxxxxxxxxxxxxxxxxxxxxxx", "t.std: the gzip data is cut or damaged"),
    "cut zstd": (pa.compress(GOOD * 1000, "zstd").to_pybytes()[:-20], "t.std: the zstd data is cut"),
    "damaged zstd": (b"\x28\xb5\x2f\xfdxxxxxxxxxxxxxxxxxxxxxx", "t.std: the zstd data is cut or damaged"),
}

VERBS = (["stats", "t.std"], ["validate", "t.std"], ["convert", "t.std", "out.atomtrace"])


@pytest.mark.parametrize("what", ACCEPTED)
def test_unusual_but_valid_input_is_accepted(atomsan: Atomsan, what: str) -> None:
    content, events = ACCEPTED[what]
    Path("t.std").write_bytes(content)
    s = "" if events == 1 else "s"
    assert atomsan("validate", "t.std") == (0, f"t.std: well-formed, {events} event{s}\n", "")
    assert atomsan("convert", "t.std", "t.atomtrace", "-q").code == 0
    assert json.loads(atomsan("stats", "t.atomtrace", "--format", "json").out)["trace"]["events"] == events


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("what", REFUSED)
def test_invalid_input_is_refused_with_its_place(
    atomsan: Atomsan, tmp_path: Path, what: str, arguments: list[str]
) -> None:
    content, words = REFUSED[what]
    Path("t.std").write_bytes(content)
    ran = atomsan(*arguments)
    assert_refused(ran, words)
    assert ran.out == ""
    assert leftovers(tmp_path) == {"t.std"}


def test_a_line_of_100_mb_does_not_fill_memory() -> None:
    with open("t.std", "wb") as file:
        file.write(b"T1|r(x)|1\n")
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    limit = 2 << 30  # address space, of which numpy and thread stacks take the most
    ran = process("stats", "t.std", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert_refused(ran, "t.std:2: ", "longer than")


# ---- files and directories


def test_no_such_file(atomsan: Atomsan) -> None:
    assert_refused(atomsan("stats", "missing.std"), "missing.std: no such file")


def test_newline_in_a_file_name_is_escaped_in_the_message(atomsan: Atomsan) -> None:
    assert_refused(atomsan("stats", "miss\ning.std"), "miss\\ning.std: no such file")


def test_directory_that_is_not_a_bundle_is_refused(atomsan: Atomsan) -> None:
    Path("d").mkdir()
    assert_refused(atomsan("stats", "d"), "d: a directory, but not a trace bundle")


def test_unknown_content_is_refused(atomsan: Atomsan) -> None:
    Path("t").write_bytes(b"hello\n")
    assert_refused(atomsan("stats", "t"), "t: ", "--input-format")


def test_file_that_shrinks_while_it_is_read(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.std").write_bytes(GOOD * 100_000)
    opened = ByteInput._open

    def shrinking(self: ByteInput, source: str) -> object:
        stream = opened(self, source)
        os.truncate("t.std", 2_000_000)
        return stream

    monkeypatch.setattr(ByteInput, "_open", shrinking)
    assert_refused(atomsan("stats", "t.std"), "t.std: the file shrank while being read", "2000000")


def test_no_permission(tmp_path: Path) -> None:
    """Modules are imported first: another user may not be able to read the interpreter's files."""
    Path("t.std").write_bytes(GOOD)
    Path("secret.std").write_bytes(GOOD)
    os.chmod("secret.std", 0)
    api.load("t.std").save("b.atomtrace")
    os.chmod("b.atomtrace/events.arrows", 0)
    Path("closed").mkdir(mode=0o555)
    script = """
import os, sys
from atomsan.cli.main import main
for warm in (["stats", "t.std"], ["stats", "missing"], ["convert", "t.std", "w.std"],
             ["convert", "t.std", "w.atomtrace"]):
    main(warm)
print("START", flush=True)
print("START", file=sys.stderr, flush=True)
if os.geteuid() == 0:
    os.setuid(65534)
for bad in (["stats", "secret.std"], ["stats", "b.atomtrace"], ["convert", "t.std", "closed/t.std"],
            ["convert", "t.std", "closed/t.atomtrace"], ["stats", "t.std", "-o", "closed/s.json"]):
    assert main(bad) == 2, bad
"""
    # another level with xdist
    for directory in (tmp_path, *tmp_path.parents[: 3 if "PYTEST_XDIST_WORKER" in os.environ else 2]):
        os.chmod(directory, 0o755)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=60)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stderr.partition("START\n")[2].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["atomsan"] * 5
    assert lines[0] == "atomsan: secret.std: permission denied"
    names = ["b.atomtrace", "closed/t.std", "closed/t.atomtrace", "closed/s.json"]
    for line, name in zip(lines[1:], names, strict=True):
        assert name in line
        assert "ermission denied" in line
    assert leftovers(Path("closed")) == set()


# ---- bundles


@pytest.fixture
def bundle() -> Path:
    Path("t.std").write_bytes(GOOD)
    api.load("t.std").save("b.atomtrace")
    return Path("b.atomtrace")


def test_a_bundle_without_meta(atomsan: Atomsan, bundle: Path) -> None:
    (bundle / "meta.json").unlink()
    assert_refused(atomsan("stats", bundle), "b.atomtrace: a directory, but not a trace bundle")


def test_a_bundle_of_another_version(atomsan: Atomsan, bundle: Path) -> None:
    meta = bundle / "meta.json"
    meta.write_text(meta.read_text().replace("atomtrace/2", "atomtrace/99"))
    assert_refused(atomsan("stats", bundle), "b.atomtrace", "atomtrace/99")


def test_a_bundle_with_a_foreign_schema(atomsan: Atomsan, bundle: Path) -> None:
    shutil.copy(bundle / "threads.arrows", bundle / "events.arrows")
    assert_refused(atomsan("stats", bundle), "b.atomtrace/events.arrows", "foreign schema")


def test_bundle_without_events_is_refused(atomsan: Atomsan, bundle: Path) -> None:
    (bundle / "events.arrows").unlink()
    assert_refused(atomsan("stats", bundle), "b.atomtrace", "events.arrows")


def test_a_bundle_that_was_cut_is_read_up_to_the_cut(atomsan: Atomsan, bundle: Path) -> None:
    events = bundle / "events.arrows"
    events.write_bytes(events.read_bytes()[:-40])
    ran = atomsan("stats", bundle, "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["trace"]["complete"] is False
    assert ran.err.startswith("atomsan: warning: b.atomtrace: events.arrows is cut")
    assert ran.err.count("\n") == 1
    assert atomsan("validate", bundle).out == "b.atomtrace: well-formed, cut short, 0 events\n"


def test_parquet_file_that_is_not_a_trace_is_refused(atomsan: Atomsan) -> None:
    Path("t.parquet").write_bytes(b"PAR1" + b"x" * 100)
    assert_refused(atomsan("stats", "t.parquet"), "t.parquet: ")


# ---- outputs


@pytest.mark.parametrize("name", ["t.std", "t.std.gz", "t.std.zst", "t.csv", "t.trace", "t.atomtrace", "t.parquet"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    ran = process(
        *("generate", "--events", "20_000", "--output", name),
        before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert_refused(ran, "cannot be written", "File too large")
    assert leftovers(tmp_path) == set()


@pytest.mark.parametrize("arguments", [["generate"], ["stats", "t.std"], ["validate", "t.std"], ["--help"], ["debug"]])
def test_standard_output_on_a_full_disk(arguments: list[str]) -> None:
    Path("t.std").write_bytes(GOOD)
    with open("/dev/full", "wb") as full:
        assert_refused(process(*arguments, stdout=full), "standard output", "No space left on device")


def test_writing_to_a_full_device_is_an_error(atomsan: Atomsan) -> None:
    Path("t.std").write_bytes(GOOD)
    assert_refused(atomsan("convert", "t.std", "/dev/full", "--output-format", "std"), "/dev/full: cannot be written")


def test_closed_standard_streams() -> None:
    Path("t.std").write_bytes(GOOD)
    assert_refused(process("convert", "t.std", "-", before=lambda: os.close(1)), "standard output is closed")
    assert_refused(process("stats", "-", before=lambda: os.close(0)), "standard input", "closed")
    assert process("stats", "missing.std", before=lambda: os.close(2)) == (2, "", "")


# ---- usage


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], ["frobnicate", "atomsan --help"]),
        (["--frob"], ["--frob", "atomsan --help"]),
        (["stats"], ["TRACE", "atomsan stats --help"]),
        (["validate"], ["TRACE", "atomsan validate --help"]),
        (["convert", "t.std"], ["TO", "atomsan convert --help"]),
        (["stats", "a", "b"], ["b", "atomsan stats --help"]),
        (["stats", "t.std", "--frob"], ["--frob", "atomsan stats --help"]),
        (["stats", "t.std", "--format"], ["--format"]),
        (["stats", "t.std", "--format", "xml"], ["--format must be one of text, json, not 'xml'"]),
        (["stats", "t.std", "--input-format", "xml"], ["--input-format must be one of", "std"]),
    ],
)
def test_bad_usage(atomsan: Atomsan, arguments: list[str], words: list[str]) -> None:
    assert_refused(atomsan(*arguments), *words)


def test_help_is_shown_if_no_verb_is_given(atomsan: Atomsan) -> None:
    ran = atomsan()
    assert (ran.code, ran.err) == (2, "atomsan: no verb given\n")
    assert ran.out == atomsan("--help").out


def test_version(atomsan: Atomsan) -> None:
    assert atomsan("--version") == (0, f"atomsan {api.__version__}\n", "")


def test_internal_error_asks_for_a_bug_report(atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("oops\nagain")

    monkeypatch.setattr("atomsan.trace.reading.open_trace", broken)
    assert_refused(atomsan("stats", "t.std"), "internal error: TypeError: oops\\nagain", "atomsan debug", code=70)
    monkeypatch.setenv("ATOMSAN_DEBUG", "1")
    assert "Traceback (most recent call last)" in atomsan("stats", "t.std").err


SHORTAGES = {
    "memory": MemoryError(),
    "the loader": ImportError("libarrow.so: failed to map segment from shared object"),
    "the system": OSError(12, "Cannot allocate memory"),
    "threads": RuntimeError("can't start new thread"),
}


@pytest.mark.parametrize("shortage", SHORTAGES)
def test_not_enough_memory(shortage: str, atomsan: Atomsan, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise SHORTAGES[shortage]

    def wrapped(*_: object, **__: object) -> None:
        try:
            broken()
        except Exception as error:
            raise ImportError("it could not be imported") from error

    for raising in (broken, wrapped):
        monkeypatch.setattr("atomsan.trace.reading.open_trace", raising)
        assert_refused(atomsan("stats", "t.std"), "not enough memory")


@pytest.mark.parametrize("kilobytes", [150_000, 200_000])
def test_limit_of_memory(kilobytes: int, atomsan: Atomsan) -> None:
    """`ulimit -v`: the libraries that read a bundle cannot be loaded."""
    assert atomsan("generate", "-q", "--kind", "random", "-o", "t.atomtrace").code == 0
    limit = 1024 * kilobytes
    ran = process("stats", "t.atomtrace", before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("atomsan: not enough memory")
    assert "Traceback" not in ran.err


def test_process_without_memory_ends_at_once() -> None:
    """What libraries do at the end of a process is not for one that has no memory; what was said is said."""
    program = (
        "import atexit, sys\nfrom atomsan.cli import exit_codes, main\n"
        "class Crash:\n    def __del__(self): print('tidied up')\n"
        "def broken(arguments): raise MemoryError\n"
        "main._run, sys.kept = broken, Crash()\natexit.register(print, 'at exit')\nmain.main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "at exit\n", "atomsan: not enough memory\n")
