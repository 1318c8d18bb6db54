"""A recording: what is logged becomes batches, one trace after the other, of any language and up to a limit."""

from __future__ import annotations

import gc
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from atomsan.recorder.log.definitions import (
    FunctionDefinition,
    Language,
    ModuleDefinition,
    RegionDefinition,
    SiteDefinition,
    SiteLinks,
)
from atomsan.recorder.log.limits import EVENT_BYTES, Limits
from atomsan.recorder.log.recording import Recording
from atomsan.recorder.python.language import PYTHON
from recorder.raw import NAMES, BatchList, M, Resolved, log, module, record


def test_a_recording_through_the_ring() -> None:
    recording = Recording(shared=False, ring_bytes=1 << 13, language=PYTHON)
    sink = BatchList()
    recording.start(sink)
    for message in NAMES:
        recording.send(message)
    memory = np.frombuffer(recording.memory, np.uint8)
    head, capacity = memory[16:24].view(np.uint64), 256
    records = memory[4096:].view(log([record(1, "write", M, 1)]).dtype).reshape(-1, 32)
    for i in range(1000):
        records[int(head[0]) % capacity] = log([record(1 + i % 2, "write", M, 1)])
        head[0] += np.uint64(1)
        if i % 100 == 0:
            assert recording.drain()
            assert not recording.drain()
    recording.finish()
    batches = sink.batches
    assert sum(map(len, batches)) == recording.events == recording.counters["records"] == 1000
    assert [batch.first for batch in batches] == list(np.cumsum([0, *map(len, batches)])[:-1])
    assert not recording.drain()


def test_a_recording_for_another_process() -> None:
    recording = Recording(language=PYTHON)
    ring, definitions = recording.descriptors
    os.write(definitions, b'["thread", 1, "MainThread", "thread"]\n["nonsense"]\n')
    assert os.fstat(ring).st_size > 1 << 20
    assert not recording.drain()
    assert recording.warnings == ["1 definitions could not be read"]
    recording.finish(complete=False)
    assert not recording.closed


def test_losses_are_said_and_the_trace_is_not_complete() -> None:
    """How long the program waits is known when it is recorded, which can be later than its reader is there."""
    recording = Recording(language=PYTHON)
    assert recording.meta.missing == "the recording is not over"
    struct.pack_into("=Q", recording.memory, 32, 1)  # lost
    struct.pack_into("=I", recording.memory, 56, 2500)  # patience
    recording.cut_short("out of time")
    recording.finish()
    said, stopped = recording.warnings
    assert said.startswith("the recorder took nothing from the log for 2.5 s")
    assert (recording.meta.complete, recording.meta.missing, stopped) == (False, said, "out of time")


def test_recording_of_which_nothing_is_missing() -> None:
    recording = Recording(language=PYTHON)
    recording.finish()
    assert (recording.meta.complete, recording.meta.missing, recording.warnings) == (True, None, [])


def test_cost_of_a_restart_does_not_grow_with_definitions() -> None:
    def calls(modules: int) -> int:
        probes = [("load_attr", 1, 0, 1, "x", "a"), ("begin", 1, 0, 1, "", "", 0)]
        plans = [module(probes, regions=[(f"m{i}:f", "function")], first=2 * i + 1) for i in range(modules)]
        log = Resolved(plans).feed(record(1, "read", 64, 1, site=1))
        count = 0

        def counting(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        gc.disable()  # what it calls is nothing of ours
        sys.setprofile(counting)
        try:
            log.recording.restart("another")
        finally:
            sys.setprofile(None)
            gc.enable()
        return count

    calls(2)  # what is done once, such as imports
    assert calls(200) == calls(2)


def test_trace_ends_though_records_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    # in the program's own process: the death of a list of ours, at an address where the program had one
    recording = Recording(shared=False, language=PYTHON)
    count = 0

    def drain() -> bool:
        nonlocal count
        count += 1
        assert count < 10, "it does not end"
        return True

    monkeypatch.setattr(recording, "drain", drain)
    recording.restart("another")
    recording.end()
    assert count == 2


@pytest.mark.parametrize(
    ("limits", "count", "said"),
    [
        (Limits(), 10, None),
        (Limits(events=4), 4, "recording stopped after 4 events (--max-events)"),
        (Limits(bytes=3 * EVENT_BYTES + 1), 3, f"recording stopped after {3 * EVENT_BYTES} bytes (--max-bytes)"),
        (Limits(events=2, bytes=3 * EVENT_BYTES), 2, "recording stopped after 2 events (--max-events)"),
        (Limits(events=3, bytes=3 * EVENT_BYTES), 3, f"recording stopped after {3 * EVENT_BYTES} bytes (--max-bytes)"),
        (Limits(events=11), 10, None),
    ],
)
def test_limits_of_events_and_bytes(limits: Limits, count: int, said: str | None) -> None:
    recording = Recording(shared=False, ring_bytes=1 << 13, language=PYTHON, limits=limits)
    sink = BatchList()
    recording.start(sink)
    for _ in range(5):
        recording.feed(log([record(1, "write", M, 1), record(2, "read", M, 1)]))
    recording.finish()
    assert sum(map(len, sink.batches)) == recording.events == count
    assert recording.warnings == [said] * (said is not None)
    assert recording.meta.complete == (said is None)


def test_a_detached_sink_gets_nothing() -> None:
    recording = Recording(shared=False, ring_bytes=1 << 13, language=PYTHON)
    sink = BatchList()
    recording.start(sink)
    recording.detach()
    recording.feed(log([record(1, "write", M, 1)]))
    recording.finish()
    assert (sink.batches, recording.events) == ([], 1)


# Another language: a module is a file of C with one function, whose lines are its sites.


def read_c_file(definition: Mapping[str, Any], shown: Callable[[str], str]) -> ModuleDefinition:
    file, name = shown(definition["file"]), definition["function"]
    sites = [
        (SiteDefinition(file, line, 0, name, text, None, ""), SiteLinks(0, 0, None, is_statement=False))
        for line, text in enumerate(definition["lines"], 1)
    ]
    return ModuleDefinition([FunctionDefinition(name)], [RegionDefinition(name, "function")], sites, [], {})


def test_a_program_in_another_language() -> None:
    recording = Recording(shared=False, ring_bytes=1 << 13, language=Language(read_c_file, frozenset()))
    sink = BatchList()
    recording.start(sink)
    lines = ["void deposit() {", "    balance += 1;", "}"]
    recording.send(["module", {"first_site": 1, "file": "bank.c", "function": "deposit", "lines": lines}])
    recording.send(["module_name", M, "bank"])
    recording.send(["name", 1, "balance", 7])
    recording.feed(log([record(1, "begin", site=1), record(1, "write", M, 1, site=2), record(1, "end", site=3)]))
    recording.finish()
    assert recording.warnings == []
    assert sum(map(len, sink.batches)) == 3
    assert list(recording.symbols.locations) == ["bank.balance"]
    assert list(recording.symbols.regions) == ["deposit"]
    assert [recording.symbols.sites.get(site, "text") for site in range(3)] == [line.strip("\n") for line in lines]
