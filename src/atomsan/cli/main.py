"""`atomsan`: the list of verbs, and the way to one of them. Verbs are loaded when they are called for."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from atomsan import env
from atomsan.cli.exits import Exit, guarded, say
from atomsan.errors import InputError

# A verb and what `atomsan --help` says of it. Its module and its function have its name.
VERBS: dict[str, str] = {
    "run": "Run a Python program, and find the atomicity violations in it.",
    "record": "Run a Python program, and record it to be checked later.",
    "check": "Was it atomic? The violations that happened in traces.",
    "sets": "Is each object's data consistent? The same, for each atomic set.",
    "refine": "Infer which regions are atomic, by iterative refinement.",
    "algorithms": "What check and sets can run: properties, promises, cost, papers.",
    "stats": "What is in a trace: events, threads, locks, variables, transactions.",
    "validate": "Is a trace well-formed? If not: the first offending line, and why.",
    "convert": "Write a trace in another format.",
    "generate": "Make up a trace, of which the violations are known.",
    "debug": "Versions and paths, for a bug report.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code. Without arguments they are those of the process, which is ours then."""
    if arguments is not None:
        return guarded(lambda: _run(list(arguments)))
    # What is imported stays: to look for garbage in it, now and at the end, is a sixth of the time of a small check.
    gc.set_threshold(200_000)
    env.prepare()
    try:
        return guarded(lambda: _run(sys.argv[1:]))
    finally:
        gc.freeze()


def _run(arguments: list[str]) -> int:
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure"):
        # a name that the terminal's encoding lacks is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    from atomsan.cli.words import given_plainly, with_program_apart

    words = with_program_apart(arguments)
    if arguments and arguments[0] in VERBS:
        verb, *rest = words
        given = given_plainly(verb, rest)
        if given is not None:
            return call(verb, given)
    from atomsan.cli.commands import ABORT, USAGE_ERROR, application

    try:
        code = application()(args=words or ["--help"], prog_name="atomsan", standalone_mode=False)
    except USAGE_ERROR as error:
        say(_usage(error))
        return Exit.BAD
    except ABORT:
        raise KeyboardInterrupt from None
    if not arguments:
        say("no verb given")
        return Exit.BAD
    return int(code or Exit.FINE)


def call(verb: str, given: Mapping[str, Any]) -> int:
    """Run a verb with what the command line gives for its options and arguments, None where it says nothing."""
    from atomsan.config import arguments_of, find_settings, options_of, resolved

    values: dict[str, Any] = {}
    for name, argument in arguments_of(verb).items():
        if argument.required and not given[name]:
            raise InputError(f"missing {argument.metavar} (see atomsan {verb} --help)")
        values[name] = list(given[name] or ()) if argument.repeated else given[name]
    values |= resolved(verb, {name: given[name] for name in options_of(verb)}, find_settings())
    code: int = function_of(verb)(**values)
    return code


def function_of(verb: str) -> Callable[..., int]:
    from importlib import import_module

    function: Callable[..., int] = getattr(import_module(f"atomsan.cli.{verb}"), verb)
    return function


def _usage(error: Any) -> str:
    """Typer's message as one line: what is wrong, and where the right usage stands."""
    path = error.ctx.command_path if getattr(error, "ctx", None) else "atomsan"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]} (see {path} --help)"
