"""Options for input and output: formats, and the files to write."""

from __future__ import annotations

from collections.abc import Mapping

from atomsan.config.option import Option
from atomsan.reports.registry import ANSWER_FORMATS, DEFAULT, REPORTERS, ReportFormat, suffixes
from atomsan.trace.formats import FORMATS

READING_VERBS = ("check", "sets", "predict", "refine", "stats", "validate", "convert")

_READ_FORMATS = tuple(FORMATS)
_WRITTEN_FORMATS = tuple(name for name, row in FORMATS.items() if row.written)


def _format(verbs: tuple[str, ...], formats: Mapping[str, ReportFormat]) -> Option:
    return Option(
        name="format",
        verbs=verbs,
        type=str,
        choices=tuple(formats),
        default=DEFAULT.name,
        help=f"What to print: {', '.join(row.purpose for row in formats.values())}.",
        example=f"--format {list(formats)[-1]}",
    )


def _output(verbs: tuple[str, ...], formats: Mapping[str, ReportFormat]) -> Option:
    return Option(
        name="output",
        verbs=verbs,
        type=str,
        short="-o",
        metavar="FILE",
        repeated=True,
        default=(),
        in_file=False,
        help=f"Also write the result to a file, in the format of its name: {', '.join(suffixes(formats))}. Repeatable.",
        example=f"-o result{suffixes(formats)[0]}",
    )


INPUT_AND_OUTPUT: tuple[Option, ...] = (
    _format(("run", "check", "sets", "predict"), REPORTERS),
    _format(("algorithms", "stats", "validate", "debug"), ANSWER_FORMATS),
    _output(("run", "check", "sets", "predict"), REPORTERS),
    _output(("stats", "validate"), ANSWER_FORMATS),
    Option(
        name="output",
        verbs=("refine",),
        type=str,
        short="-o",
        metavar="FILE",
        in_file=False,
        help="The specification to write, a .toml file.",
        example="-o spec.toml",
    ),
    Option(
        name="limit",
        verbs=("run", "check", "sets", "predict"),
        type=int,
        metavar="N",
        default=20,
        help="Print at most N findings, in a format for people. Files have all of them.",
        example="--limit 5",
    ),
    Option(
        name="output",
        verbs=("generate",),
        type=str,
        short="-o",
        metavar="FILE",
        default="-",
        in_file=False,
        help="The trace to write, in the format of its name, as for convert. - is standard output, as STD.",
        example="-o t.atomtrace",
    ),
    Option(
        name="input_format",
        verbs=READING_VERBS,
        type=str,
        choices=_READ_FORMATS,
        metavar="FORMAT",
        help=f"The format of the trace, where neither content nor name shows it: {', '.join(_READ_FORMATS)}.",
        example="--input-format csv",
    ),
    Option(
        name="output_format",
        verbs=("convert", "generate"),
        type=str,
        choices=_WRITTEN_FORMATS,
        metavar="FORMAT",
        help=f"The format to write, where the name does not show it: {', '.join(_WRITTEN_FORMATS)}.",
        example="--output-format csv",
    ),
    Option(
        name="lenient",
        verbs=READING_VERBS,
        type=bool,
        default=False,
        help="Repair a trace that is not well-formed, and list what was dropped.",
        example="--lenient",
    ),
    Option(
        name="max_memory",
        verbs=READING_VERBS,
        type=str,
        metavar="SIZE",
        default_text="half of what there is",
        in_file=False,
        help="Stop before more memory than SIZE is used, and report what was found so far (exit code 3).",
        example="--max-memory 4G",
    ),
)
