"""The type of an option: its name, value type, default and help, and the check of a value given for it."""

from __future__ import annotations

from typing import Any, NamedTuple

_TYPE_WORDS: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


class Option(NamedTuple):
    """One option of one or more verbs. A verb's function has a parameter of this name."""

    name: str
    verbs: tuple[str, ...]
    type: type
    help: str
    example: str
    """As a user would type it. Switches are shown in the examples of the verbs instead."""
    default: Any = None
    default_text: str = ""
    """For help, where the default is not a single value."""
    metavar: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()
    repeated: bool = False
    commas: bool = False
    """Whether a value of a repeated option may be several, separated by commas."""
    in_file: bool = True
    """Whether a configuration file may have it. Options for a single call, such as `--list-presets`, may not."""
    excludes: str = ""
    """The name of an option that cannot be combined with this one."""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.type is bool

    def from_file(self, given: Any) -> Any:
        """Check a value from a configuration file. A `ValueError` says what is allowed."""
        if self.repeated:
            values = given if isinstance(given, list) else [given]
            return [self._one(one) for value in values for one in self._separated(value)]
        return self._one(given)

    def from_command_line(self, given: Any) -> Any:
        """Convert a value from the command line. A `ValueError` says what is allowed."""
        if self.type not in (int, float):
            return self.from_file(list(given) if self.repeated else given)
        try:
            return self.type(given)
        except ValueError:
            raise ValueError(self._must_be(given)) from None

    def _separated(self, given: Any) -> list[Any]:
        return [part.strip() for part in given.split(",")] if self.commas and isinstance(given, str) else [given]

    def _one(self, given: Any) -> Any:
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        fits = is_number if self.type is float else type(given) is self.type
        if not fits or (self.choices and given not in self.choices):
            raise ValueError(self._must_be(given))
        return given

    def _must_be(self, given: Any) -> str:
        allowed = f"one of {', '.join(self.choices)}" if self.choices else _TYPE_WORDS[self.type]
        return f"must be {allowed}, not {_shortened(given)}"


def _shortened(given: Any, most: int = 60) -> str:
    text = repr(given)
    return text if len(text) <= most else text[:most] + "..."
