"""Options for checking: algorithms, atomic sets, the specification, the time limit, levels and the exit code."""

from __future__ import annotations

from atomsan.checkers import algorithms
from atomsan.checkers.registry import CHECKERS
from atomsan.config.option import Option
from atomsan.predictors.registry import DEFAULT as DEFAULT_PREDICTOR
from atomsan.predictors.registry import ORDERS, PREDICTORS

# The methods of `flow.sets`, which takes too long to import for a help page. A test compares.
SET_METHODS = ("patterns", "projection", "both")

# What can count as findings do: `Report.failing` takes these.
FAIL_ON = ("suspects", "race", "deadlock")

_CHECKING_VERBS = ("run", "check", "sets", "predict", "refine")


CHECKING: tuple[Option, ...] = (
    Option(
        name="all",
        verbs=("run", "check", "sets", "predict"),
        type=bool,
        default=False,
        help="Also print the steps of suspects, and notes: what is proved harmless or was not asked about.",
        example="--all",
    ),
    Option(
        name="fail_on",
        verbs=("run", "check", "sets", "predict"),
        type=str,
        choices=FAIL_ON,
        metavar="KINDS",
        repeated=True,
        commas=True,
        default=(),
        help="What makes the exit code 1 beside findings: suspects; and race, deadlock, which are predicted only. "
        "Repeatable, or separated by commas.",
        example="--fail-on suspects",
    ),
    Option(
        name="findings_exit_code",
        verbs=("run",),
        type=int,
        metavar="N",
        default=1,
        in_file=False,
        help="The exit code when there are findings.",
        example="--findings-exit-code 42",
    ),
    Option(
        name="algorithm",
        verbs=("run", "check"),
        type=str,
        choices=(algorithms.NAME, *CHECKERS),
        metavar="NAME",
        repeated=True,
        default=(algorithms.NAME,),
        default_text=algorithms.NAME,
        help="The algorithm to run; atomsan algorithms lists them. Repeatable: all run in one pass.",
        example=f"--algorithm {algorithms.NAME}",
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
        verbs=("check", "sets", "predict"),
        type=float,
        metavar="S",
        help="Stop after S seconds for each trace, and report what was found so far (exit code 3).",
        example="--timeout 60",
    ),
    Option(
        name="sets",
        verbs=("sets",),
        type=str,
        metavar="FILE",
        in_file=False,
        help="The atomic sets, in TOML or JSON: a table 'sets' of variables (names or globs; of a recorded program, "
        "fields of classes), and optionally a table 'declared' of the sets that each region is a unit of work on.",
        example="--sets sets.toml",
    ),
    Option(
        name="method",
        verbs=("sets",),
        type=str,
        choices=SET_METHODS,
        default="both",
        help="How to check: the 14 access patterns, projection (exact for each set), or both in one pass.",
        example="--method projection",
    ),
    Option(
        name="method",
        verbs=("predict",),
        type=str,
        choices=tuple(PREDICTORS),
        metavar="NAME",
        repeated=True,
        default=(DEFAULT_PREDICTOR,),
        default_text=DEFAULT_PREDICTOR,
        in_file=False,
        help="How to predict; atomsan algorithms lists the methods. Repeatable.",
        example="--method view",
    ),
    Option(
        name="unordered",
        verbs=("predict",),
        type=str,
        choices=ORDERS,
        metavar="ORDER",
        repeated=True,
        default=(),
        in_file=False,
        help="What does not order threads: handovers (queues, events, conditions), publication (an object is made "
        "before others have it), spinning (a loop that waits for a value), first-use (a module is imported). "
        "Repeatable.",
        example="--unordered handovers",
    ),
    Option(
        name="max_rounds",
        verbs=("refine",),
        type=int,
        metavar="N",
        help="Stop after N rounds.",
        example="--max-rounds 10",
    ),
    Option(
        name="spec",
        verbs=(*_CHECKING_VERBS, "record"),
        type=str,
        metavar="FILE",
        help="The atomicity specification: which regions are meant to be atomic, and which data belongs together.",
        example="--spec spec.toml",
    ),
    Option(
        name="atomic",
        verbs=_CHECKING_VERBS,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        help="Regions that are meant to be atomic: only these, unless the specification has a default. Repeatable.",
        example="--atomic bank:Account.*",
    ),
    Option(
        name="not_atomic",
        verbs=_CHECKING_VERBS,
        type=str,
        metavar="GLOB",
        repeated=True,
        default=(),
        help="Regions that are not meant to be atomic: the regions inside them are checked instead. Repeatable.",
        example="--not-atomic *:main",
    ),
    Option(
        name="split_at_waits",
        verbs=("check", "sets", "predict", "refine"),
        type=bool,
        default=False,
        help="Split every region where it waits for another thread, not only those AtomSan chose itself.",
        example="--split-at-waits",
    ),
)
