"""`atomsan record`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.cli.exits import Exit, say
from atomsan.cli.run import explain, recording_options, wanted_limits, wanted_program
from atomsan.cli.tell import written
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.recorder.log.tape import Tape


def record(
    program: list[str],
    module: str | None,
    code: str | None,
    include: list[str],
    omit: list[str],
    explain_selection: bool,
    noise: bool,
    seed: int,
    output: str | None,
    force: bool,
    max_events: int | None,
    max_bytes: int | None,
    timeout: float | None,
    redact_keys: bool,
    follow_fork: bool,
    spec: str | None,
    quiet: bool,
) -> int:
    """Run a Python program and record what its threads and tasks do, to be checked later.

    The program needs no change; its input, output, arguments and exit code are its own. A bundle (.atomtrace) grows
    while the program runs and can be read at any time, also if the program or the recorder is killed. Other formats are
    written at the end.

    Examples:
      atomsan record -o run.atomtrace app.py input.csv
      atomsan record --noise --seed 3 --force -o run.atomtrace -m package.server
      atomsan record --explain-selection --redact-keys --quiet -o run.parquet app.py
      atomsan record --follow-fork -o run.atomtrace -m package.workers
      atomsan record --spec spec.toml -o run.atomtrace app.py
    """
    from atomsan.cli.check import specification
    from atomsan.flow.run import recorded

    if output is None:
        raise InputError("missing -o T: where to write the trace (see atomsan record --help)")
    what = wanted_program(program, module, code)
    limits = wanted_limits(max_events, max_bytes, timeout)
    rules = specification(spec, [], [])
    options = recording_options(what, include, omit, noise, seed, redact_keys, explain_selection, rules)
    with recorded(what, options, limits, output, force=force, follow_fork=follow_fork) as done:
        if explain_selection:
            explain(done.selections)
        if not quiet:
            _tell(done.tape, output)
            for forked in done.forked:
                _tell(forked.tape, str(forked.path))
    return Exit.INTERRUPTED if done.outcome.is_out_of_time else done.outcome.code or Exit.FINE


def _tell(tape: Tape, output: str) -> None:
    for text in tape.meta.warnings:
        say(f"warning: {text}")
    say(written(output, tape.events))
