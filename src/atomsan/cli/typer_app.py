"""The typer application, made from the verbs' functions and the table of options.

Typer shows the help, and says what is wrong with a command line; `parsing` reads most of the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from atomsan import __version__
from atomsan.cli.arguments import Argument, arguments_of
from atomsan.cli.exit_codes import Exit, guarded
from atomsan.cli.main import VERBS, call, function_of
from atomsan.cli.option_help import default, metavar, negation
from atomsan.config.option import Option
from atomsan.config.table import options_of

# The base class of all usage errors. Its name differs between versions of typer.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

# Typer raises this in place of KeyboardInterrupt.
ABORT = typer.Abort


class _Verbs(TyperGroup):
    """The verbs as subcommands, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return command(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def application() -> Any:
    """The whole command line. Help is plain text: importing what typer needs for rich text takes 0.2 s."""
    app = typer.Typer(cls=_Verbs, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback(
        help="AtomSan finds atomicity violations in concurrent programs.",
        epilog="Options of a verb can also be set in [tool.atomsan] of pyproject.toml, or in atomsan.toml."
        " Exit codes: 0 fine; 1 findings; 2 bad usage or bad input; 3 interrupted or out of time.",
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
    """Print and exit; guarded here, because typer handles a broken pipe in its own way."""

    def work() -> int:
        print(text)
        return Exit.FINE

    raise typer.Exit(guarded(work))


# Our own, because typer's imports pydantic (0.1 s) whenever it is *not* given.
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
            _hide_type(parameter, arguments[parameter.name])
        if parameter.name != "help":
            _skip_conversion(parameter)
    return made


def _help(function: Callable[..., int]) -> tuple[str, str]:
    """A docstring up to `Examples:`, and the examples, with their line breaks kept."""
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
        names[0] += f"/{negation(option)}"
    notes = [f"e.g. {option.example}"] if not option.is_switch else []
    notes += [f"default: {default(option)}"] if default(option) else []
    shown = f"{option.help}  [{'; '.join(notes)}]" if notes else option.help
    annotation: Any = bool if option.is_switch else list[str] if option.repeated else str
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(None, *names, help=shown, metavar=metavar(option) or None, show_default=False),
        annotation=annotation | None,
    )


def _hide_type(parameter: Any, argument: Argument) -> None:
    """`TRACE` in place of `TRACE <str>`."""
    usage = argument.metavar + "..." * (argument.repeated and argument.required)
    parameter.get_usage_pieces = lambda ctx: [usage]
    parameter.get_help_record = lambda ctx: (usage, argument.help)


def _skip_conversion(parameter: Any) -> None:
    """Keep typer from importing pydantic (0.1 s) to convert strings to strings: `config` checks the values.

    Only versions of typer with their own copy of click do so; in older ones a parameter has no `get_runtime_param`.
    """
    if not hasattr(parameter, "get_runtime_param"):
        return
    parameter.process_value = lambda ctx, value: None if value in ((), []) else value
