"""Warnings about what a check could not see: names that match nothing, no watched code, no second thread."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import atomsan
from atomsan import Report, Specification, Trace, TraceBuilder

LINE = "T:begin(bank:main) T:r(x) U:w(x) T:end(bank:main)"


def warnings(spec: Specification, line: str = LINE) -> list[str]:
    return list(atomsan.check(atomsan.parse(line), spec=spec).warnings)


def test_globs_that_match_no_region_warn() -> None:
    assert warnings(Specification(atomic=("bank:*",), not_atomic=("*:main",))) == []
    assert warnings(Specification(atomic=("shop:*", "bank:*"), not_atomic=("bank:maim",))) == [
        'atomic matches no region of the trace: "shop:*"',
        'not_atomic matches no region of the trace: "bank:maim" (did you mean "bank:main"?)',
    ]


def test_many_globs_are_one_warning() -> None:
    spec = Specification(not_atomic=tuple(f"zzz{number}" for number in range(9)))
    assert warnings(spec) == ['not_atomic matches no region of the trace: "zzz0", "zzz1", "zzz2" and 6 more']


def test_sets_of_another_tool_warn() -> None:
    assert warnings(Specification(sets={"S": ("x", "ba?"), "T": ("x",)})) == [
        'set S matches no location of the trace: "ba?"'
    ]


def test_trace_that_was_not_read_to_its_end_does_not_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)" + " T:r(y)" * 9000 + " T:begin(g) T:end(g)"
    trace = atomsan.parse(line)
    report = atomsan.check(trace, spec=Specification(not_atomic=("zzz",)), first=True)
    assert report.findings
    assert list(report.warnings) == []


def recorded(line: str, **fields: str) -> Trace:
    builder = TraceBuilder()
    if fields:
        builder.symbols.locations.intern("x", **fields)
    trace = builder.extend(atomsan.parse(line)).build()
    trace.meta.recorded = True
    trace.meta.classes = {"Savings": ["Account"]}
    return trace


def test_sets_of_classes_warn() -> None:
    trace = recorded(LINE, **{"class": "Account.items", "field": "[...]", "object": "Account.items (Account #1)"})
    for sets in ({"Account": ("items",)}, {"Account:one": ("it*",)}, {"Savings": ("**",)}, {"*": ("items.n",)}):
        assert list(atomsan.check(trace, spec=Specification(sets=sets)).warnings) == []
        assert list(atomsan.sets(trace, spec=Specification(sets=sets)).warnings) == []
    spec = Specification(sets={"Acount": ("items",), "Account": ("itms.n",)})
    for report in (atomsan.check(trace, spec=spec), atomsan.sets(trace, spec=spec)):
        assert list(report.warnings) == [
            "set Acount: no data of such a class is in the trace",
            'set Account matches no field of the trace: "itms.n"',
        ]


def test_one_thread_and_nothing_watched_warn() -> None:
    one = "only one thread or task did anything that is watched: nothing could come in between"
    nothing = "nothing was watched: atomsan run --explain-selection says why, --include names what to watch"
    assert list(atomsan.check(recorded("T:begin(f) T:r(x) T:end(f)")).warnings) == [one]
    assert list(atomsan.check(recorded("T:acq(l) T:rel(l)")).warnings) == [nothing]
    assert list(atomsan.check(atomsan.parse("T:r(x)")).warnings) == [], "another tool's trace is what it is"


def run(directory: Path, **options: object) -> Report:
    (directory / "app.py").write_text(
        textwrap.dedent(
            """
            import threading
            import json
            from pkg import box
            thread = threading.Thread(target=box.fill)
            thread.start()
            thread.join()
            box.fill()
            """
        )
    )
    (directory / "pkg").mkdir()
    (directory / "pkg" / "__init__.py").write_text("")
    (directory / "pkg" / "box.py").write_text("items = []\ndef fill():\n    items.append(1)\n")
    return atomsan.run(directory / "app.py", **options)  # type: ignore[arg-type]


def test_modules_that_no_glob_names_warn(tmp_path: Path) -> None:
    report = run(tmp_path, include=["pkg", "pkg.box", "shop"], omit=["json", "*/box.py.old"])
    assert list(report.warnings) == [
        "--include shop matched no module that was imported while recording",
        "--omit */box.py.old matched no module that was imported while recording",
    ]


@pytest.mark.parametrize("live", [False, True])
def test_run_in_which_nothing_is_watched_warns(live: bool, tmp_path: Path) -> None:
    report = run(tmp_path, omit=["app", "pkg"], live=live)
    assert list(report.warnings) == [
        "nothing was watched: atomsan run --explain-selection says why, --include names what to watch"
    ]
