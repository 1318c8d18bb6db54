"""Every option of the command line, in one table, and where options come from.

The table is what `--help` shows, what the command line accepts, what `[tool.atomsan]` of pyproject.toml or
`atomsan.toml` may hold, and what docs/cli.md is tested against. The command line wins over the file, the file over
the default.

There is one table of options for all verbs in a file: a verb ignores what it does not have.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from atomsan.checkers.registry import CHECKERS
from atomsan.errors import InputError
from atomsan.trace.formats import FORMATS

# As the generator spells them; its module is too heavy to be imported for a help page. A test compares.
GENERATOR_KINDS = ("serializable", "violating", "long-region", "random")
PRESETS = (
    *("avrora", "elevator", "hedc", "luindex", "lusearch", "moldyn", "montecarlo"),
    *("philo", "pmd", "raytracer", "sor", "sunflow", "tsp", "xalan"),
)

_READ_FORMATS = tuple(FORMATS)
_WRITTEN_FORMATS = tuple(name for name, facts in FORMATS.items() if facts.written)

_TYPE_WORDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


class Option(NamedTuple):
    """One option of one or more verbs. A verb's function has a parameter of this name."""

    name: str
    verbs: tuple[str, ...]
    type: type
    help: str
    example: str
    """The option as one would type it. That of a switch is shown in the example of a verb."""
    default: Any = None
    default_text: str = ""
    """What to say of the default where it is not one value."""
    metavar: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()
    repeated: bool = False
    in_file: bool = True
    """Whether it can stand in a file. What asks for something once cannot."""
    excludes: str = ""
    """The option that makes no sense beside this one."""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.type is bool

    @property
    def spelling(self) -> str:
        """How the option is shown: `-o, --output FILE`, `--lenient / --no-lenient`."""
        first = f"{self.short}, {self.flag}" if self.short else self.flag
        if self.is_switch:
            return f"{first} / --no-{self.flag[2:]}" if self.in_file else first
        return f"{first} {self.shown_metavar}"

    @property
    def shown_metavar(self) -> str:
        return self.metavar or "|".join(self.choices)

    @property
    def shown_default(self) -> str:
        is_plain = isinstance(self.default, str | int | float) and not self.is_switch
        return self.default_text or (str(self.default) if is_plain else "")

    def value(self, given: Any) -> Any:
        """What a file gives, as the type it must have. A `ValueError` says what that is."""
        if self.repeated:
            return [self._one(one) for one in (given if isinstance(given, list) else [given])]
        return self._one(given)

    def parsed(self, given: Any) -> Any:
        """What the command line gives: texts, but for switches."""
        if self.type not in (int, float):
            return self.value(list(given) if self.repeated else given)
        try:
            return self.type(given)
        except ValueError:
            raise ValueError(self._wanted(given)) from None

    def _one(self, given: Any) -> Any:
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        fits = is_number if self.type is float else type(given) is self.type
        if not fits or (self.choices and given not in self.choices):
            raise ValueError(self._wanted(given))
        return given

    def _wanted(self, given: Any) -> str:
        wanted = f"one of {', '.join(self.choices)}" if self.choices else _TYPE_WORDS[self.type]
        return f"must be {wanted}, not {_shortened(given)}"


def _shortened(given: Any, most: int = 60) -> str:
    text = repr(given)
    return text if len(text) <= most else text[:most] + "..."


class Argument(NamedTuple):
    """What a verb is about: a trace, or several."""

    name: str
    verbs: tuple[str, ...]
    metavar: str
    help: str
    repeated: bool = False
    required: bool = True


_RECORDING = ("run", "record")
_CHECKING = ("run", "check", "sets", "refine")
_READING = ("check", "sets", "refine", "stats", "validate", "convert")

ARGUMENTS: tuple[Argument, ...] = (
    Argument(name="trace", verbs=("stats",), metavar="TRACE", help="The trace; - is standard input."),
    Argument(
        name="traces",
        verbs=("check", "sets", "validate"),
        metavar="TRACE",
        help="The traces; - is standard input.",
        repeated=True,
    ),
    Argument(
        name="program",
        verbs=_RECORDING,
        metavar="[FILE] [ARGUMENTS]",
        help="The program, and what it gets. What follows it, or -m MODULE, or -c CODE, is the program's.",
        repeated=True,
        required=False,
    ),
    Argument(name="traces", verbs=("refine",), metavar="TRACE", help="The traces.", repeated=True),
    Argument(name="trace", verbs=("convert",), metavar="FROM", help="The trace to read; - is standard input."),
    Argument(
        name="target",
        verbs=("convert",),
        metavar="TO",
        help="What to write, in the format of its name: .atomtrace, .parquet, .std, .csv, .trace; "
        "the last three with .gz or .zst if wanted. - is standard output, as STD.",
    ),
)

OPTIONS: tuple[Option, ...] = (
    Option(
        name="module",
        verbs=_RECORDING,
        type=str,
        short="-m",
        metavar="MODULE",
        in_file=False,
        help="Run a module, as python -m does.",
        example="-m package.server",
    ),
    Option(
        name="code",
        verbs=_RECORDING,
        type=str,
        short="-c",
        metavar="CODE",
        in_file=False,
        help="Run a text, as python -c does.",
        example='-c "import app; app.main()"',
    ),
    Option(
        name="include",
        verbs=_RECORDING,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        default_text="the project of the program",
        help="Modules (pkg.*) or paths (src/*) to watch: only these. Can be given again.",
        example="--include pkg",
    ),
    Option(
        name="omit",
        verbs=_RECORDING,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        help="Modules or paths not to watch, whatever else names them. Can be given again.",
        example="--omit pkg.vendored",
    ),
    Option(
        name="explain_selection",
        verbs=_RECORDING,
        type=bool,
        default=False,
        help="Say of every module whether it is watched, and why.",
        example="--explain-selection",
    ),
    Option(
        name="noise",
        verbs=_RECORDING,
        type=bool,
        default=False,
        help="Let threads give way at random, so that the run meets more interleavings.",
        example="--noise",
    ),
    Option(
        name="seed",
        verbs=_RECORDING,
        type=int,
        metavar="N",
        default=0,
        help="The seed of the noise. A run that is repeated has the next one.",
        example="--seed 3",
    ),
    Option(
        name="repeat",
        verbs=("run",),
        type=int,
        metavar="N",
        default=1,
        help="Run the program so many times, and merge the findings.",
        example="--repeat 5",
    ),
    Option(
        name="live",
        verbs=("run",),
        type=bool,
        default=False,
        help="Check while the program runs, and store no trace.",
        example="--live",
    ),
    Option(
        name="keep",
        verbs=("run",),
        type=str,
        metavar="TRACE",
        in_file=False,
        help="Keep the trace, in the format of its name: of the first run with findings, else of the last.",
        example="--keep run.atomtrace",
    ),
    Option(
        name="max_events",
        verbs=_RECORDING,
        type=int,
        metavar="N",
        help="Stop recording after so many events; the program runs on.",
        example="--max-events 100000000",
    ),
    Option(
        name="max_bytes",
        verbs=_RECORDING,
        type=int,
        metavar="N",
        help="Stop recording at N bytes, 13 an event; the program runs on.",
        example="--max-bytes 2000000",
    ),
    Option(
        name="timeout",
        verbs=_RECORDING,
        type=float,
        metavar="S",
        help="End the program after so many seconds, and report what was seen.",
        example="--timeout 60",
    ),
    Option(
        name="redact_keys",
        verbs=_RECORDING,
        type=bool,
        default=False,
        help="Do not store the keys of containers, which can be secrets.",
        example="--redact-keys",
    ),
    Option(
        name="follow_fork",
        verbs=_RECORDING,
        type=bool,
        default=False,
        help="Record the processes that the program forks too, each by itself.",
        example="--follow-fork",
    ),
    Option(
        name="output",
        verbs=("record",),
        type=str,
        short="-o",
        metavar="TRACE",
        in_file=False,
        help="The trace to write, in the format of its name: .atomtrace, or as for convert.",
        example="-o run.atomtrace",
    ),
    Option(
        name="all",
        verbs=("run", "check", "sets"),
        type=bool,
        default=False,
        help="Print notes too: what is worth knowing, and counts for nothing.",
        example="--all",
    ),
    Option(
        name="findings_exit_code",
        verbs=("run",),
        type=int,
        metavar="N",
        default=1,
        help="The exit code when there are findings.",
        example="--findings-exit-code 42",
    ),
    Option(
        name="algorithm",
        verbs=("run", "check"),
        type=str,
        choices=("auto", *CHECKERS),
        metavar="NAME",
        repeated=True,
        default=(),
        default_text="auto",
        help="What to run, as atomsan algorithms lists it. Can be given again: one pass serves all.",
        example="--algorithm auto",
    ),
    Option(
        name="first",
        verbs=("check",),
        type=bool,
        default=False,
        help="Stop at the first violation.",
        example="--first",
    ),
    Option(
        name="timeout",
        verbs=("check", "sets"),
        type=float,
        metavar="S",
        help="Stop after so many seconds for each trace, and report what was found so far (exit code 3).",
        example="--timeout 60",
    ),
    Option(
        name="sets",
        verbs=("sets",),
        type=str,
        metavar="FILE",
        in_file=False,
        help="The atomic sets, in TOML or JSON: a table 'sets' of variables (names or globs; of a recorded program, "
        "fields of classes), and if need be a table 'declared' of the sets that each region is a unit of work on.",
        example="--sets sets.toml",
    ),
    Option(
        name="method",
        verbs=("sets",),
        type=str,
        choices=("patterns", "projection", "both"),
        default="both",
        help="How to check: the 14 patterns of accesses, the exact answer for each set, or both in one pass.",
        example="--method projection",
    ),
    Option(
        name="max_rounds",
        verbs=("refine",),
        type=int,
        metavar="N",
        help="Stop after so many rounds.",
        example="--max-rounds 10",
    ),
    Option(
        name="spec",
        verbs=(*_CHECKING, "record"),
        type=str,
        metavar="FILE",
        help="The atomicity specification: which regions are meant to be atomic, and which data belongs together.",
        example="--spec spec.toml",
    ),
    Option(
        name="atomic",
        verbs=_CHECKING,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        help="Regions that are meant to be atomic: only these, unless the specification has a default. "
        "Can be given again.",
        example="--atomic bank:Account.*",
    ),
    Option(
        name="not_atomic",
        verbs=_CHECKING,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        help="Regions that are not meant to be atomic: the regions inside them are looked at. Can be given again.",
        example="--not-atomic *:main",
    ),
    Option(
        name="split_at_waits",
        verbs=("check", "sets", "refine"),
        type=bool,
        default=False,
        help="Split every region where it waits for another thread, not only those AtomSan chose itself.",
        example="--split-at-waits",
    ),
    Option(
        name="format",
        verbs=("run", "check", "sets", "algorithms", "stats", "validate", "debug"),
        type=str,
        choices=("text", "json"),
        default="text",
        help="What to print: text for people, JSON for programs.",
        example="--format json",
    ),
    Option(
        name="output",
        verbs=("run", "check", "sets", "stats", "validate"),
        type=str,
        short="-o",
        metavar="FILE",
        repeated=True,
        default=(),
        help="Write the result to a file too: JSON if it ends in .json, text if in .txt. Can be given again.",
        example="-o result.json",
    ),
    Option(
        name="output",
        verbs=("refine",),
        type=str,
        short="-o",
        metavar="FILE",
        in_file=False,
        help="The specification to write, a file in .toml.",
        example="-o spec.toml",
    ),
    Option(
        name="limit",
        verbs=("run", "check", "sets"),
        type=int,
        metavar="N",
        default=20,
        help="Print at most so many findings as text. A file and JSON have all of them.",
        example="--limit 5",
    ),
    Option(
        name="output",
        verbs=("generate",),
        type=str,
        short="-o",
        metavar="FILE",
        default="-",
        help="What to write, in the format of its name, as for convert. - is standard output, as STD.",
        example="-o t.atomtrace",
    ),
    Option(
        name="input_format",
        verbs=_READING,
        type=str,
        choices=_READ_FORMATS,
        metavar="FORMAT",
        help=f"The format of the trace, where neither content nor name tells: {', '.join(_READ_FORMATS)}.",
        example="--input-format csv",
    ),
    Option(
        name="output_format",
        verbs=("convert", "generate"),
        type=str,
        choices=_WRITTEN_FORMATS,
        metavar="FORMAT",
        help=f"The format to write, where the name does not tell: {', '.join(_WRITTEN_FORMATS)}.",
        example="--output-format csv",
    ),
    Option(
        name="lenient",
        verbs=_READING,
        type=bool,
        default=False,
        help="Repair a trace that is not well-formed, and say what was dropped.",
        example="--lenient",
    ),
    # ---- generate
    Option(
        name="kind",
        verbs=("generate",),
        type=str,
        choices=GENERATOR_KINDS,
        default_text="serializable",
        excludes="preset",
        help="serializable: no violation. violating: as many as you say. long-region: a region that stays open keeps "
        "the others alive. random: anything well-formed, small, for tests.",
        example="--kind violating",
    ),
    Option(
        name="preset",
        verbs=("generate",),
        type=str,
        choices=PRESETS,
        metavar="NAME",
        excludes="kind",
        help="The proportions of a benchmark of the AeroDrome paper's table 1; the options below change single ones.",
        example="--preset sunflow",
    ),
    Option(
        name="scale",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="0.001",
        help="With --preset: its events, variables and transactions times this.",
        example="--scale 0.01",
    ),
    Option(
        name="seed",
        verbs=("generate",),
        type=int,
        metavar="N",
        default=0,
        help="The same seed and options give the same trace.",
        example="--seed 7",
    ),
    Option(
        name="events",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="1000000, random: 50",
        help="How many events.",
        example="--events 10_000_000",
    ),
    Option(
        name="threads",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="8, random: 4",
        help="How many threads.",
        example="--threads 32",
    ),
    Option(
        name="locks",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="16, random: 2",
        help="How many locks.",
        example="--locks 100",
    ),
    Option(
        name="variables",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="10000, random: 4",
        help="How many variables. Each injected violation has one more, of its own.",
        example="--variables 1_000_000",
    ),
    Option(
        name="regions",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="25, random: 4",
        help="How many names of regions.",
        example="--regions 100",
    ),
    Option(
        name="handovers",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="0, random: 2",
        help="How many hand-overs to post to and take from.",
        example="--handovers 4",
    ),
    Option(
        name="sites",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="1000, random: 100",
        help="At most so many places in the source.",
        example="--sites 50",
    ),
    Option(
        name="region_length",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="8",
        help="Reads and writes in a region, on average.",
        example="--region-length 20",
    ),
    Option(
        name="region_locks",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="1.0",
        help="Locks that a region takes, on average.",
        example="--region-locks 0.5",
    ),
    Option(
        name="nesting",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="2, random: 3",
        help="The deepest that regions stand in each other; 1 is no nesting.",
        example="--nesting 1",
    ),
    Option(
        name="read_share",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="0.7, random: 0.5",
        help="The share of reads among the accesses, from 0 to 1.",
        example="--read-share 0.9",
    ),
    Option(
        name="locality",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="0.5",
        help="The share of variables that only one thread uses, and of accesses to them, from 0 to 1.",
        example="--locality 0.8",
    ),
    Option(
        name="unary",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="0.2",
        help="The share of events outside regions, from 0 to 1.",
        example="--unary 0",
    ),
    Option(
        name="burst",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="4.0, random: 1.5",
        help="Events of a thread before another's turn, on average.",
        example="--burst 100",
    ),
    Option(
        name="violations",
        verbs=("generate",),
        type=int,
        metavar="N",
        default_text="10 if violating",
        help="How many violations to inject, each in a transaction of its own.",
        example="--violations 3",
    ),
    Option(
        name="violations_from",
        verbs=("generate",),
        type=float,
        metavar="X",
        default_text="0.0",
        help="Inject them after this share of the trace, from 0 to 1.",
        example="--violations-from 0.9",
    ),
    Option(
        name="truth",
        verbs=("generate",),
        type=str,
        metavar="FILE",
        help="Write what is known of the trace, and where the violations are, as JSON.",
        example="--truth truth.json",
    ),
    Option(
        name="list_presets",
        verbs=("generate",),
        type=bool,
        default=False,
        in_file=False,
        help="Show the presets and stop.",
        example="--list-presets",
    ),
    # ---- common
    Option(
        name="force",
        verbs=(*_RECORDING, "convert", "generate"),
        type=bool,
        default=False,
        help="Replace what is there already.",
        example="--force",
    ),
    Option(
        name="quiet",
        verbs=(*_RECORDING, *_READING, "generate"),
        type=bool,
        short="-q",
        default=False,
        help="No progress bar, no warnings, nothing on standard error but errors.",
        example="--quiet",
    ),
)


def options_of(verb: str) -> dict[str, Option]:
    return {option.name: option for option in OPTIONS if verb in option.verbs}


def arguments_of(verb: str) -> dict[str, Argument]:
    return {argument.name: argument for argument in ARGUMENTS if verb in argument.verbs}


def resolved(verb: str, given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Every option of a verb: as given (None where the command line does not say), else by the file or the default."""
    options = options_of(verb)
    values = {name: _from_command_line(options[name], value) for name, value in given.items() if value is not None}
    for option in options.values():
        if option.excludes in values and option.name in values:
            raise InputError(f"{option.flag} and {options[option.excludes].flag} cannot stand together")
    for name, option in options.items():
        if name not in values and option.excludes not in values:
            values[name] = settings.get(option)
    return {name: values.get(name) for name in options}


def _from_command_line(option: Option, given: Any) -> Any:
    try:
        return option.parsed(given)
    except ValueError as error:
        raise InputError(f"{option.flag} {error}") from None


class Settings:
    """The options that stand in a file. Making one checks all of them."""

    def __init__(self, path: Path | None = None, content: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self._values = {key.replace("-", "_"): value for key, value in (content or {}).items()}
        for key, value in self._values.items():
            self._check(key, value)
        for option in OPTIONS:
            if option.excludes in self._values and option.name in self._values:
                raise self._error(option.name, f"cannot stand beside {option.excludes!r}")

    def get(self, option: Option) -> Any:
        """What the file says of an option; else its default."""
        if not option.in_file or option.name not in self._values:
            return list(option.default) if option.repeated else option.default
        try:
            return option.value(self._values[option.name])
        except ValueError as error:
            raise self._error(option.name, str(error)) from None

    def _check(self, key: str, value: Any) -> None:
        rows = [option for option in OPTIONS if option.name == key and option.in_file]
        if not rows:
            import difflib

            known = {option.name for option in OPTIONS if option.in_file}
            close = difflib.get_close_matches(key, known, 1)
            hint = f" (did you mean {close[0].replace('_', '-')}?)" if close else ""
            raise self._error(key, f"is not an option{hint}")
        problems = []
        for option in rows:
            try:
                option.value(value)
                return
            except ValueError as error:
                problems.append(str(error))
        raise self._error(key, problems[0])

    def _error(self, key: str, problem: str) -> InputError:
        return InputError(f"{key.replace('_', '-')!r} {problem}", source=str(self.path) if self.path else None)


def find_settings(start: Path | None = None) -> Settings:
    """The settings of the nearest directory that has any, from `start` (the current directory) upwards."""
    for directory in _upwards(start):
        for path, read in ((directory / "atomsan.toml", _own_table), (directory / "pyproject.toml", _tool_table)):
            content = read(path)
            if content is not None:
                return Settings(path, content)
    return Settings()


def _upwards(start: Path | None) -> Iterator[Path]:
    try:
        directory = (start or Path.cwd()).absolute()
    except OSError:  # the current directory was removed
        return
    yield directory
    yield from directory.parents


def _own_table(path: Path) -> dict[str, Any] | None:
    raw = _bytes(path)
    return None if raw is None else _toml(raw, path)


def _tool_table(path: Path) -> dict[str, Any] | None:
    raw = _bytes(path)
    if raw is None or b"atomsan" not in raw:
        return None
    tool = _toml(raw, path).get("tool", {})
    table = tool.get("atomsan") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise InputError("tool.atomsan must be a table", source=str(path))
    return table


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=os.fspath(path)) from error


def _toml(raw: bytes, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid TOML: {error}", source=str(path)) from error
