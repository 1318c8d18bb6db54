"""`pytest --atomsan`: records each test, and fails it when it shows an atomicity violation.

    pytest --atomsan
    pytest --atomsan --atomsan-noise --atomsan-report findings.json

    @pytest.mark.atomsan(noise=True, repeat=5)      # options for one test; enabled=False leaves it alone
    def test_deposits(): ...

Pytest loads this file in every run. Without `--atomsan` it adds options and a marker, and imports nothing of ours.

With pytest-xdist the workers record and check; what they found comes with the reports of the tests to the controller,
which records nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from atomsan.findings.report import Report
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.inprocess import InProcess
    from atomsan.source.loading import Preparation
    from atomsan.source.spec import Specification

MARKER = "atomsan(enabled, noise, seed, repeat, atomic, not_atomic): how this test is recorded with --atomsan"

# The options of ours that are options of `atomsan run` too: these may stand in [tool.atomsan].
SHARED = ("noise", "seed", "repeat", "include", "omit", "spec", "atomic", "not_atomic", "redact_keys")

# Where what was found travels with the report of a test, and what was not watched with the end of a worker.
CHECKED = "atomsan_checked"
NOT_WATCHED = "atomsan_not_watched"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("atomsan", "atomicity violations (AtomSan)")
    switch = argparse.BooleanOptionalAction
    group.addoption("--atomsan", action="store_true", help="record each test, and fail it if it shows a violation")
    group.addoption("--atomsan-report", metavar="FILE", help="write what was found to a file, .json or .txt")
    # None where the command line does not say: then [tool.atomsan] does, or the default
    group.addoption("--atomsan-noise", action=switch, help="let threads give way at random")
    group.addoption("--atomsan-seed", type=int, metavar="N", help="the seed of the noise (default: 0)")
    group.addoption("--atomsan-repeat", type=int, metavar="N", help="run each test N times (default: 1)")
    group.addoption("--atomsan-include", action="append", metavar="GLOB", help="watch these modules or paths only")
    group.addoption("--atomsan-omit", action="append", metavar="GLOB", help="modules or paths not to watch")
    group.addoption("--atomsan-spec", metavar="FILE", help="the atomicity specification")
    group.addoption("--atomsan-atomic", action="append", metavar="GLOB", help="regions that are meant to be atomic")
    group.addoption("--atomsan-not-atomic", action="append", metavar="GLOB", help="regions that are not")
    group.addoption("--atomsan-redact-keys", action=switch, help="do not show the keys of containers")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first conftest.py is imported, so that it is watched, with what it imports."""
    if early_config.known_args_namespace.atomsan:
        _register(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.getoption("atomsan"):
        plugin = config.pluginmanager.get_plugin("atomsan-recorder")
        if plugin is None:  # this file was loaded by a conftest.py
            plugin = _register(config, config.option)
        if not _is_controller(config.option):
            plugin.start(config)  # if it was not clear before that this process runs tests


def _register(config: pytest.Config, options: argparse.Namespace) -> Plugin:
    plugin = Plugin(config, options)
    config.pluginmanager.register(plugin, "atomsan-recorder")
    if not _is_controller(options):
        plugin.start(config)
    return plugin


def _is_controller(options: argparse.Namespace) -> bool:
    """Whether workers of pytest-xdist run the tests. They get the same options as their controller."""
    asked = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    return bool(asked or getattr(options, "dist", "no") != "no") and "PYTEST_XDIST_WORKER" not in os.environ


class Wanted(NamedTuple):
    """How one test is to be recorded and checked: the options of its marker."""

    enabled: bool
    noise: bool
    seed: int
    repeat: int
    atomic: Sequence[str]
    not_atomic: Sequence[str]

    def changed(self, given: Mapping[str, Any]) -> Wanted:
        """The same, but for what a marker says. A `ValueError` says what is wrong with that."""
        values = {name: _fitting(name, value) for name, value in given.items()}
        for name in ("atomic", "not_atomic"):
            values[name] = (*getattr(self, name), *values.get(name, ()))
        return self._replace(**values)


def _fitting(name: str, value: Any) -> Any:
    """What a marker gives for an option."""
    if name in ("enabled", "noise"):
        fits, wanted = isinstance(value, bool), "True or False"
    elif name in ("seed", "repeat"):
        least = 1 if name == "repeat" else None
        fits = type(value) is int and (least is None or value >= least)
        wanted = "a whole number" if least is None else f"a whole number, at least {least}"
    elif name in Wanted._fields:
        value = [value] if isinstance(value, str) else value
        fits = isinstance(value, list | tuple) and all(isinstance(glob, str) for glob in value)
        wanted = "names of regions, as a text or a list of texts"
    else:
        raise ValueError(f"has no option {name!r}: it has {', '.join(Wanted._fields)}")
    if not fits:
        raise ValueError(f"wants for {name} {wanted}, not {value!r}")
    return value


class Plugin:
    """What there is to do when `--atomsan` is given."""

    def __init__(self, config: pytest.Config, options: argparse.Namespace) -> None:
        from atomsan.errors import AtomSanError
        from atomsan.source.field_paths import hops

        try:
            self._values = _resolved(config, options)
            self._specification = _specification(self._values)
            self._follow = hops(self._specification.sets)
            self._report_file = _report_file(options.atomsan_report)
        except AtomSanError as error:
            raise pytest.UsageError(f"AtomSan: {error}") from error
        self._recorder: InProcess | None = None
        self._wanted: dict[pytest.Item, Wanted] = {}
        self._wrong: dict[pytest.Item, str] = {}
        self._not_watched: dict[str, str] = {}
        # by test and worker; of each run of a test: "test", "report" as JSON has it, "text"
        self._found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._problem: str | None = None

    def start(self, config: pytest.Config) -> None:
        """What is imported from here on is watched."""
        if self._recorder is not None:
            return
        from atomsan.recorder.python.inprocess import InProcess
        from atomsan.recorder.python.options import RecordingOptions
        from atomsan.source.cache import default_directory

        recorder = InProcess(
            RecordingOptions(
                include=self._values["include"],
                omit=self._values["omit"],
                project=str(config.rootpath),
                redact_keys=self._values["redact_keys"],
                cache=default_directory(),
                follow=self._follow,
            ),
            adapters=[with_assertions_rewritten(config)],
        )
        recorder.__enter__()
        config.add_cleanup(lambda: recorder.__exit__(None, None, None))
        self._recorder = recorder

    # ---- before tests run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """A marker that is wrong is said before anything runs."""
        for item in items:
            try:
                self._wanted[item] = self._wanted_for(item)
            except ValueError as error:
                problem = f"{item.nodeid}: the marker atomsan {error}"
                if not hasattr(config, "workerinput"):
                    raise pytest.UsageError(problem) from None
                # a worker of pytest-xdist that ends now would not be heard
                self._wrong[item] = problem

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item in self._wrong:
            pytest.fail(self._wrong[item], pytrace=False)

    def _wanted_for(self, item: pytest.Item) -> Wanted:
        """The options of one test: those of the command line, changed by its markers, the nearest last."""
        values = self._values
        wanted = Wanted(True, values["noise"], values["seed"], values["repeat"], (), ())
        for marker in reversed(list(item.iter_markers("atomsan"))):
            if marker.args:
                raise ValueError("takes options by name only")
            wanted = wanted.changed(marker.kwargs)
        return wanted

    # ---- one test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Runs a test that is to be repeated, with its fixtures anew for each time, until it does not pass."""
        wanted = self._wanted.get(item)
        if wanted is None or not wanted.enabled or wanted.repeat == 1:
            return None
        from _pytest.runner import CallInfo, runtestprotocol

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for number in range(wanted.repeat):
            self._wanted[item] = wanted._replace(seed=wanted.seed + number)
            is_last = number == wanted.repeat - 1
            # what comes after a time that is not the last is in the same place: wider fixtures stay as they are
            after = nextitem if is_last else cast(pytest.Item, item.parent)
            reports = runtestprotocol(item, log=False, nextitem=after)
            if not all(report.passed for report in reports):
                if not is_last:
                    # not by the hook: plugins have ended the test already
                    call = CallInfo.from_call(partial(item.session._setupstate.teardown_exact, nextitem), "teardown")
                    wider = item.ihook.pytest_runtest_makereport(item=item, call=call)
                    reports = [*(report for report in reports if report.when != "teardown" or report.failed), wider]
                break
            _forget_instance(item)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        wanted = self._wanted.get(item)
        if wanted is None or not wanted.enabled or self._recorder is None:
            return (yield)
        seed = wanted.seed if wanted.noise else None
        name = item.nodeid if seed is None else f"{item.nodeid} (seed {seed})"
        result, failure = None, None
        with ExitStack() as closing:
            with self._recorder.trace(name, seed=seed) as tape:
                closing.enter_context(tape)
                try:
                    result = yield
                except (Exception, pytest.fail.Exception) as error:
                    failure = error
            report = self._check(tape, item, wanted)
        if report.findings:
            # a test that fails anyhow does so in its own words, and what was found may be the reason; the failure of a
            # unittest.TestCase does not come up to here
            if failure is None and not getattr(item, "_excinfo", None):
                pytest.fail(f"{_headline(report)}\n\n{self._text(report)}", pytrace=False)
            item.add_report_section("call", "AtomSan", self._text(report))
        if failure is None:
            return result
        try:
            raise failure
        finally:
            failure = None  # it holds this frame, which would hold it

    def _check(self, tape: Tape, item: pytest.Item, wanted: Wanted) -> Report:
        from atomsan.flow.check import check

        spec = self._specification.adding(atomic=wanted.atomic, not_atomic=wanted.not_atomic)
        report = check(tape, self._values["algorithm"] or "auto", spec)
        checked = {"test": item.nodeid, "report": report.to_dict(), "text": self._text(report)}
        item.__dict__.setdefault(CHECKED, []).append(checked)
        return report

    def _text(self, report: Report) -> str:
        from atomsan.reports.text import as_text

        return as_text([report], with_notes=self._values["all"])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        if call.when == "teardown":
            # not earlier: a test that has subtests has several reports of its call
            setattr(report, CHECKED, item.__dict__.get(CHECKED, []))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if found := getattr(report, CHECKED, None):
            # with what was found the times before, if the test is run again
            self._found[report.nodeid, getattr(report, "worker_id", "")] = found

    @property
    def _checked(self) -> list[dict[str, Any]]:
        return [checked for found in self._found.values() for checked in found]

    # ---- the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._recorder is not None:
            self._not_watched |= self._recorder.failures
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[NOT_WATCHED] = self._not_watched
        elif self._report_file is not None and not session.config.option.collectonly:
            self._problem = self._written(self._report_file)
            if self._problem is not None:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._not_watched |= getattr(node, "workeroutput", {}).get(NOT_WATCHED, {})

    def _written(self, name: str) -> str | None:
        """Write the report. What keeps it from being written is told, for the summary."""
        from atomsan.errors import OutputError
        from atomsan.trace.writing import write_file

        if name.endswith(".txt"):
            text = "\n".join(checked["text"] for checked in self._checked)
        else:
            import json

            from atomsan.findings.report import united

            text = json.dumps(united([checked["report"] for checked in self._checked]), indent=1) + "\n"
        try:
            write_file(name, text.encode(errors="backslashreplace"), force=True)
        except OutputError as error:
            return str(error)
        return None

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if config.option.collectonly:
            return
        tests = {checked["test"] for checked in self._checked}
        failing = dict.fromkeys(checked["test"] for checked in self._checked if checked["report"]["findings"])
        events = sum(checked["report"]["trace"]["events"] for checked in self._checked)
        say = terminalreporter.write_line
        terminalreporter.write_sep("-", "AtomSan")
        say(f"{_counted(len(tests), 'test')} recorded, {events:,} events, {len(failing)} with atomicity violations")
        for file, why in self._not_watched.items():
            say(f"not watched: {file}: {why}")
        if self._problem is not None:
            say(f"ERROR: {self._problem}", red=True)
        elif self._report_file is not None:
            say(f"written to {self._report_file}")


def _resolved(config: pytest.Config, options: argparse.Namespace) -> dict[str, Any]:
    """The options of `atomsan run` as they hold here: by the command line, else [tool.atomsan], else the default."""
    from atomsan.config import find_settings, resolved
    from atomsan.errors import InputError

    given = {name: getattr(options, f"atomsan_{name}") for name in SHARED}
    values = resolved("run", given, find_settings(config.rootpath))
    if values["repeat"] < 1:
        raise InputError("repeat must be at least 1")
    return values


def _specification(values: Mapping[str, Any]) -> Specification:
    from atomsan.source.spec import Specification, read_spec

    start = read_spec(values["spec"]) if values["spec"] is not None else Specification()
    return start.adding(atomic=values["atomic"], not_atomic=values["not_atomic"])


def _report_file(name: str | None) -> str | None:
    """The file to write, as a path that holds wherever tests change to. What is wrong with it is said at once."""
    if name is None:
        return None
    from atomsan.errors import InputError, OutputError
    from atomsan.trace.outputs import check_output

    if os.path.splitext(name)[1] not in (".json", ".txt"):
        raise InputError("a report is written to a file in .json or .txt", source=name)
    path = os.path.abspath(name)
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise OutputError(f"{name}: cannot be written: there is no directory {directory}")
    check_output(path, force=True)
    return path


def _forget_instance(item: pytest.Item) -> None:
    """A method that is repeated gets a new object of its class, as every test does."""
    if item.__dict__.get("_instance") is not None:
        del item._instance  # type: ignore[attr-defined]
        item._obj = None  # type: ignore[attr-defined]


def _headline(report: Report) -> str:
    """What is wrong, on the line that pytest's short summary shows."""
    first = report.findings[0]
    more = f" and {len(report.findings) - 1} more" if len(report.findings) > 1 else ""
    return f"atomicity violation: {first.pattern} in {first.region or 'a region without a name'}{more}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def with_assertions_rewritten(config: pytest.Config) -> Callable[[ModuleSpec], Preparation | None]:
    """For the modules whose assertions pytest rewrites: its rewriting comes first, ours is of what it made."""
    from _pytest.assertion.rewrite import AssertionRewritingHook, rewrite_asserts

    from atomsan.source.loading import Preparation

    def tree(source: bytes, file: str) -> ast.Module:
        parsed = ast.parse(source, filename=file)
        rewrite_asserts(parsed, source, file, config)
        return parsed

    def prepared(spec: ModuleSpec) -> Preparation | None:
        hook = spec.loader
        if not isinstance(hook, AssertionRewritingHook) or spec.origin is None:
            return None
        # or pytest warns that a module was imported before it could be rewritten
        hook._rewritten_names[spec.name] = Path(spec.origin)
        tells_passes = config.getini("enable_assertion_pass_hook")
        return Preparation(f"pytest {pytest.__version__}{' with passes' * tells_passes}", tree)

    return prepared
