"""The commands for typer, made from the verbs' functions and the table of options.

Typer says what is wrong with a command line, and shows the help. One that is as it should be is read in `words`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from atomsan import __version__
from atomsan.cli.exits import Exit, guarded
from atomsan.cli.main import VERBS, call, function_of
from atomsan.config import Argument, Option, arguments_of, options_of

# The base of every way to use the command line wrongly. Typer has it, under different names in different versions.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

# What becomes of an interrupt while typer is at work.
ABORT = typer.Abort


class _Verbs(TyperGroup):
    """The verbs as subcommands, each imported when it is called for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def application() -> Any:
    """The whole command line. Help is plain text: typer's decorated one costs 0.2 s of imports."""
    app = typer.Typer(cls=_Verbs, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback(
        help="AtomSan finds atomicity violations in concurrent programs.",
        epilog="Every option of a verb can stand in [tool.atomsan] of pyproject.toml, or in atomsan.toml."
        " Exit codes: 0 fine; 1 findings; 2 bad usage or bad input; 3 interrupted.",
        subcommand_metavar="VERB ...",
        add_help_option=False,
    )(_top)
    return typer.main.get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        _answer(f"atomsan {__version__}")


def _show_help(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        _answer(ctx.get_help())


def _answer(text: str) -> None:
    """Print, and leave; guarded here, because typer has ideas of its own about a pipe that breaks."""

    def work() -> int:
        print(text)
        return Exit.FINE

    raise typer.Exit(guarded(work))


# Our own, because typer's makes it load pydantic (0.1 s) whenever it is *not* given.
_HELP: Any = typer.Option(
    False,
    "--help",
    "-h",
    help="Show this message and exit.",
    callback=_show_help,
    is_eager=True,
    show_default=False,
)
_VERSION: Any = typer.Option(
    False, "--version", help="Show the version and exit.", callback=_show_version, is_eager=True, show_default=False
)


def _top(version: bool = _VERSION, help: bool = _HELP) -> None:
    pass


def command(verb: str) -> Any:
    """A verb as a command."""
    options, arguments = options_of(verb), arguments_of(verb)

    def run(**given: Any) -> int:
        return guarded(lambda: call(verb, given))

    parameters = [_argument(argument) for argument in arguments.values()]
    parameters += [_option(option) for option in options.values()]
    parameters += [inspect.Parameter("help", inspect.Parameter.KEYWORD_ONLY, default=_HELP, annotation=bool)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    summary, examples = _help(function_of(verb))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(verb, help=summary, epilog=examples, add_help_option=False)(run)
    made = typer.main.get_command(app)
    for parameter in made.params:
        if parameter.name in arguments:
            _show_plainly(parameter, arguments[parameter.name])
        if parameter.name != "help":
            _take_as_given(parameter)
    return made


def _help(function: Callable[..., int]) -> tuple[str, str]:
    """A docstring up to `Examples:`, and from there on, with its lines as they are."""
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples:\n")
    return text, f"\b\nExamples:\n{examples}"


def _argument(argument: Argument) -> inspect.Parameter:
    return inspect.Parameter(
        argument.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Argument(
            ... if argument.required else None, metavar=argument.metavar, help=argument.help, show_default=False
        ),
        annotation=list[str] if argument.repeated else str,
    )


def _option(option: Option) -> inspect.Parameter:
    names = [option.flag, option.short] if option.short else [option.flag]
    if option.is_switch and option.in_file:
        names[0] += f"/--no-{option.flag[2:]}"
    notes = [f"e.g. {option.example}"] if not option.is_switch else []
    notes += [f"default: {option.shown_default}"] if option.shown_default else []
    shown = f"{option.help}  [{'; '.join(notes)}]" if notes else option.help
    annotation: Any = bool if option.is_switch else list[str] if option.repeated else str
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(None, *names, help=shown, metavar=option.shown_metavar or None, show_default=False),
        annotation=annotation | None,
    )


def _show_plainly(parameter: Any, argument: Argument) -> None:
    """`TRACE` in place of `TRACE <str>`, which is no help."""
    usage = argument.metavar + "..." * (argument.repeated and argument.required)
    parameter.get_usage_pieces = lambda ctx: [usage]
    parameter.get_help_record = lambda ctx: (usage, argument.help)


def _take_as_given(parameter: Any) -> None:
    """Keep typer from loading pydantic (0.1 s) to turn a text into a text: `config` checks what is given.

    Typer converts so since it has its own copy of click; before that, a parameter has no `get_runtime_param`.
    """
    if not hasattr(parameter, "get_runtime_param"):
        return
    parameter.process_value = lambda ctx, value: None if value in ((), []) else value
