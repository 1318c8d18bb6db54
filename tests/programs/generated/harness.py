"""Records generated programs in this process, and judges them.

    with Harness() as harness:
        judged = harness.judge(program, schedule, spelling)

The program is written as Python, instrumented as an import would be, and run by a directed scheduler. The trace stays
in memory.
"""

from __future__ import annotations

import threading
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import atomsan
from atomsan.recorder.log.tape import Tape
from atomsan.recorder.python.inprocess import InProcess
from atomsan.recorder.python.options import RecordingOptions
from atomsan.recorder.python.session import scheduled
from generated.directed import Directed
from generated.machine import frozen
from generated.spelling import PLAIN, Spelling, written
from generated.tree import Program
from generated.truth import Outcome

if TYPE_CHECKING:
    from typing import Self

FINDING, SUSPECT, NOTE, NOTHING = "finding", "suspect", "note", "nothing"
LEVELS = (FINDING, SUSPECT, NOTE, NOTHING)

# A recorder keeps what was defined: after so many programs there is a new one.
PROGRAMS_OF_A_RECORDER = 200


class Run(NamedTuple):
    tape: Tape
    outcome: Outcome
    failure: str | None
    """Why the program was not steered as wanted."""


class Judged(NamedTuple):
    level: str
    report: atomsan.Report
    run: Run


class Harness:
    def __init__(self) -> None:
        self._recorder: InProcess | None = None
        self._fields: dict[int, str] = {}
        self._programs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._recorder is not None:
            self._recorder.__exit__()
            self._recorder = None

    def judge(self, program: Program, schedule: tuple[int, ...], spelling: Spelling = PLAIN) -> Judged:
        run = self.run(program, schedule, spelling)
        report = atomsan.check(run.tape)
        return Judged(level_of(report), report, run)

    def predict(self, program: Program, schedule: tuple[int, ...], spelling: Spelling = PLAIN) -> Judged:
        """What could have happened in other interleavings."""
        run = self.run(program, schedule, spelling)
        report = atomsan.predict(run.tape)
        return Judged(level_of(report), report, run)

    def run(self, program: Program, schedule: tuple[int, ...], spelling: Spelling = PLAIN) -> Run:
        recorder = self._ready()
        source = written(program, spelling)
        shared, run_shared = self._loaded(recorder, "shared", source.shared)
        entries, run_entries = self._loaded(recorder, "entries", source.entries)
        with recorder.trace(f"program {self._programs}") as tape:
            directed = Directed(recorder._recording.memory, schedule, self._fields)
            with scheduled(directed):
                exec(run_shared, shared.__dict__)
                exec(run_entries, entries.__dict__)
                store = shared.Store()
                _share(directed, program, shared, store)
                results = _run_threads(directed, program, entries, store)
        return Run(tape, _outcome(program, shared, store, results), directed.failure)

    def _loaded(self, recorder: InProcess, name: str, source: str) -> tuple[Any, types.CodeType]:
        """A module and its instrumented code, as an import would make them."""
        session = recorder._session
        module = types.ModuleType(name)
        module.__file__ = f"{name}{self._programs}.py"
        code = session.rewritten(source.encode(), name, module.__file__)
        assert code is not None, session.failures
        session.entered(module)
        return module, code

    def _ready(self) -> InProcess:
        if self._recorder is not None and self._programs % PROGRAMS_OF_A_RECORDER == 0:
            self._recorder.__exit__()
            self._recorder = None
        if self._recorder is None:
            self._fields.clear()
            self._recorder = InProcess(RecordingOptions(include=(), omit=(), cache=None))
            send = self._recorder._session._send
            self._recorder._session._send = lambda message: self._send(send, message)
            self._recorder.__enter__()
        self._programs += 1
        return self._recorder

    def _send(self, send: Any, message: list[Any]) -> None:
        if message[0] == "name":
            self._fields[message[1]] = message[2]
        send(message)


def level_of(report: atomsan.Report) -> str:
    if report.findings:
        return FINDING
    if getattr(report, "suspects", ()):
        return SUSPECT
    return NOTE if report.notes else NOTHING


def _homes(shared: Any, store: Any) -> dict[str, Any]:
    """Where data can be, by the names that the tree has for it."""
    return {"store": store, "peer": getattr(store, "peer", None), "module": shared}


def _share(directed: Directed, program: Program, shared: Any, store: Any) -> None:
    """Tell the scheduler which objects and fields count."""
    for home, owner in _homes(shared, store).items():
        own = [data for data in program.data if data.home == home]
        directed.share(owner, frozenset(data.name for data in own if data.kind == "field"))
        for data in own:
            if data.kind != "field":
                directed.share(getattr(owner, data.name))
    for lock in program.locks:
        directed.share(getattr(store, lock))


def _run_threads(directed: Directed, program: Program, module: Any, store: Any) -> list[list[object]]:
    results: list[list[object]] = []
    threads = []
    for number in range(len(program.threads)):
        results.append([])
        thread = threading.Thread(target=getattr(module, f"entry{number}"), args=(store, results[-1]))
        thread.number = number  # type: ignore[attr-defined]
        threads.append(thread)
    for thread in threads:
        thread.start()
    directed.begin(len(threads))
    for thread in threads:
        thread.join()
    return results


def _outcome(program: Program, shared: Any, store: Any, results: list[list[object]]) -> Outcome:
    homes = _homes(shared, store)
    final = tuple(frozen(data.kind, getattr(homes[data.home], data.name)) for data in program.data)
    return final, tuple(map(tuple, results))
