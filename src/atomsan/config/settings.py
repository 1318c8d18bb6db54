"""Option values from configuration files: `[tool.atomsan]` of pyproject.toml, or atomsan.toml.

The command line wins over the file, the file over the default. A file has one table of options for all verbs: a verb
ignores the options that it does not have. Options that name what is written, or that our caller relies on, are not
among them: a file can come with a stranger's code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from atomsan.config.option import Option
from atomsan.config.table import OPTIONS, options_of
from atomsan.errors import InputError
from atomsan.source.toml_files import parse_toml, read_bytes

# A file neither names what is written, nor allows that something is replaced.
_NAMING_OUTPUTS = frozenset({"output", "keep", "truth", "force"})

# Nor does it say what those may rely on who call us: the exit code, and how much memory is left to others.
_RELIED_ON = frozenset({"findings_exit_code", "max_memory"})


def resolved(verb: str, given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The value of every option of a verb: from the command line (`given`, unless None), the file or the default."""
    options = options_of(verb)
    values = {name: _from_command_line(options[name], value) for name, value in given.items() if value is not None}
    for option in options.values():
        if option.excludes in values and option.name in values:
            raise InputError(f"{option.flag} and {options[option.excludes].flag} cannot stand together")
    for name, option in options.items():
        if name not in values and option.excludes not in values:
            values[name] = settings.get(option)
    return {name: values.get(name) for name in options}


def _from_command_line(option: Option, given: Any) -> Any:
    try:
        return option.from_command_line(given)
    except ValueError as error:
        raise InputError(f"{option.flag} {error}") from None


class Settings:
    """The options in a configuration file. The constructor checks all of them."""

    def __init__(self, path: Path | None = None, content: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self._values = {key.replace("-", "_"): value for key, value in (content or {}).items()}
        for key, value in self._values.items():
            self._check(key, value)
        for option in OPTIONS:
            if option.excludes in self._values and option.name in self._values:
                raise self._error(option.name, f"cannot stand beside {option.excludes!r}")

    def get(self, option: Option) -> Any:
        """The value in the file, else the default."""
        if not option.in_file or option.name not in self._values:
            return list(option.default) if option.repeated else option.default
        try:
            value = option.from_file(self._values[option.name])
        except ValueError as error:
            raise self._error(option.name, str(error)) from None
        if option.metavar == "FILE" and os.path.exists(value) and not os.path.isfile(value):
            raise self._error(option.name, "must name a file: a pipe or a device would never end")
        return value

    def _check(self, key: str, value: Any) -> None:
        rows = [option for option in OPTIONS if option.name == key and option.in_file]
        if not rows and key in _NAMING_OUTPUTS:
            raise self._error(key, "is for the command line only: what is written is not for a file to say")
        if not rows and key in _RELIED_ON:
            raise self._error(key, "is for the command line only: who calls atomsan relies on it")
        if not rows:
            import difflib

            known = {option.name for option in OPTIONS if option.in_file}
            close = difflib.get_close_matches(key, known, 1)
            hint = f" (did you mean {close[0].replace('_', '-')}?)" if close else ""
            raise self._error(key, f"is not an option{hint}")
        problems = []
        for option in rows:
            try:
                option.from_file(value)
                return
            except ValueError as error:
                problems.append(str(error))
        raise self._error(key, problems[0])

    def _error(self, key: str, problem: str) -> InputError:
        return InputError(f"{key.replace('_', '-')!r} {problem}", source=str(self.path) if self.path else None)


def find_settings(start: Path | None = None) -> Settings:
    """The settings of the nearest directory that has any, from `start` (the current directory) upwards."""
    for directory in _upwards(start):
        for path, read in ((directory / "atomsan.toml", _own_table), (directory / "pyproject.toml", _tool_table)):
            content = read(path)
            if content is not None:
                return Settings(path, content)
    return Settings()


def _upwards(start: Path | None) -> Iterator[Path]:
    try:
        directory = (start or Path.cwd()).absolute()
    except OSError:  # the current directory was deleted
        return
    yield directory
    yield from directory.parents


def _own_table(path: Path) -> dict[str, Any] | None:
    return parse_toml(read_bytes(path), path) if path.is_file() else None


def _tool_table(path: Path) -> dict[str, Any] | None:
    raw = read_bytes(path) if path.is_file() else b""
    if b"atomsan" not in raw:
        return None
    tool = parse_toml(raw, path).get("tool", {})
    table = tool.get("atomsan") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise InputError("tool.atomsan must be a table", source=str(path))
    return table
