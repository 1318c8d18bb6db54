"""`pytest --atomsan`: records each test, and fails it when it shows an atomicity violation.

    pytest --atomsan
    pytest --atomsan --atomsan-noise --atomsan-report findings.json

    @pytest.mark.atomsan(noise=True, repeat=5)      # options for one test; enabled=False leaves it alone
    def test_deposits(): ...

Pytest loads this file in every run. Without `--atomsan` it adds options and a marker, and imports nothing of ours.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from atomsan.findings.report import Report
    from atomsan.recorder.inprocess import InProcess
    from atomsan.source.loading import Preparation
    from atomsan.source.spec import Specification

MARKER = "atomsan(enabled, noise, seed, repeat, atomic, not_atomic): how this test is recorded with --atomsan"
MARKER_OPTIONS = ("enabled", "noise", "seed", "repeat", "atomic", "not_atomic")

# Where the findings of a test travel with its report, from a worker of pytest-xdist too.
REPORTS = "atomsan_reports"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("atomsan", "atomicity violations (AtomSan)")
    group.addoption("--atomsan", action="store_true", help="record each test, and fail it if it shows a violation")
    group.addoption("--atomsan-report", metavar="FILE", help="write all findings to a file, .json or .txt")
    group.addoption("--atomsan-noise", action="store_true", help="let threads give way at random")
    group.addoption("--atomsan-seed", type=int, default=0, metavar="N", help="the seed of the noise (default: 0)")
    group.addoption("--atomsan-repeat", type=int, default=1, metavar="N", help="run each test N times (default: 1)")
    group.addoption("--atomsan-include", action="append", default=[], metavar="GLOB", help="modules or paths to watch")
    group.addoption("--atomsan-omit", action="append", default=[], metavar="GLOB", help="modules or paths to leave out")
    group.addoption("--atomsan-spec", metavar="FILE", help="the atomicity specification")
    group.addoption("--atomsan-redact-keys", action="store_true", help="do not show the keys of containers")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first conftest.py is imported, so that what it imports is watched."""
    if early_config.known_args_namespace.atomsan:
        early_config.pluginmanager.register(Plugin(early_config), "atomsan-recorder")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.getoption("atomsan") and not config.pluginmanager.has_plugin("atomsan-recorder"):
        # in a worker of pytest-xdist, which gets its options later than a command line would give them
        config.pluginmanager.register(Plugin(config), "atomsan-recorder")


class Plugin:
    """What there is to do when `--atomsan` is given."""

    def __init__(self, config: pytest.Config) -> None:
        from atomsan.recorder.inprocess import InProcess
        from atomsan.recorder.options import RecordingOptions
        from atomsan.source.cache import default_directory

        self._options = config.known_args_namespace
        self._recorder: InProcess = InProcess(
            RecordingOptions(
                include=self._options.atomsan_include,
                omit=self._options.atomsan_omit,
                project=str(config.rootpath),
                redact_keys=self._options.atomsan_redact_keys,
                cache=default_directory(),
            ),
            adapters=[with_assertions_rewritten(config)],
        )
        self._reports: list[dict[str, Any]] = []
        self._tests = 0
        self._recorder.__enter__()
        config.add_cleanup(lambda: self._recorder.__exit__(None, None, None))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        wanted = self._wanted(item)
        if not wanted["enabled"]:
            return (yield)
        spec = self._spec(wanted)
        reports: list[Report] = []
        result: Any = None
        try:
            for number in range(wanted["repeat"]):
                seed = wanted["seed"] + number if wanted["noise"] else None
                with self._recorder.trace(item.nodeid, seed=seed) as tape:
                    if number == 0:
                        result = yield
                    else:
                        item.runtest()
                with tape:
                    reports.append(_checked(tape, spec))
        finally:
            setattr(item, REPORTS, [report.to_dict() for report in reports])
        if any(report.findings for report in reports):
            from atomsan.reports.text import as_text

            pytest.fail(as_text([report for report in reports if report.findings]), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        if call.when == "call" and getattr(item, REPORTS, None) is not None:
            setattr(report, REPORTS, getattr(item, REPORTS))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = getattr(report, REPORTS, None)
        if found is not None:
            self._tests += 1
            self._reports += found

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        name = self._options.atomsan_report
        if name is None or hasattr(session.config, "workerinput"):
            return
        from atomsan.findings.report import united

        if os.path.splitext(name)[1] == ".txt":
            text = "".join(f"{test}\n" for test in self._failing())
        else:
            import json

            text = json.dumps(united(self._reports), indent=1) + "\n"
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        failing = self._failing()
        events = sum(report["trace"]["events"] for report in self._reports)
        terminalreporter.write_sep("-", "AtomSan")
        terminalreporter.write_line(
            f"{self._tests} tests recorded, {events:,} events, {len(failing)} with atomicity violations"
        )
        for file, why in self._recorder.failures.items():
            terminalreporter.write_line(f"not watched: {file}: {why}")

    def _failing(self) -> list[str]:
        return list(dict.fromkeys(report["trace"]["source"] for report in self._reports if report["findings"]))

    def _wanted(self, item: pytest.Item) -> dict[str, Any]:
        """The options of one test: those of the command line, and its markers', the nearest last."""
        wanted: dict[str, Any] = {
            "enabled": True,
            "noise": self._options.atomsan_noise,
            "seed": self._options.atomsan_seed,
            "repeat": self._options.atomsan_repeat,
            "atomic": [],
            "not_atomic": [],
        }
        for marker in reversed(list(item.iter_markers("atomsan"))):
            unknown = set(marker.kwargs) - set(MARKER_OPTIONS)
            if unknown or marker.args:
                raise pytest.UsageError(f"{item.nodeid}: the marker atomsan has {', '.join(MARKER_OPTIONS)}")
            wanted |= marker.kwargs
        return wanted

    def _spec(self, wanted: dict[str, Any]) -> Specification:
        from atomsan.source.spec import Specification, read_spec

        start = read_spec(self._options.atomsan_spec) if self._options.atomsan_spec else Specification()
        return start.adding(atomic=wanted["atomic"], not_atomic=wanted["not_atomic"])


def _checked(tape: Any, spec: Specification) -> Report:
    from atomsan.checking import check

    return check(tape, spec=spec)


def with_assertions_rewritten(config: pytest.Config) -> Callable[[ModuleSpec], Preparation | None]:
    """For the modules whose assertions pytest rewrites: its rewriting comes first, ours is of what it made."""
    from _pytest.assertion.rewrite import AssertionRewritingHook, rewrite_asserts

    from atomsan.source.loading import Preparation

    def tree(source: bytes, file: str) -> ast.Module:
        parsed = ast.parse(source, filename=file)
        rewrite_asserts(parsed, source, file, config)
        return parsed

    prepared = Preparation(f"pytest {pytest.__version__}", tree)
    return lambda spec: prepared if isinstance(spec.loader, AssertionRewritingHook) else None
