"""AtomSan finds atomicity violations in concurrent programs.

    source  ->  recorder  ->  trace  ->  checkers  ->  findings  ->  reports

    $ atomsan run app.py                                # or: pytest --atomsan

    import atomsan
    report = atomsan.run("app.py", "argument")          # the same from Python; noise=True finds more
    with atomsan.recording("t.atomtrace"): ...          # what is imported and runs inside is recorded
    trace = atomsan.load("t.std")                       # any format, path or open file, into memory
    trace = atomsan.parse("T1:begin T1:r(x) T2:w(x)")   # the one-line notation, or format="std", "csv", "rr"
    trace = atomsan.TraceBuilder().add("T1", "r", "x").build()
    trace.save("t.atomtrace")
    for batch in atomsan.open_trace("t.std").batches(): ...     # a trace too large for memory
    report = atomsan.check("t.std")                     # or a Trace; algorithm="davida", spec="spec.toml", first=True
    print(report); report.verdict, report.findings, report.suspects, report.notes, report.to_dict()
    report = atomsan.predict("t.std")                                  # other interleavings of the same run
    report = atomsan.sets("t.std", sets={"S": ["x", "y"]}, declared={"m1": ["S"]})      # each atomic set by itself
    result = atomsan.refine(["t.std"]); result.spec     # which regions are atomic, inferred from traces

Bad input raises `atomsan.InputError`, a result that cannot be written `atomsan.OutputError`.
Importing the package costs next to nothing: a name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atomsan.errors import AtomSanError, InputError, OutputError
    from atomsan.findings.finding import Finding
    from atomsan.findings.report import Report
    from atomsan.flow.check import check
    from atomsan.flow.predict import predict
    from atomsan.flow.refine import Refinement, refine
    from atomsan.flow.run import run
    from atomsan.flow.sets import sets
    from atomsan.recorder.python.inprocess import recording
    from atomsan.source.annotations import atomic, atomic_set, not_atomic, unit_for
    from atomsan.source.spec import Specification
    from atomsan.trace.builder import TraceBuilder
    from atomsan.trace.reading import load, open_trace, parse
    from atomsan.trace.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "AtomSanError",
    "Finding",
    "InputError",
    "OutputError",
    "Refinement",
    "Report",
    "Specification",
    "Trace",
    "TraceBuilder",
    "__version__",
    "atomic",
    "atomic_set",
    "check",
    "load",
    "not_atomic",
    "open_trace",
    "parse",
    "predict",
    "recording",
    "refine",
    "run",
    "sets",
    "unit_for",
]

_HOMES = {
    "AtomSanError": "atomsan.errors",
    "Finding": "atomsan.findings.finding",
    "InputError": "atomsan.errors",
    "OutputError": "atomsan.errors",
    "Refinement": "atomsan.flow.refine",
    "Report": "atomsan.findings.report",
    "Specification": "atomsan.source.spec",
    "Trace": "atomsan.trace.trace",
    "TraceBuilder": "atomsan.trace.builder",
    "atomic": "atomsan.source.annotations",
    "atomic_set": "atomsan.source.annotations",
    "check": "atomsan.flow.check",
    "load": "atomsan.trace.reading",
    "not_atomic": "atomsan.source.annotations",
    "open_trace": "atomsan.trace.reading",
    "parse": "atomsan.trace.reading",
    "predict": "atomsan.flow.predict",
    "recording": "atomsan.recorder.python.inprocess",
    "refine": "atomsan.flow.refine",
    "run": "atomsan.flow.run",
    "sets": "atomsan.flow.sets",
    "unit_for": "atomsan.source.annotations",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"})
