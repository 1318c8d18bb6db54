"""All options of all verbs, in the order in which `--help` shows them.

The command line, the configuration files and the pytest plugin take their options from this table, and docs/cli.md is
tested against it.
"""

from __future__ import annotations

from atomsan.config.checking import CHECKING
from atomsan.config.generating import GENERATING
from atomsan.config.input_output import INPUT_AND_OUTPUT, READING_VERBS
from atomsan.config.option import Option
from atomsan.config.recording import RECORDING, RECORDING_VERBS

COMMON: tuple[Option, ...] = (
    Option(
        name="force",
        verbs=(*RECORDING_VERBS, "convert", "generate"),
        type=bool,
        default=False,
        in_file=False,
        help="Replace an existing output.",
        example="--force",
    ),
    Option(
        name="quiet",
        verbs=(*RECORDING_VERBS, *READING_VERBS, "generate"),
        type=bool,
        short="-q",
        default=False,
        help="No progress bar, no warnings but that events are missing, else only errors; run has a line for findings.",
        example="--quiet",
    ),
)

OPTIONS: tuple[Option, ...] = (*RECORDING, *CHECKING, *INPUT_AND_OUTPUT, *GENERATING, *COMMON)


def options_of(verb: str) -> dict[str, Option]:
    return {option.name: option for option in OPTIONS if verb in option.verbs}
