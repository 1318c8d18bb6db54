"""docs/cli.md, `--help`, the table of options and the verbs' functions agree."""

from __future__ import annotations

import inspect
import re
import typing
from importlib import import_module
from pathlib import Path

import pytest

from atomsan.cli.arguments import arguments_of
from atomsan.cli.main import VERBS
from atomsan.cli.option_groups import GROUPS
from atomsan.cli.option_help import default, spelling
from atomsan.config.checking import SET_METHODS
from atomsan.config.generating import GENERATOR_KINDS, PRESETS
from atomsan.config.option import Option
from atomsan.config.table import OPTIONS, options_of
from cli.running import Atomsan

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

HELP = {"--help", "-h"}


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", text))


def section(verb: str) -> str:
    return PAGE.partition(f"\n## {verb}\n")[2].partition("\n## ")[0]


def spellings(verb: str) -> set[str]:
    return set().union(*(options_in(spelling(option)) for option in options_of(verb).values()))


def documented(verb: str) -> str:
    """The table of a verb's options for the page."""
    lines = ["| option | means | example | default |", "|---|---|---|---|"]
    for option in options_of(verb).values():
        shown = spelling(option).replace("|", "\\|")
        lines.append(f"| `{shown}` | {option.help} | `{option.example}` | {default(option)} |")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_has_the_options_of_each_verb(verb: str) -> None:
    assert documented(verb) in section(verb), f"put this table into docs/cli.md:\n{documented(verb)}"
    assert options_in(re.sub(r"\[.*?\]\(.*?\)", "", section(verb))) - HELP == spellings(verb)


def test_the_page_has_one_section_for_each_verb() -> None:
    assert re.findall(r"^## ([a-z]+)$", PAGE, re.M) == list(VERBS)
    for verb in VERBS:
        assert f"[`{verb}`](#{verb})" in PAGE


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_every_option_with_an_example(verb: str, atomsan: Atomsan) -> None:
    ran = atomsan(verb, "--help")
    assert (ran.code, ran.err) == (0, "")
    text = " ".join(ran.out.split())
    head, _, examples = ran.out.partition("Examples:")
    declared = set(re.findall(r"^  (-.*?)(?:  |$)", head, re.M))
    assert {name for line in declared for name in options_in(line)} == spellings(verb) | HELP
    for option in options_of(verb).values():
        assert option.help in text
        assert option.example in (examples if option.is_switch else text), option.name
    assert f"atomsan {verb}" in examples
    assert examples.strip("\n") in section(verb), "the page has the same examples"


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_use_options_that_exist(verb: str, atomsan: Atomsan) -> None:
    examples = atomsan(verb, "--help").out.partition("Examples:")[2]
    assert options_in(examples) <= spellings(verb)


def test_the_top_help_has_every_verb(atomsan: Atomsan) -> None:
    text = " ".join(atomsan("--help").out.split())
    for verb, summary in VERBS.items():
        assert f" {verb} {summary}" in text
        assert verb in {name for option in OPTIONS for name in option.verbs}


@pytest.mark.parametrize("verb", VERBS)
def test_parameters_of_verbs_match_the_tables(verb: str) -> None:
    function = getattr(import_module(f"atomsan.cli.{verb}"), verb)
    hints = typing.get_type_hints(function)
    hints.pop("return")
    for name in GROUPS.keys() & hints.keys():
        group = hints.pop(name)
        assert group is GROUPS[name]
        hints |= typing.get_type_hints(group, vars(import_module(group.__module__)))
    sizes = hints.pop("sizes", None)
    for argument in arguments_of(verb).values():
        assert hints.pop(argument.name) == (list[str] if argument.repeated else str)
    for name, option in options_of(verb).items():
        if name in hints or sizes is None:
            assert hints.pop(name) == expected_type(option), name
    assert not hints, "parameters that no table knows"


def expected_type(option: Option) -> object:
    if option.repeated:
        return list[option.type]  # type: ignore[name-defined]
    return option.type | None if option.default is None else option.type


def test_generate_has_the_options_of_the_generator() -> None:
    from atomsan.trace import generator
    from atomsan.trace.generator import BENCHMARKS, GeneratorOptions, options_for, preset

    assert generator.GENERATOR_KINDS == GENERATOR_KINDS
    assert tuple(BENCHMARKS) == PRESETS
    fields = set(inspect.signature(GeneratorOptions).parameters)
    own = {"output", "output_format", "preset", "scale", "truth", "list_presets", "force", "quiet"}
    assert set(options_of("generate")) - own == fields
    for name, option in options_of("generate").items():
        if name in fields - {"kind", "seed", "violations"}:
            usual, small = (getattr(options_for(kind), name) for kind in ("serializable", "random"))
            assert option.default_text == (f"{usual}" if usual == small else f"{usual}, random: {small}"), name
    assert options_for("violating").violations == 10
    assert inspect.signature(preset).parameters["scale"].default == float(options_of("generate")["scale"].default_text)


def test_sets_has_the_methods_of_the_flow() -> None:
    from atomsan.flow.sets import Method

    assert typing.get_args(Method) == SET_METHODS


def test_the_page_has_all_exit_codes() -> None:
    from atomsan.cli.exit_codes import Exit

    codes = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", codes, re.M)] == list(Exit)
