"""Processes that the program forks: what they did waits on disk until it is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

import atomsan
from atomsan.flow.run import program_of, recorded, recording_options
from atomsan.recorder.log import forked
from atomsan.recorder.log.limits import Limits
from atomsan.source.spec import Specification

FORKS = """
import os
class C: n = 0
def work():
    for i in range(100):
        C.n += 1
        setattr(C, f"m{i}", i)
for _ in range(3):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("most", [forked.MOST_IN_MEMORY, 10])
def test_process_that_has_ended_leaves_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(forked, "MOST_IN_MEMORY", most)
    app = tmp_path / "app.py"
    app.write_text(FORKS)
    program = program_of(app, None, None, ())
    with recorded(program, recording_options(program, Specification()), Limits(), follow_fork=True) as done:
        assert len(done.forked) == 3
        for process in done.forked:
            tape, locations = process.tape, process.tape.symbols.locations
            assert tape.events > 100
            is_in_memory = tape.events <= most
            assert (tape._kept is not None) == is_in_memory
            assert locations.names.dropped == (0 if is_in_memory else len(locations))
            assert "C.n" in list(locations)
            assert atomsan.check(tape).trace.events == tape.events
