"""Bundles and Parquet archives: exact round trips, and every kind of damage."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import atomsan
from atomsan import InputError, Trace, TraceBuilder
from atomsan.trace.bundle import BundleSource, BundleWriter
from atomsan.trace.events import Op
from atomsan.trace.meta import TraceMeta
from atomsan.trace.reading import open_trace
from atomsan.trace.symbols import SYMBOL_KINDS, Symbols
from atomsan.trace.writing import write_trace
from oracles.model import Step
from strategies import traces

STD = "".join(f"T{i % 3}|{'rw'[i % 2]}(V{i % 7})|{i % 5}\n" for i in range(1000))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle of 1000 events in batches of 100."""
    (tmp_path / "t.std").write_text(STD)
    write_trace(open_trace(tmp_path / "t.std", batch_events=100), tmp_path / "t.atomtrace")
    return tmp_path / "t.atomtrace"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "t.std").write_text(STD)
    write_trace(open_trace(tmp_path / "t.std", batch_events=100), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("suffix", [".atomtrace", ".parquet"])
def test_std_round_trip_is_byte_for_byte(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a.std").write_text(STD)
    write_trace(open_trace(tmp_path / "a.std", batch_events=64), tmp_path / f"b{suffix}")
    write_trace(open_trace(tmp_path / f"b{suffix}"), tmp_path / "c.std")
    assert (tmp_path / "c.std").read_text() == STD


@pytest.mark.parametrize("suffix", [".atomtrace", ".parquet"])
def test_symbol_fields_survive_the_round_trip(tmp_path: Path, suffix: str) -> None:
    builder = TraceBuilder()
    builder.symbols.locations.intern("Account.balance#1", **{"object": "1", "class": "Account", "field": "balance"})
    builder.symbols.locations.intern("plain")
    builder.symbols.locks.intern("the loop", kind="loop")
    builder.symbols.regions.intern("bank:Account.add", origin="function", flow="acc\nself.pool", function=0)
    builder.symbols.functions.intern("bank:Account.add", summary='{"nodes":[]}')
    place = {"file": "bank.py", "line": 12, "column": 8, "function": "add", "text": "self.log.append(1)"}
    builder.symbols.sites.intern("s", **place, operation="append", owner=0, node=3, normal="self.log.append(1)")
    builder.add("T", "begin", "bank:Account.add", "s").add("T", "r", "Account.balance#1", "s").add("T", "w", "plain")
    builder.add("T", "acq", "the loop").add("T", "acq", "a lock")
    builder.build().save(tmp_path / f"t{suffix}")
    trace = atomsan.load(tmp_path / f"t{suffix}")
    symbols = trace.symbols
    assert [symbols.locations.get(0, field) for field in ("object", "class", "field", "owner")] == [
        "1", "Account", "balance", None,
    ]  # fmt: skip
    assert symbols.locations.get(1, "class") is None
    assert [symbols.locks.get(i, "kind") for i in (0, 1)] == ["loop", "lock"]
    assert symbols.regions.get(0, "origin") == "function"
    assert symbols.regions.get(0, "flow") == "acc\nself.pool"
    facts = (0, 3, "self.log.append(1)")
    assert symbols.sites.site(0) == ("s", "bank.py", 12, 8, "add", "self.log.append(1)", "append", *facts)
    assert symbols.regions.get(0, "function") == 0
    assert symbols.functions.get(0, "summary") == '{"nodes":[]}'
    assert trace[2].site is None


@pytest.mark.parametrize("suffix", [".atomtrace", ".parquet"])
@pytest.mark.parametrize("recorded", [False, True])
def test_who_recorded_a_trace_survives_the_round_trip(tmp_path: Path, suffix: str, recorded: bool) -> None:
    trace = TraceBuilder().add("T", "begin", "f").add("T", "r", "x").build()
    trace.meta.recorded = recorded
    trace.save(tmp_path / f"t{suffix}")
    assert atomsan.load(tmp_path / f"t{suffix}").meta.recorded is recorded


@pytest.mark.parametrize(("origin", "expected"), [("function", True), ("annotated", False), ("foreign", False)])
def test_bundle_that_does_not_say_who_recorded_it_is_known_by_its_regions(
    tmp_path: Path, origin: str, expected: bool
) -> None:
    """Bundles that were written before `recorded` was a key of their meta.json."""
    builder = TraceBuilder()
    builder.symbols.regions.intern("f", origin=origin)
    path = tmp_path / "t.atomtrace"
    builder.add("T", "begin", "f").build().save(path)
    meta = json.loads((path / "meta.json").read_text())
    del meta["recorded"]
    (path / "meta.json").write_text(json.dumps(meta))
    assert atomsan.load(path).meta.recorded is expected


@settings(max_examples=60, deadline=None)
@given(traces())
def test_any_trace_survives_the_round_trip(tmp_path_factory: pytest.TempPathFactory, steps: list[Step]) -> None:
    builder = TraceBuilder()
    for step in steps:
        builder.add(step.thread, step.op, step.target, site=None if len(step.target) % 2 else step.target)
    trace = builder.build()
    directory = tmp_path_factory.mktemp("round")
    for name in ("t.atomtrace", "t.parquet"):
        trace.save(directory / name)
        again = atomsan.load(directory / name)
        assert list(again) == list(trace)
        assert all(list(again.symbols.table(kind)) == list(trace.symbols.table(kind)) for kind in SYMBOL_KINDS)
    shutil.rmtree(directory)


def test_empty_trace_survives_the_round_trip(tmp_path: Path) -> None:
    for name in ("t.atomtrace", "t.parquet", "t.std", "t.csv", "t.trace", "t.std.gz", "t.std.zst"):
        TraceBuilder().build().save(tmp_path / name)
        assert len(atomsan.load(tmp_path / name)) == 0


def test_numbered_sites_have_no_rows(tmp_path: Path) -> None:
    text = "".join(f"T|r(x)|{i}\n" for i in range(1, 3000))
    (tmp_path / "t.std").write_text(text)
    write_trace(open_trace(tmp_path / "t.std", batch_events=100), tmp_path / "t.atomtrace")
    with pa.OSFile(str(tmp_path / "t.atomtrace" / "sites.arrows")) as file:
        assert pa.ipc.open_stream(file).read_all().num_rows == 0
    write_trace(open_trace(tmp_path / "t.atomtrace"), tmp_path / "u.std")
    assert (tmp_path / "u.std").read_text() == text


def test_files_are_readable_with_pyarrow_alone(bundle: Path, archive: Path) -> None:
    with pa.OSFile(str(bundle / "events.arrows")) as file:
        events = pa.ipc.open_stream(file).read_all()
    assert events.schema.names == ["thread", "op", "target", "site"]
    assert [str(field.type) for field in events.schema] == ["uint32", "uint8", "uint32", "uint32"]
    assert pq.read_table(archive).equals(events)
    meta = json.loads((bundle / "meta.json").read_text())
    assert (meta["format"], meta["complete"], meta["events"]) == ("atomtrace/2", True, 1000)


def test_missing_nullable_column_is_accepted(tmp_path: Path) -> None:
    trace = atomsan.parse("T:begin(f) T:r(x) T:end(f)")
    trace.symbols.regions.set(0, "flow", "a get set")
    trace.symbols.regions.set(0, "entered", "callback")
    path = tmp_path / "t.atomtrace"
    trace.save(path)
    assert atomsan.load(path).symbols.regions.get(0, "entered") == "callback"
    with pa.OSFile(str(path / "regions.arrows")) as file, pa.ipc.open_stream(file) as stream:
        table = stream.read_all().drop_columns(["entered"])
    with pa.OSFile(str(path / "regions.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    regions = atomsan.load(path).symbols.regions
    assert (regions.get(0, "flow"), regions.get(0, "entered")) == ("a get set", None)


def test_bundle_of_the_first_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    atomsan.parse("T:begin(f) T:r(x) T:end(f)").save(path)
    meta = json.loads((path / "meta.json").read_text())
    (path / "meta.json").write_text(json.dumps({**meta, "format": "atomtrace/1"}))
    (path / "functions.arrows").unlink()
    trace = atomsan.load(path)
    assert (len(trace), len(trace.symbols.functions)) == (3, 0)
    assert trace.symbols.regions.get(0, "function") is None


def test_archive_of_the_first_version_is_read(tmp_path: Path) -> None:
    atomsan.parse("T:begin(f) T:r(x) T:end(f)").save(tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    content = dict(pq.read_metadata(tmp_path / "t.parquet").metadata)
    del content[b"atomsan.functions"]
    content[b"atomsan.meta"] = content[b"atomsan.meta"].replace(b"atomtrace/2", b"atomtrace/1")
    pq.write_table(table.replace_schema_metadata(content), tmp_path / "old.parquet")
    trace = atomsan.load(tmp_path / "old.parquet")
    assert (len(trace), len(trace.symbols.functions)) == (3, 0)


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)


def read(path: Path) -> tuple[int, bool, list[str]]:
    source = open_trace(path)
    return sum(map(len, source.batches())), source.meta.complete, source.meta.warnings


def test_cut_bundle_is_read_up_to_the_cut(bundle: Path) -> None:
    events = bundle / "events.arrows"
    whole = events.stat().st_size
    counts = set()
    for size in range(whole - 1, -1, -37):
        cut(events, size)
        count, complete, warnings = read(bundle)
        assert count % 100 == 0
        if count < 1000:
            assert not complete
            assert len(warnings) == 1
            assert "cut" in warnings[0]
        counts.add(count)
    assert counts >= {0, 100, 500, 900}


def test_incomplete_recording_gives_a_warning(bundle: Path) -> None:
    meta = json.loads((bundle / "meta.json").read_text())
    (bundle / "meta.json").write_text(json.dumps(meta | {"complete": False, "events": None}))
    assert read(bundle) == (1000, False, ["the recording was cut short: 1000 events are there"])


def change_meta(bundle: Path, **changes: object) -> None:
    meta = json.loads((bundle / "meta.json").read_text())
    (bundle / "meta.json").write_text(json.dumps(meta | changes))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: (b / "meta.json").unlink(), "not a trace bundle"),
        (lambda b: (b / "meta.json").write_text("{"), "meta.json: not valid JSON"),
        (lambda b: (b / "meta.json").write_text("[]"), "does not say which format"),
        (lambda b: change_meta(b, format="atomtrace/3"), "has the format 'atomtrace/3'; this version reads"),
        (lambda b: change_meta(b, complete="yes"), "'complete' has a wrong type"),
        (lambda b: change_meta(b, seconds=float("nan")), "'seconds' is out of range"),
        (lambda b: change_meta(b, events=-1), "'events' is out of range"),
        (lambda b: change_meta(b, numbered_sites={"first": -1, "count": 2}), "'numbered_sites' is wrong"),
        (lambda b: (b / "events.arrows").unlink(), "the bundle has no events.arrows"),
        (lambda b: (b / "locks.arrows").unlink(), "the bundle has no locks.arrows"),
        (lambda b: (b / "events.arrows").write_bytes(b"x" * 1000), "events.arrows: not an Arrow stream"),
        (lambda b: shutil.copy(b / "threads.arrows", b / "events.arrows"), "a foreign schema"),
        (lambda b: shutil.copy(b / "events.arrows", b / "sites.arrows"), "a foreign schema"),
        (lambda b: cut(b / "variables.arrows", 0), "location number 0 is not in the table of locations"),
    ],
)  # fmt: skip
def test_damaged_bundle_is_refused(bundle: Path, damage: object, message: str) -> None:
    damage(bundle)  # type: ignore[operator]
    with pytest.raises(InputError, match=message) as caught:
        read(bundle)
    assert str(bundle) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_outside_the_symbol_tables_are_refused(bundle: Path) -> None:
    schema = pa.schema([("thread", pa.uint32()), ("op", pa.uint8()), ("target", pa.uint32()), ("site", pa.uint32())])
    for row, message in [
        ((0, 99, 0, 0), "operation 99 does not exist"),
        ((77, 0, 0, 0), "thread number 77 is not in the table of threads"),
        ((0, 0, 77, 0), "location number 77 is not in the table of locations"),
        ((0, 2, 0, 0), "lock number 0 is not in the table of locks"),
        ((0, 0, 0, 77), "site number 77 is not in the table of sites"),
    ]:
        batch = pa.RecordBatch.from_pydict(
            {name: pa.array([value], schema.field(name).type) for name, value in zip(schema.names, row, strict=True)}
        )
        with pa.OSFile(str(bundle / "events.arrows"), "wb") as file, pa.ipc.new_stream(file, batch.schema) as stream:
            stream.write_batch(batch)
        for lenient in (False, True):
            with pytest.raises(InputError, match=f"event 0: {message}"):
                list(open_trace(bundle, lenient=lenient).batches())


def test_flipped_bytes_are_refused_or_leave_a_well_formed_trace(bundle: Path) -> None:
    """Whichever byte changes: the bundle is refused in one line, or read as a well-formed trace."""
    for part in ("events.arrows", "variables.arrows", "meta.json"):
        original = (bundle / part).read_bytes()
        for at in range(0, len(original), 11):
            damaged = bytearray(original)
            damaged[at] ^= 0x55
            (bundle / part).write_bytes(damaged)
            try:
                count, *_ = read(bundle)
            except InputError as error:
                assert "\n" not in str(error)
            else:
                assert count <= 1000
        (bundle / part).write_bytes(original)


def test_damaged_archive_is_refused(archive: Path) -> None:
    whole = archive.read_bytes()
    for size in (4, 12, len(whole) // 2, len(whole) - 1):
        archive.write_bytes(whole[:size])
        with pytest.raises(InputError, match="cut or damaged Parquet"):
            read(archive)
    for at in range(4, len(whole), 41):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        archive.write_bytes(damaged)
        try:
            read(archive)
        except InputError as error:
            assert "\n" not in str(error)


def test_foreign_parquet_file_is_refused(tmp_path: Path, archive: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
    with pytest.raises(InputError, match="a foreign schema"):
        atomsan.load(tmp_path / "foreign.parquet")
    pq.write_table(pq.read_table(archive).replace_schema_metadata(), tmp_path / "bare.parquet")
    with pytest.raises(InputError, match="not a trace archive"):
        atomsan.load(tmp_path / "bare.parquet")


def test_incomplete_recording_stays_incomplete_when_converted(bundle: Path, tmp_path: Path) -> None:
    cut(bundle / "events.arrows", (bundle / "events.arrows").stat().st_size - 40)
    source = open_trace(bundle)
    write_trace(source, tmp_path / "again.atomtrace")
    again = open_trace(tmp_path / "again.atomtrace")
    assert sum(map(len, again.batches())) == 900
    assert not again.meta.complete


def test_metadata_survives_the_round_trip(tmp_path: Path) -> None:
    trace = TraceBuilder().add("T", Op.READ, "x").build()
    trace.meta.program = "bank.py"
    trace.meta.command_line = ["bank.py", "--fast"]
    trace.meta.seconds = 1.5
    trace.meta.holders = {"Log #1": ["Account #1.log"]}
    trace.meta.fields = {"Account.log": ["Log"]}
    trace.meta.followed = {"Account": ["log"]}
    for name in ("t.atomtrace", "t.parquet"):
        trace.save(tmp_path / name)
        meta = Trace.from_source(open_trace(tmp_path / name)).meta
        assert (meta.program, meta.command_line, meta.seconds) == ("bank.py", ["bank.py", "--fast"], 1.5)
        assert meta.holders == {"Log #1": ["Account #1.log"]}
        assert (meta.fields, meta.followed) == ({"Account.log": ["Log"]}, {"Account": ["log"]})


def test_metadata_is_written_by_a_flush(tmp_path: Path) -> None:
    """Even if the bundle is never finished. Large metadata is not written at every flush."""
    meta = TraceMeta("t", "recording")
    writer = BundleWriter(tmp_path, Symbols(), meta)

    def held() -> int:
        writer.flush()
        return len(json.loads((tmp_path / "meta.json").read_text())["holders"])

    counts = []
    for more in (1, 10, 100_000, 1):
        meta.holders |= {f"Log #{len(meta.holders) + number}": ["Account #1.log"] for number in range(more)}
        counts.append(held())
    assert counts == [1, 11, 100_011, 100_011]
    writer.finish()
    assert len(BundleSource(tmp_path).meta.holders) == 100_012
