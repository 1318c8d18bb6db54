"""`atomsan record`: runs a Python program and records a trace of it, to be checked later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, say_written, shown_warnings, warn_of_format
from atomsan.cli.option_groups import LaunchOptions
from atomsan.cli.run import show_selections
from atomsan.config.specification import specification
from atomsan.errors import InputError

if TYPE_CHECKING:
    from atomsan.recorder.log.tape import Tape


def record(output: str | None, spec: str | None, quiet: bool, launch: LaunchOptions) -> int:
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
    from atomsan.flow.run import recorded

    if output is None:
        raise InputError("missing -o T: where to write the trace (see atomsan record --help)")
    program, limits = launch.to_run(), launch.limits()
    options = launch.recording(specification(spec))
    with recorded(program, options, limits, output, force=launch.force, follow_fork=launch.follow_fork) as done:
        if launch.explain_selection:
            show_selections(done.selections)
        _say_recorded(done.tape, output, quiet=quiet)
        for forked in done.forked:
            _say_recorded(forked.tape, str(forked.path), quiet=quiet)
    if done.outcome.is_out_of_time:
        return Exit.INTERRUPTED
    is_wanted = done.tape.meta.missing in (None, limits.full_message)
    return done.outcome.code or (Exit.FINE if is_wanted else Exit.INTERRUPTED)


def _say_recorded(tape: Tape, output: str, *, quiet: bool) -> None:
    from atomsan.trace.output_paths import output_format

    for text in shown_warnings(tape.meta.warnings, tape.meta.missing, quiet=quiet):
        say(f"warning: {text}")
    warn_of_format(output, output_format(output), tape.meta.missing)
    if not quiet:
        say_written(output, tape.events)
