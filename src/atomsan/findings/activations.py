"""Activations around an event: which executions of functions its thread is in, and where each was called.

They are read off the regions that are open. The iteration of an entry function's loop stands for its function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from atomsan.trace.regions import RESUMED, WITHIN_FUNCTION

if TYPE_CHECKING:
    from atomsan.trace.symbols import Symbols


class OpenRegion(NamedTuple):
    """A region that is open at an event, by the numbers of its symbols."""

    region: int
    since: int
    """The event of its begin."""
    site: int
    """The site of its begin: of a function, where it was called."""


class Activation(NamedTuple):
    """One execution of a function, or of an iteration that stands for it."""

    region: int
    since: int
    called_at: int
    """The site at which it was called, if recorded code called it."""
    function: int | None
    is_iteration: bool
    """Whether it is an iteration of a loop: nobody said that it is one step."""
    is_resumed: bool
    """Whether it is a generator that runs again."""
    is_declared: bool
    """Whether the user said that it is one step on an argument (`atomsan.unit_for`)."""

    def is_same(self, other: Activation) -> bool:
        return self.since == other.since and self.region == other.region

    def goes_on_in(self, other: Activation) -> bool:
        """Whether the other is the same, or may be a later run of the same generator."""
        is_later = other.is_resumed and self.since < other.since and self.function == other.function is not None
        return self.is_same(other) or is_later


class ActivationFinder:
    """Finds the activations among open regions, by the symbols of their trace."""

    def __init__(self, symbols: Symbols) -> None:
        self._regions = symbols.regions
        self._locations = symbols.locations

    def is_structure(self, location: int) -> bool:
        """Whether a location is the structure of a container."""
        return bool(self._locations.get(location, "field") == "<structure>")

    def is_default(self, location: int, field: int) -> bool:
        """Whether a location is what the class of an object has in the place of one of its fields."""
        of_class, of_object = (
            {name: self._locations.get(one, name) for name in ("object", "class", "field")} for one in (location, field)
        )
        is_of_class = of_class["object"] == of_class["class"] != of_object["object"]
        return is_of_class and (of_class["class"], of_class["field"]) == (of_object["class"], of_object["field"])

    def is_activation(self, region: int) -> bool:
        return self._regions.get(region, "origin") not in WITHIN_FUNCTION

    def function(self, region: int) -> int | None:
        found: int | None = self._regions.get(region, "function")
        return found

    def starts(self, region: int) -> bool:
        """Whether a function begins with the region, and does not go on."""
        is_iteration = self._regions.get(region, "origin") == "loop"
        return self.is_activation(region) and not is_iteration and not self.is_resumed(region)

    def is_resumed(self, region: int) -> bool:
        return bool(self._regions.get(region, "entered") == RESUMED)

    def activations(self, opened: Iterable[OpenRegion]) -> list[Activation]:
        """The activations, the outermost first."""
        found: list[Activation] = []
        for one in opened:
            if not self.is_activation(one.region):
                continue
            activation = self._activation(one)
            # a loop of the function that is running is part of it
            is_part = activation.is_iteration and found and found[-1].function == activation.function is not None
            if not is_part:
                found.append(activation)
        return found

    def _activation(self, opened: OpenRegion) -> Activation:
        return Activation(
            opened.region,
            opened.since,
            opened.site,
            self.function(opened.region),
            self._regions.get(opened.region, "origin") == "loop",
            self.is_resumed(opened.region),
            any(line.startswith("!") for line in (self._regions.get(opened.region, "flow") or "").splitlines()),
        )


class SharedActivations(NamedTuple):
    """The activations that two events have in common, and those that only one of them is in."""

    unit: Activation | None
    """The innermost one around both."""
    first: Sequence[Activation]
    last: Sequence[Activation]


def shared(first: Sequence[Activation], last: Sequence[Activation], restarted: Set[int]) -> SharedActivations:
    """What two events of one thread share. The runs of one generator are one activation.

    `restarted`: the functions that were started anew in between: both may be in different runs of them.
    """
    count = 0
    for one, other in zip(first, last, strict=False):
        if not one.is_same(other) and (one.function in restarted or not one.goes_on_in(other)):
            break
        count += 1
    return SharedActivations(last[count - 1] if count else None, first[count:], last[count:])
