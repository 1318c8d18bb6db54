"""`pytest --atomsan`: records each test, and fails it when it shows an atomicity violation.

    pytest --atomsan
    pytest --atomsan --atomsan-noise --atomsan-report findings.json

    @pytest.mark.atomsan(noise=True, repeat=5)      # options for one test; enabled=False leaves it alone
    def test_deposits(): ...

Pytest loads this file in every run. Without `--atomsan` it adds options and a marker, and imports nothing of ours.

With pytest-xdist the workers record and check; their results travel to the controller, which records nothing, with
pytest's reports on the tests.
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

import pytest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from atomsan.findings.finding import Finding
    from atomsan.findings.report import Report
    from atomsan.recorder.log.tape import Tape
    from atomsan.recorder.python.inprocess import InProcess
    from atomsan.reports.files import ReportFile
    from atomsan.reports.registry import ReportFormat
    from atomsan.source.loading import Preparation
    from atomsan.source.spec import Specification

MARKER = "atomsan(enabled, noise, seed, repeat, predict, atomic, not_atomic): how this test is recorded with --atomsan"

# The options of `atomsan run` that this plugin has too: these can also be set in [tool.atomsan].
SHARED = (
    "noise",
    "seed",
    "repeat",
    "include",
    "omit",
    "spec",
    "atomic",
    "not_atomic",
    "fail_on",
    "redact_keys",
    "predict",
    "predict_seconds",
)

# The attribute of pytest's report on a test that has our results, and the keys of a worker's output with the files that
# could not be watched, and with the warnings about globs that matched no module.
RESULTS = "atomsan_results"
NOT_WATCHED = "atomsan_not_watched"
UNMATCHED = "atomsan_unmatched"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("atomsan", "atomicity violations (AtomSan)")
    switch = argparse.BooleanOptionalAction
    group.addoption("--atomsan", action="store_true", help="record each test, and fail it if it shows a violation")
    group.addoption("--atomsan-report", metavar="FILE", help="write the findings to a file, by its suffix")
    # None if not on the command line: then [tool.atomsan] has the value, or the default holds
    group.addoption("--atomsan-noise", action=switch, help="make threads yield at random, for more interleavings")
    group.addoption("--atomsan-seed", type=int, metavar="N", help="the seed of the noise (default: 0)")
    group.addoption("--atomsan-repeat", type=int, metavar="N", help="run each test N times (default: 1)")
    group.addoption("--atomsan-include", action="append", metavar="GLOB", help="watch these modules or paths only")
    group.addoption("--atomsan-omit", action="append", metavar="GLOB", help="modules or paths not to watch")
    group.addoption("--atomsan-spec", metavar="FILE", help="the atomicity specification")
    group.addoption("--atomsan-atomic", action="append", metavar="GLOB", help="regions that are meant to be atomic")
    group.addoption("--atomsan-not-atomic", action="append", metavar="GLOB", help="regions that are not meant to be")
    group.addoption("--atomsan-fail-on", action="append", metavar="KINDS", help="also fail on suspects, race, deadlock")
    group.addoption("--atomsan-predict", action=switch, help="also look at other interleavings (default: on)")
    group.addoption("--atomsan-predict-seconds", type=float, metavar="S", help="for at most S seconds (default: 20)")
    group.addoption("--atomsan-redact-keys", action=switch, help="do not show the keys of containers")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before the first conftest.py is imported, so that it and its imports are watched."""
    if early_config.known_args_namespace.atomsan:
        _register(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.getoption("atomsan"):
        plugin = config.pluginmanager.get_plugin("atomsan-recorder")
        if plugin is None:  # a conftest.py loaded this module
            plugin = _register(config, config.option)
        if not _is_controller(config.option):
            plugin.start(config)  # does nothing if it has started


def _register(config: pytest.Config, options: argparse.Namespace) -> Plugin:
    plugin = Plugin(config, options)
    config.pluginmanager.register(plugin, "atomsan-recorder")
    if not _is_controller(options):
        plugin.start(config)
    return plugin


def _is_controller(options: argparse.Namespace) -> bool:
    """Whether this process leaves the tests to workers of pytest-xdist, which get the same options."""
    asked = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    return bool(asked or getattr(options, "dist", "no") != "no") and "PYTEST_XDIST_WORKER" not in os.environ


class MarkerOptions(NamedTuple):
    """How one test is recorded and checked."""

    enabled: bool
    noise: bool
    seed: int
    repeat: int
    predict: bool
    atomic: Sequence[str]
    not_atomic: Sequence[str]

    def changed(self, given: Mapping[str, Any]) -> MarkerOptions:
        """These options, changed by those of a marker. A `ValueError` says what is wrong with the marker."""
        values = {name: _marker_value(name, value) for name, value in given.items()}
        for name in ("atomic", "not_atomic"):
            values[name] = (*getattr(self, name), *values.get(name, ()))
        return self._replace(**values)


def _marker_value(name: str, value: Any) -> Any:
    """The value of an option of a marker, if it is valid."""
    if name in ("enabled", "noise", "predict"):
        fits, wanted = isinstance(value, bool), "True or False"
    elif name in ("seed", "repeat"):
        least = 1 if name == "repeat" else None
        fits = type(value) is int and (least is None or value >= least)
        wanted = "a whole number" if least is None else f"a whole number, at least {least}"
    elif name in MarkerOptions._fields:
        value = [value] if isinstance(value, str) else value
        fits = isinstance(value, list | tuple) and all(isinstance(glob, str) for glob in value)
        wanted = "names of regions, as a text or a list of texts"
    else:
        raise ValueError(f"has no option {name!r}: it has {', '.join(MarkerOptions._fields)}")
    if not fits:
        raise ValueError(f"wants for {name} {wanted}, not {value!r}")
    return value


class RunResult(TypedDict):
    """The result of one run of a test; a worker sends it to the controller."""

    test: str
    events: int
    findings: int
    is_cut_short: bool
    """Whether there was no time to look at all other interleavings."""
    unfollowed: list[str]
    """Whose tasks it had that were not followed: nothing is known to hold of it."""
    missing: str
    """Why events of it are missing; empty if none are."""
    document: str
    """Its report, as the report file will have it; empty if there is no report file."""


@contextmanager
def limits_suspended() -> Iterator[None]:
    """The time that pytest-timeout allows a test does not pass while the test is checked.

    It sends a signal, or has a thread with a timer, which stays: tests look which threads there are.
    """
    suspension = _Suspension()
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer) and timer.name.startswith("pytest_timeout"):
            timer.function = partial(suspension.call_later, timer, timer.function)
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0) if hasattr(signal, "setitimer") else (0.0, 0.0)
    begin = time.monotonic()
    try:
        yield
    finally:
        suspension.seconds = time.monotonic() - begin
        suspension.is_over.set()
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, interval)


class _Suspension:
    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.seconds = 0.0

    def call_later(self, timer: threading.Timer, function: Callable[..., object], *args: object) -> None:
        """In place of the function of a timer: it has so much more time."""
        self.is_over.wait()
        if not timer.finished.wait(self.seconds):
            function(*args)


class Plugin:
    """Records and checks the tests, when `--atomsan` is given."""

    def __init__(self, config: pytest.Config, options: argparse.Namespace) -> None:
        from atomsan.config.specification import specification
        from atomsan.errors import AtomSanError
        from atomsan.flow.prediction_beside import SharedSeconds
        from atomsan.source.field_paths import hops

        try:
            self._values = values = _resolved(config, options)
            self._specification = specification(values["spec"], values["atomic"], values["not_atomic"])
            self._follow = hops(self._specification.sets)
            _check_who_names_the_report(config, options.atomsan_report)
            self._report_file = _report_file(options.atomsan_report)
        except AtomSanError as error:
            raise pytest.UsageError(f"AtomSan: {error}") from error
        self._recorder: InProcess | None = None
        self._options: dict[pytest.Item, MarkerOptions] = {}
        self._wrong_markers: dict[pytest.Item, str] = {}
        # of tests that are repeated: whether this is the last run, and the reports so far
        self._is_last: dict[pytest.Item, bool] = {}
        self._reports: dict[pytest.Item, list[Report]] = {}
        # files that could not be watched, and why
        self._not_watched: dict[str, str] = {}
        # warnings about globs that matched no module: of each worker, or of this process alone
        self._unmatched: list[list[str]] = []
        # by test and worker, one for each run of the test
        self._results: dict[tuple[str, str], list[RunResult]] = {}
        self._seconds = SharedSeconds(values["predict_seconds"])
        # why the report could not be written
        self._problem: str | None = None

    def start(self, config: pytest.Config) -> None:
        """Start the recorder: modules imported from now on are watched."""
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
            adapters=[after_assertion_rewriting(config)],
        )
        recorder.__enter__()
        config.add_cleanup(lambda: recorder.__exit__(None, None, None))
        self._recorder = recorder

    # ---- before tests run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Refuse wrong markers before any test runs."""
        for item in items:
            try:
                self._options[item] = self._options_of(item)
            except ValueError as error:
                problem = f"{item.nodeid}: the marker atomsan {error}"
                if not hasattr(config, "workerinput"):
                    raise pytest.UsageError(problem) from None
                # the message of a worker that ends now would be lost
                self._wrong_markers[item] = problem

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item in self._wrong_markers:
            pytest.fail(self._wrong_markers[item], pytrace=False)

    def _options_of(self, item: pytest.Item) -> MarkerOptions:
        """The options of one test: those of the command line, changed by its markers, the nearest last."""
        values = self._values
        options = MarkerOptions(True, values["noise"], values["seed"], values["repeat"], values["predict"], (), ())
        for marker in reversed(list(item.iter_markers("atomsan"))):
            if marker.args:
                raise ValueError("takes options by name only")
            options = options.changed(marker.kwargs)
        return options

    # ---- one test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Repeats a test until it fails or is skipped, each time with fresh fixtures.

        Findings are collected over all runs, and fail the test in the last one.
        """
        options = self._options.get(item)
        if options is None or not options.enabled or options.repeat == 1:
            return None
        from _pytest.runner import CallInfo, runtestprotocol

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for number in range(options.repeat):
            self._options[item] = options._replace(seed=options.seed + number)
            is_last = number == options.repeat - 1
            self._is_last[item] = is_last
            # before the last time, the next item is one of the same parent: fixtures of a wider scope are kept
            after = nextitem if is_last else cast(pytest.Item, item.parent)
            reports = runtestprotocol(item, log=False, nextitem=after)
            if not all(report.passed for report in reports):
                if not is_last:
                    # not by the hook: plugins have seen the end of the test already
                    call = CallInfo.from_call(partial(item.session._setupstate.teardown_exact, nextitem), "teardown")
                    wider = item.ihook.pytest_runtest_makereport(item=item, call=call)
                    reports = [*(report for report in reports if report.when != "teardown" or report.failed), wider]
                break
            _forget_instance(item)
        self._is_last.pop(item, None)
        self._reports.pop(item, None)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        options = self._options.get(item)
        if options is None or not options.enabled or self._recorder is None:
            return (yield)
        seed = options.seed if options.noise else None
        name = item.nodeid if seed is None else f"{item.nodeid} (seed {seed})"
        result, failure, is_skipped = None, None, False
        start = time.monotonic()
        with ExitStack() as closing:
            with self._recorder.trace(name, seed=seed) as tape:
                closing.enter_context(tape)
                try:
                    result = yield
                except (Exception, pytest.fail.Exception) as error:
                    failure = error
                except pytest.skip.Exception:
                    # a run that is skipped is not checked, but earlier runs of the test may have had findings
                    if not any(map(self._failing, self._reports.get(item, ()))):
                        raise
                    is_skipped = True
            report = self._judged(tape, item, options, start, is_skipped=is_skipped)
        has_failed = failure is not None or bool(getattr(item, "_excinfo", None))
        is_last = has_failed or is_skipped or self._is_last.get(item, True)
        if is_last and report is not None and self._failing(report):
            # a test that fails anyway keeps its own failure, and the findings, perhaps its cause, are a section below
            # it; the failure of a unittest.TestCase is not raised up to here
            if not has_failed:
                pytest.fail(f"{_headline(self._failing(report))}\n\n{self._text(report)}", pytrace=False)
            item.add_report_section("call", "AtomSan", self._text(report))
        if failure is None:
            return result
        try:
            raise failure
        finally:
            failure = None  # it references this frame: a cycle

    def _judged(
        self, tape: Tape, item: pytest.Item, options: MarkerOptions, start: float, *, is_skipped: bool
    ) -> Report | None:
        """The report on a test; None: no second thread or task did anything, so there is nothing to find in it.

        Most tests are like that. Of one that is repeated, and for a report file, all runs are checked.
        """
        if len(tape.symbols.threads) < 2 and self._report_file is None and item not in self._is_last:
            self._note(item, tape, missing=tape.meta.missing)
            self._seconds.after(time.monotonic() - start)
            return None
        with limits_suspended():
            checked = [] if is_skipped else [self._check(tape, item, options, start)]
        return self._over_all_runs(item, checked)

    def _check(self, tape: Tape, item: pytest.Item, options: MarkerOptions, start: float) -> Report:
        from atomsan.flow.check import check

        spec = self._specification.adding(atomic=options.atomic, not_atomic=options.not_atomic)
        report = check(tape, self._values["algorithm"], spec)
        if options.predict:
            report = self._with_predictions(report, tape, spec, start)
        document = self._rendered(report, self._report_file.format) if self._report_file else ""
        is_cut_short = report.prediction is not None and not report.prediction.is_complete
        findings, missing = len(self._failing(report)), report.cut
        self._note(item, tape, findings, is_cut_short=is_cut_short, missing=missing, document=document)
        if report.stopped is not None:
            raise KeyboardInterrupt  # the check ended early for it, and so do the tests
        return report

    def _note(
        self,
        item: pytest.Item,
        tape: Tape,
        findings: int = 0,
        *,
        is_cut_short: bool = False,
        missing: str | None = None,
        document: str = "",
    ) -> None:
        """Keep the result of one run of a test, for the report on it."""
        result: RunResult = {
            "test": item.nodeid,
            "events": tape.events,
            "findings": findings,
            "is_cut_short": is_cut_short,
            "unfollowed": list(tape.meta.unfollowed),
            "missing": missing or "",
            "document": document,
        }
        item.__dict__.setdefault(RESULTS, []).append(result)

    def _with_predictions(self, checked: Report, tape: Tape, spec: Specification, start: float) -> Report:
        """All predictions together may take as long as the tests, and a little longer."""
        from atomsan.flow.prediction_beside import with_predictions

        begin = time.monotonic()
        report = with_predictions(checked, tape, spec, self._seconds.after(begin - start))
        self._seconds.spend(time.monotonic() - begin)
        return report

    def _over_all_runs(self, item: pytest.Item, checked: Sequence[Report]) -> Report:
        """The report on this run of a test, if it was checked, and on those before it."""
        if item not in self._is_last:
            return checked[0]
        runs = self._reports.setdefault(item, [])
        runs += checked
        from atomsan.flow.run import merged

        return merged([[one] for one in runs], item.nodeid)

    def _failing(self, report: Report) -> list[Finding]:
        return report.failing(self._values["fail_on"])

    def _text(self, report: Report) -> str:
        from atomsan.reports.registry import DEFAULT

        return self._rendered(report, DEFAULT)

    def _rendered(self, report: Report, format: ReportFormat) -> str:
        return format.reporter().render([report], with_notes=self._values["all"])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        if call.when == "teardown":
            # not earlier: a test with subtests has several reports of its call
            setattr(report, RESULTS, item.__dict__.get(RESULTS, []))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if results := getattr(report, RESULTS, None):
            # a test that is run again has the results of its earlier runs too
            self._results[report.nodeid, getattr(report, "worker_id", "")] = results

    @property
    def _all_results(self) -> list[RunResult]:
        return [result for results in self._results.values() for result in results]

    # ---- the end

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._recorder is not None:
            self._not_watched |= self._recorder.failures
            self._unmatched.append(self._recorder.unmatched_globs("--atomsan-"))
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[NOT_WATCHED] = self._not_watched
            session.config.workeroutput[UNMATCHED] = self._unmatched
        elif self._report_file is not None and not session.config.option.collectonly:
            from atomsan.errors import OutputError

            documents = [result["document"] for result in self._all_results]
            try:
                self._report_file.write(self._report_file.format.reporter().merge(documents))
            except OutputError as error:
                self._problem = str(error)
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self._not_watched |= output.get(NOT_WATCHED, {})
        self._unmatched += output.get(UNMATCHED, [])

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if config.option.collectonly:
            return
        from atomsan.errors import printable
        from atomsan.reports.numerals import counted

        tests = {result["test"] for result in self._all_results}
        failing = {result["test"] for result in self._all_results if result["findings"]}
        events = sum(result["events"] for result in self._all_results)

        def say(text: str, **colors: bool) -> None:
            terminalreporter.write_line(printable(text), **colors)

        terminalreporter.write_sep("-", "AtomSan")
        say(f"{counted(len(tests), 'test')} recorded, {events:,} events, {len(failing)} with atomicity violations")
        if cut_short := {result["test"] for result in self._all_results if result["is_cut_short"]}:
            say(
                f"warning: there was no time to look at all other interleavings of {counted(len(cut_short), 'test')}:"
                " more time is given by --atomsan-predict-seconds",
                yellow=True,
            )
        for sentence in dict.fromkeys(chain.from_iterable(result["unfollowed"] for result in self._all_results)):
            unknown = {result["test"] for result in self._all_results if sentence in result["unfollowed"]}
            say(f"warning: {counted(len(unknown), 'test')} not known to hold: {sentence}", yellow=True)
        for why in dict.fromkeys(result["missing"] for result in self._all_results if result["missing"]):
            tests = {result["test"] for result in self._all_results if result["missing"] == why}
            say(f"warning: events of {counted(len(tests), 'test')} are missing: {why}", yellow=True)
        for file, why in self._not_watched.items():
            say(f"not watched: {file}: {why}")
        for warning in self._unmatched[0] if self._unmatched else ():
            # what one worker imported was watched
            if all(warning in theirs for theirs in self._unmatched):
                say(f"warning: {warning}", yellow=True)
        if self._problem is not None:
            say(f"ERROR: {self._problem}", red=True)
        elif self._report_file is not None:
            say(f"written to {self._report_file.path}")


def _resolved(config: pytest.Config, options: argparse.Namespace) -> dict[str, Any]:
    """The values of the options of `atomsan run`: from the command line, [tool.atomsan] or the default."""
    from atomsan.config.settings import find_settings, resolved
    from atomsan.errors import InputError, check_positive

    given = {name: getattr(options, f"atomsan_{name}") for name in SHARED}
    values = resolved("run", given, find_settings(config.rootpath))
    if values["repeat"] < 1:
        raise InputError("repeat must be at least 1")
    check_positive("predict-seconds", values["predict_seconds"])
    return values


def _check_who_names_the_report(config: pytest.Config, name: str | None) -> None:
    """Refuse a report that the settings of pytest name (`addopts`): they can come with a stranger's code."""
    from atomsan.errors import InputError

    # a worker of pytest-xdist gets the options of the controller, which has looked
    if name is None or "PYTEST_XDIST_WORKER" in os.environ:
        return
    given = [*map(str, config.invocation_params.args), *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    if not any(word.partition("=")[0] == "--atomsan-report" for word in given):
        raise InputError("--atomsan-report is for the command line only: what is written is not for a file to say")


def _report_file(name: str | None) -> ReportFile | None:
    """The file of `--atomsan-report`, as an absolute path: tests may change the directory."""
    if name is None:
        return None
    from atomsan.errors import OutputError
    from atomsan.reports.files import report_files
    from atomsan.reports.registry import format_of_file

    format_of_file(name)  # an error shows the name as it was given
    path = os.path.abspath(name)
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise OutputError(f"{name}: cannot be written: there is no directory {directory}")
    return report_files([path])[0]


def _forget_instance(item: pytest.Item) -> None:
    """Give a repeated test method a new object of its class."""
    if item.__dict__.get("_instance") is not None:
        del item._instance  # type: ignore[attr-defined]
        item._obj = None  # type: ignore[attr-defined]


def _headline(failing: Sequence[Finding]) -> str:
    """The line for pytest's short summary."""
    from atomsan.errors import printable

    first = failing[0]
    causes = len({one.group for one in failing})
    more = f" and {causes - 1} more" if causes > 1 else ""
    sure = "suspected " if first.level == "suspect" else "predicted " if first.status == "predicted" else ""
    return printable(f"{sure}atomicity violation: {first.pattern} in {first.region or 'a region without a name'}{more}")


def after_assertion_rewriting(config: pytest.Config) -> Callable[[ModuleSpec], Preparation | None]:
    """For modules whose assertions pytest rewrites: pytest rewrites first, and its result is instrumented."""
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
        # else pytest warns that the module was imported before its assertions could be rewritten
        hook._rewritten_names[spec.name] = Path(spec.origin)
        tells_passes = config.getini("enable_assertion_pass_hook")
        return Preparation(f"pytest {pytest.__version__}{' with passes' * tells_passes}", tree)

    return prepared
