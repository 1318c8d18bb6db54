"""`atomsan validate`: checks whether traces are well-formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atomsan import __version__
from atomsan.cli.exit_codes import Exit
from atomsan.cli.messages import say, warn
from atomsan.cli.option_groups import TraceOptions
from atomsan.cli.output import answer_files, print_answer, write_answer
from atomsan.cli.progress import progress
from atomsan.errors import InputError, printable
from atomsan.reports.numerals import counted
from atomsan.reports.registry import ANSWER_FORMATS, Answer

if TYPE_CHECKING:
    from atomsan.trace.validation import ValidatedSource

# History: atomsan-validate/1, the first.
SCHEMA = "atomsan-validate/1"


@dataclass
class Validation:
    """The result for one trace."""

    name: str
    events: int = 0
    source: ValidatedSource | None = None
    error: InputError | None = None
    interrupted: str | None = None
    """Why it was not read to its end."""

    @property
    def code(self) -> Exit:
        return Exit.INTERRUPTED if self.interrupted else Exit.BAD if self.error else Exit.FINE

    @property
    def repairs(self) -> list[dict[str, Any]]:
        if self.source is None:
            return []
        first = self.source.repairs.first
        return [{"what": what, "count": n, "first": first[what]} for what, n in self.source.repairs.counts.items()]

    def text(self) -> str:
        if self.error:
            return f"{printable(str(self.error))}\n"
        notes = ["repaired" if self.repairs else "well-formed"]
        notes += [self.interrupted] if self.interrupted else []
        notes += ["cut short"] if self.source and not self.source.meta.complete else []
        repairs = self.source.repairs.lines() if self.source else []
        state = f"{self.name}: {', '.join(notes)}, {counted(self.events, 'event')}"
        return "\n  ".join(map(printable, [state, *repairs])) + "\n"

    def to_dict(self) -> dict[str, Any]:
        meta = self.source.meta if self.source else None
        return {
            "source": self.name,
            "format": meta.format if meta else None,
            "well_formed": not (self.error or self.repairs or self.interrupted),
            "events": self.events,
            "complete": bool(meta and meta.complete and not self.interrupted and not self.error),
            "error": {"message": self.error.message, "line": self.error.line, "event": self.error.event}
            if self.error
            else None,
            "repairs": self.repairs,
            "warnings": list(meta.warnings) if meta else [],
        }


@dataclass
class Outcomes:
    """The results for all traces."""

    all: list[Validation] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "tool": {"name": "atomsan", "version": __version__},
            "traces": [outcome.to_dict() for outcome in self.all],
        }

    def as_text(self) -> str:
        return "".join(outcome.text() for outcome in self.all)


def validate(traces: list[str], format: str, output: list[str], quiet: bool, reading: TraceOptions) -> int:
    """Check whether traces are well-formed.

    Locks are held by one thread at a time and released by their holder; begin and end match; a child's first event
    follows its fork and its last precedes its join. For a malformed trace the first offending line and the reason are
    shown, with exit code 2. All traces are checked; the exit code is the highest of all.

    Examples:
      atomsan validate t.std
      atomsan validate *.std.gz --quiet
      atomsan validate - --input-format std --lenient --format json -o result.json < t.txt
    """
    files = answer_files(output)
    at_once = ANSWER_FORMATS[format].is_for_reading
    outcomes = Outcomes()
    for trace in traces:
        outcome = _outcome(trace, reading, quiet=quiet)
        outcomes.all.append(outcome)
        if at_once and not outcome.error:  # an error goes to standard error
            print(outcome.text(), end="", flush=True)
        _warn(outcome, quiet=quiet)
        if outcome.interrupted:
            break
    answer = Answer(text=outcomes.as_text, data=outcomes.to_dict)
    if not at_once:
        print_answer(format, answer)
    write_answer(files, answer)
    return max((outcome.code for outcome in outcomes.all), default=Exit.FINE)


def _outcome(trace: str, reading: TraceOptions, *, quiet: bool) -> Validation:
    from atomsan.trace.monitor import why_interrupted
    from atomsan.trace.reading import open_trace

    outcome = Validation("standard input" if trace == "-" else trace)
    try:
        outcome.source = open_trace(trace, format=reading.input_format, lenient=reading.lenient)
        with progress("validating", outcome.source, quiet=quiet) as counter:
            for batch in outcome.source.batches():
                counter(batch)
                outcome.events = counter.events
    except InputError as error:
        outcome.error = error
    except KeyboardInterrupt as error:
        outcome.interrupted = why_interrupted(error)
    return outcome


def _warn(outcome: Validation, *, quiet: bool) -> None:
    if outcome.source:
        warn(outcome.source, repairs=False, quiet=quiet)
    if outcome.error:
        say(str(outcome.error))
    if outcome.interrupted:
        say(f"{outcome.interrupted} after {counted(outcome.events, 'event')} of {outcome.name}")
