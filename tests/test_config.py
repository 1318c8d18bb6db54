"""Values of options: from the command line, the nearest configuration file, or the default."""

from __future__ import annotations

import os
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan.cli.arguments import ARGUMENTS
from atomsan.cli.main import VERBS
from atomsan.cli.option_help import metavar, negation
from atomsan.config.settings import Settings, find_settings, resolved
from atomsan.config.table import OPTIONS, options_of
from atomsan.errors import InputError
from cli.running import assert_refused, process


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def values(verb: str, file: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    return resolved(verb, given, Settings(Path("atomsan.toml"), file))


# ---- the command line, the file, the default


def test_the_command_line_wins_over_the_file_and_the_file_over_the_default() -> None:
    assert values("stats")["format"] == "text"
    assert values("stats", {"format": "json"})["format"] == "json"
    assert values("stats", {"format": "json"}, format="text")["format"] == "text"
    assert values("stats", {"lenient": True})["lenient"] is True
    assert values("stats", {"lenient": True}, lenient=False)["lenient"] is False


def test_a_switch_that_is_on_by_default_can_be_turned_off_in_the_file_and_on_the_command_line() -> None:
    assert values("run")["predict"] is True
    assert values("run", predict=False)["predict"] is False
    assert values("run", {"predict": False})["predict"] is False
    assert values("run", {"predict": False}, predict=True)["predict"] is True


def test_python_and_the_command_line_have_the_same_defaults() -> None:
    defaults = {name: one.default for name, one in signature(atomsan.run).parameters.items()}
    for name in ("predict", "predict_seconds", "noise", "seed", "live", "redact_keys"):
        assert defaults[name] == values("run")[name], name


def test_every_option_of_a_verb_has_a_value() -> None:
    for verb in {verb for option in OPTIONS for verb in option.verbs}:
        assert set(values(verb)) == set(options_of(verb))


def test_verb_ignores_options_of_other_verbs() -> None:
    assert values("debug", {"seed": 3, "lenient": True}) == {"format": "text"}


def test_keys_may_have_hyphens_or_underscores() -> None:
    assert values("stats", {"input-format": "csv"})["input_format"] == "csv"
    assert values("stats", {"input_format": "csv"})["input_format"] == "csv"


def test_repeatable_option_accepts_a_single_string() -> None:
    assert values("run", {"include": "a"})["include"] == ["a"]
    assert values("run", {"include": ["a", "b"]})["include"] == ["a", "b"]
    assert values("run", include=("c",))["include"] == ["c"]


def test_exclusive_options_override_the_file_and_are_refused_together() -> None:
    assert values("generate", {"kind": "random"}, preset="tsp")["kind"] is None
    assert values("generate", {"preset": "tsp"}, kind="random")["preset"] is None
    with pytest.raises(InputError, match="--kind and --preset cannot stand together"):
        values("generate", kind="random", preset="tsp")
    with pytest.raises(InputError, match=r"atomsan.toml: 'kind' cannot stand beside 'preset'"):
        values("generate", {"kind": "random", "preset": "tsp"})


@pytest.mark.parametrize(("text", "value"), [("7", 7), ("1_000", 1000), ("-1", -1)])
def test_numbers_on_the_command_line_are_parsed(text: str, value: int) -> None:
    assert values("generate", events=text)["events"] == value


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e6", "9" * 5000])
def test_invalid_numbers_on_the_command_line_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--events must be a whole number, not "):
        values("generate", events=text)


# ---- bad files


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"forrmat": "json"}, r"atomsan.toml: 'forrmat' is not an option \(did you mean format\?\)"),
        ({"zzz": 1}, "atomsan.toml: 'zzz' is not an option$"),
        ({"list-presets": True}, "atomsan.toml: 'list-presets' is not an option"),
        ({"format": "xml"}, "atomsan.toml: 'format' must be one of text, json, not 'xml'"),
        ({"format": 1}, "atomsan.toml: 'format' must be one of text, json, not 1"),
        ({"lenient": "yes"}, "atomsan.toml: 'lenient' must be true or false, not 'yes'"),
        ({"lenient": 1}, "atomsan.toml: 'lenient' must be true or false, not 1"),
        ({"seed": True}, "atomsan.toml: 'seed' must be a whole number, not True"),
        ({"seed": "7"}, "atomsan.toml: 'seed' must be a whole number, not '7'"),
        ({"seed": 1.5}, "atomsan.toml: 'seed' must be a whole number, not 1.5"),
        ({"read-share": "x"}, "atomsan.toml: 'read-share' must be a number, not 'x'"),
        ({"include": [1]}, "atomsan.toml: 'include' must be a text, not 1"),
        ({"include": {"a": 1}}, "atomsan.toml: 'include' must be a text, not "),
        ({"preset": ["a"]}, "atomsan.toml: 'preset' must be "),
        ({"output": "a.json"}, "atomsan.toml: 'output' is for the command line only"),
        ({"output": ["/etc/settings.json"]}, "atomsan.toml: 'output' is for the command line only"),
        ({"keep": "run.atomtrace"}, "atomsan.toml: 'keep' is for the command line only"),
        ({"truth": "a.json"}, "atomsan.toml: 'truth' is for the command line only"),
        ({"force": True}, "atomsan.toml: 'force' is for the command line only"),
        ({"findings-exit-code": 0}, "atomsan.toml: 'findings-exit-code' is for the command line only"),
        ({"max-memory": "100T"}, "atomsan.toml: 'max-memory' is for the command line only"),
    ],
)
def test_bad_keys_are_refused_for_every_verb(file: dict[str, Any], message: str) -> None:
    for verb in VERBS:
        with pytest.raises(InputError, match=message):
            values(verb, file)


def test_option_that_names_an_output_is_not_read_from_a_file() -> None:
    of_outputs = {one.name for one in OPTIONS if "FILE" in one.metavar and one.name not in ("spec", "sets")}
    assert of_outputs >= {"output", "truth"}
    assert not any(one.in_file for one in OPTIONS if one.name in of_outputs | {"keep", "force"})


# What a stranger could do by each option that a file may have: at worst, hide findings, or take time, in a run of his
# own program or a check of his own trace. An option that could do more has `in_file=False`.
HARMLESS = {
    "which code is watched": {"include", "omit"},
    "which regions are checked": {"atomic", "not_atomic", "split_at_waits"},
    "reads a file of TOML, and no pipe or device": {"spec"},
    "how the program is run": {"noise", "seed", "repeat", "live", "timeout", "follow_fork"},
    "how much is recorded": {"max_events", "max_bytes", "redact_keys"},
    "how it is checked": {"algorithm", "method", "first", "predict", "predict_seconds", "max_rounds", "lenient"},
    "what is shown": {"format", "limit", "all", "quiet", "explain_selection"},
    "makes more count as findings": {"fail_on"},
    "in what form the files are that the command line names": {"input_format", "output_format"},
    "what is in a generated trace": {
        *("kind", "preset", "scale", "events", "threads", "locks", "variables", "regions", "handovers", "sites"),
        *("region_length", "region_locks", "nesting", "read_share", "locality", "unary", "burst", "violations"),
        "violations_from",
    },
}


def test_every_option_of_a_file_was_judged_by_what_a_stranger_could_do_with_it() -> None:
    assert {one.name for one in OPTIONS if one.in_file} == set().union(*HARMLESS.values())


@pytest.mark.parametrize("name", ["pipe", "directory", "device"])
def test_specification_that_a_file_names_is_a_file(name: str) -> None:
    """A pipe would never end."""
    os.mkfifo("pipe")
    Path("directory").mkdir()
    Path("device").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"atomsan\.toml: 'spec' must name a file"):
        values("check", {"spec": name})
    Path("spec.toml").touch()
    assert values("check", {"spec": "spec.toml"})["spec"] == "spec.toml"
    assert values("check", {"spec": "not-there.toml"})["spec"] == "not-there.toml"
    assert values("stats", {"spec": name}), "a verb that has no such option"
    assert values("check", {"spec": name}, spec="/dev/stdin")["spec"] == "/dev/stdin", "the command line may"


def test_number_option_accepts_a_whole_number() -> None:
    assert values("generate", {"read-share": 1})["read_share"] == 1


# ---- finding the file


def test_settings_without_a_file_have_no_path() -> None:
    assert find_settings().path is None


def test_settings_of_the_nearest_directory_win(tmp_path: Path) -> None:
    (tmp_path / "atomsan.toml").write_text("format = 'json'")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_settings(inner).path == tmp_path / "atomsan.toml"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.atomsan]\nformat = 'text'")
    assert find_settings(inner).path == tmp_path / "a" / "pyproject.toml"
    (inner / "pyproject.toml").write_text("[project]\nname = 'not about atomsan'")
    assert find_settings(inner).path == tmp_path / "a" / "pyproject.toml"


def test_atomsan_toml_wins_over_pyproject_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.atomsan]\nformat = 'json'")
    assert find_settings().get(options_of("stats")["format"]) == "json"
    (tmp_path / "atomsan.toml").write_text("")
    assert find_settings().get(options_of("stats")["format"]) == "text"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("atomsan.toml", b"format =", "not valid TOML"),
        ("atomsan.toml", b"format = '\xff'", "not valid TOML"),
        ("atomsan.toml", b"[tool.atomsan]", "'tool' is not an option"),
        ("pyproject.toml", b"[tool.atomsan\n", "not valid TOML"),
        ("pyproject.toml", b"[tool]\natomsan = 1\n", "must be a table"),
        ("pyproject.toml", b"[tool.atomsan]\nfrob = 1\n", "'frob' is not an option"),
    ],
)
def test_bad_settings_files_are_refused(name: str, content: bytes, words: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        find_settings()
    assert str(caught.value).startswith(str(Path(name).absolute()))


def test_broken_pyproject_without_our_table_is_ignored() -> None:
    Path("pyproject.toml").write_text("[tool.other\n")
    assert find_settings().path is None


def test_command_line_tool_reads_the_settings() -> None:
    Path("t.std").write_text("T1|r(x)|1\n")
    Path("pyproject.toml").write_text('[tool.atomsan]\nformat = "json"\n')
    assert process("stats", "t.std").out.startswith("{")
    assert process("stats", "t.std", "--format", "text").out.startswith("t.std: std")
    Path("atomsan.toml").write_text("frob = 1")
    assert_refused(process("stats", "t.std"), "atomsan.toml: 'frob' is not an option")
    assert process("stats", "--help").code == 0, "help is there when the file is broken"


# ---- the table


def test_rows_of_the_table_are_complete() -> None:
    for option in OPTIONS:
        # of a switch that is on already, the way to turn it off
        flag = negation(option) if option.is_switch and option.default else option.flag
        assert option.example.startswith((flag, f"{option.short} ")), option.name
        assert option.help.endswith("."), option.name
        assert option.is_switch or metavar(option), option.name
        assert option.name.isidentifier()
        if not option.is_switch:
            example = option.example.split(maxsplit=1)[1]
            option.from_command_line([example] if option.repeated else example)
    for verb in {verb for option in OPTIONS for verb in option.verbs}:
        names = [row.name for row in (*OPTIONS, *ARGUMENTS) if verb in row.verbs]
        assert len(names) == len(set(names)), verb
