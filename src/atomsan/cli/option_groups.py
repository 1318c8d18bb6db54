"""Options that several verbs share: one parameter of a verb's function takes a whole group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from atomsan.config.specification import specification
from atomsan.errors import InputError, check_positive
from atomsan.reports.files import ReportFile, report_files
from atomsan.reports.registry import REPORTERS

if TYPE_CHECKING:
    from atomsan.findings.report import Report
    from atomsan.recorder.log.limits import Limits
    from atomsan.recorder.python.launch import Program
    from atomsan.recorder.python.options import RecordingOptions
    from atomsan.source.spec import Specification


class TraceOptions(NamedTuple):
    """How traces are read: check, sets, predict, refine, stats, validate, convert."""

    input_format: str | None
    lenient: bool
    max_memory: str | None
    """`cli/main.py` sees to it."""


class RegionOptions(NamedTuple):
    """Which regions are meant to be atomic: run, check, sets, predict, refine."""

    spec: str | None
    atomic: list[str]
    not_atomic: list[str]

    def specification(self) -> Specification:
        return specification(self.spec, self.atomic, self.not_atomic)


class ReportOptions(NamedTuple):
    """What is reported, where and how: run, check, sets, predict."""

    format: str
    output: list[str]
    limit: int
    all: bool
    fail_on: list[str]
    quiet: bool

    def files(self) -> list[ReportFile]:
        """The files to write. Those that cannot be written, and a wrong limit, are refused at once."""
        if self.limit < 0:
            raise InputError("--limit must not be negative")
        return report_files(self.output)

    def fails(self, report: Report) -> bool:
        """Whether there is anything in it that the exit code tells of."""
        return bool(report.failing(self.fail_on))

    def rendered(self, reports: Sequence[Report]) -> str:
        """The reports as they are printed."""
        return REPORTERS[self.format].reporter().render(reports, limit=self.limit, with_notes=self.all)

    def write(self, files: Sequence[ReportFile], reports: Sequence[Report]) -> None:
        """Write the reports to the files, with all their findings."""
        for file in files:
            file.write(file.format.reporter().render(reports, with_notes=self.all))


class LaunchOptions(NamedTuple):
    """The program to run, and how it is recorded: run, record."""

    program: list[str]
    module: str | None
    code: str | None
    include: list[str]
    omit: list[str]
    explain_selection: bool
    noise: bool
    seed: int
    max_events: int | None
    max_bytes: int | None
    timeout: float | None
    redact_keys: bool
    follow_fork: bool
    force: bool

    def to_run(self) -> Program:
        from atomsan.recorder.python.launch import Program

        if self.module is not None and self.code is not None:
            raise InputError("-m and -c exclude each other")
        if self.module is not None:
            return Program("module", self.module, tuple(self.program))
        if self.code is not None:
            return Program("code", self.code, tuple(self.program))
        if not self.program:
            raise InputError("no program given: a file, -m MODULE or -c CODE (see atomsan run --help)")
        return Program("file", self.program[0], tuple(self.program[1:]))

    def words(self) -> list[str]:
        """The program as it stands on the command line."""
        module = [] if self.module is None else ["-m", self.module]
        code = [] if self.code is None else ["-c", self.code]
        return [*module, *code, *self.program]

    def limits(self) -> Limits:
        from atomsan.recorder.log.limits import Limits

        check_positive("--max-events", self.max_events)
        check_positive("--max-bytes", self.max_bytes)
        check_positive("--timeout", self.timeout)
        return Limits(self.max_events, self.max_bytes, self.timeout)

    def recording(self, rules: Specification, repetition: int = 0) -> RecordingOptions:
        """The options of the recorder. Each repetition of a run has a seed of its own."""
        from atomsan.flow.run import recording_options

        return recording_options(
            self.to_run(),
            rules,
            include=self.include,
            omit=self.omit,
            noise=self.noise,
            seed=self.seed + repetition,
            redact_keys=self.redact_keys,
            explain_selection=self.explain_selection,
        )


# By the name of the parameter that takes the group.
GROUPS: dict[str, Any] = {
    "reading": TraceOptions,
    "regions": RegionOptions,
    "reporting": ReportOptions,
    "launch": LaunchOptions,
}


def grouped(function: Callable[..., int], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options and arguments as a verb's function takes them: one by one, or in groups."""
    arguments = dict(values)
    for name in function.__annotations__:
        if name in GROUPS:
            group = GROUPS[name]
            arguments[name] = group(**{field: arguments.pop(field) for field in group._fields})
    return arguments
