"""The positional arguments of each verb."""

from __future__ import annotations

from typing import NamedTuple


class Argument(NamedTuple):
    """A positional argument of one or more verbs."""

    name: str
    verbs: tuple[str, ...]
    metavar: str
    help: str
    repeated: bool = False
    required: bool = True


ARGUMENTS: tuple[Argument, ...] = (
    Argument(name="trace", verbs=("stats",), metavar="TRACE", help="The trace; - is standard input."),
    Argument(
        name="traces",
        verbs=("check", "sets", "predict", "validate"),
        metavar="TRACE",
        help="The traces; - is standard input.",
        repeated=True,
    ),
    Argument(
        name="program",
        verbs=("run", "record"),
        metavar="[FILE] [ARGUMENTS]",
        help="The program and its arguments. Everything after FILE, -m MODULE or -c CODE goes to the program.",
        repeated=True,
        required=False,
    ),
    Argument(name="traces", verbs=("refine",), metavar="TRACE", help="The traces.", repeated=True),
    Argument(name="trace", verbs=("convert",), metavar="FROM", help="The trace to read; - is standard input."),
    Argument(
        name="target",
        verbs=("convert",),
        metavar="TO",
        help="The trace to write, in the format of its name: .atomtrace, .parquet, .std, .csv, .trace; "
        "the last three with .gz or .zst if wanted. - is standard output, as STD.",
    ),
)


def arguments_of(verb: str) -> dict[str, Argument]:
    return {argument.name: argument for argument in ARGUMENTS if verb in argument.verbs}
