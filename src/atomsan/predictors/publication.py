"""Publication and first use: what is done to data before anybody else can have a reference to it comes first.

*Publication*: from the first access of an object, if that is a write in the constructor of its own class, until its
thread next writes to something else that is shared, posts or forks. *First use*: the same for what the body of a
module makes while it is imported by a function, as long as that body runs: globals, and containers in these. What a
thread does with its fresh data is no part of its units (`engines/_units.pyx`), so that nobody comes before it or in
between.

Whoever gets a reference in a way that is not recorded ends this with the first access; what was done before that is
taken to come first all the same.
"""

from __future__ import annotations

from array import array
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from atomsan.trace.symbols import READ_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from atomsan.trace.symbols import Symbols

    Words = NDArray[np.uint32]

_CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__setstate__")
_MODULE = "<module>"

# What a site or a location has to do with making data. Classes are numbered from 2.
NOTHING, MODULE_BODY = 0, 1


class Made(NamedTuple):
    """What is known of the numbers in a batch."""

    objects: Words
    """By location: the object that it is a part of; what has no parts is one by itself."""
    classes: Words
    """By location: the class of that object; NOTHING if it has none."""
    makers: Words
    """By site: the class whose constructor it is in, or MODULE_BODY, or NOTHING."""
    module_regions: NDArray[np.uint8]
    """By region: whether it is code of a module's body."""


_NONE = np.zeros(0, np.uint32)
NOTHING_MADE = Made(_NONE, _NONE, _NONE, np.zeros(0, np.uint8))


class Publication:
    """Reads the symbols of a trace, as they come. `orders` are those that count: `publication`, `first-use`."""

    def __init__(self, symbols: Symbols, orders: frozenset[str]) -> None:
        self._symbols = symbols
        self._orders = orders
        self._class_numbers: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._object_numbers: dict[str | int, int] = {}
        self._made = NOTHING_MADE

    def known(self) -> Made:
        """For all symbols so far."""
        objects, classes, makers, regions = self._made
        symbols = self._symbols
        new_objects, new_classes = array("I"), array("I")
        if self._orders and symbols.locations.has("object"):
            for of, kind in self._parts(len(objects)):
                new_objects.append(of)
                new_classes.append(kind)
        new_sites = range(len(makers), len(symbols.sites) if self._orders else 0)
        new_regions = range(len(regions), len(symbols.regions))
        self._made = Made(
            _grown(objects, new_objects),
            _grown(classes, new_classes),
            _grown(makers, [self._maker(site) for site in new_sites]),
            _grown(regions, [_MODULE in symbols.regions[region] for region in new_regions]),
        )
        return self._made

    def _parts(self, known: int) -> Iterator[tuple[int, int]]:
        """The object and the class of each new location."""
        locations = self._symbols.locations
        for start in range(known, len(locations), READ_AT_ONCE):
            new = range(start, min(start + READ_AT_ONCE, len(locations)))
            columns = (locations.values(field, new.start, new.stop) for field in ("object", "class"))
            yield from map(self._part, *zip(*zip_longest(new, *columns), strict=True))

    def _part(self, location: int, name: str | None, kind: str | None) -> tuple[int, int]:
        if name is None or "#" not in name:
            # modules, classes, and what is known by a global: each part of it by itself
            return self._object(f" {location}"), NOTHING
        return self._object(name), self._class(kind or "")

    def _object(self, name: str) -> int:
        # there can be millions: of `Account #2` a number is kept
        kind, sign, number = name.rpartition(" #")
        key: str | int = name
        if sign and number.isascii() and number.isdecimal() and len(number) < 10 and not number.startswith("0"):
            key = self._kinds.setdefault(kind, len(self._kinds)) << 32 | int(number)
        return self._object_numbers.setdefault(key, len(self._object_numbers))

    def _class(self, name: str) -> int:
        if "publication" not in self._orders:
            return NOTHING
        return self._class_numbers.setdefault(name.rpartition(".")[2], len(self._class_numbers) + MODULE_BODY + 1)

    def _maker(self, site: int) -> int:
        function = self._symbols.sites.get(site, "function") or ""
        if function == _MODULE:
            return MODULE_BODY if "first-use" in self._orders else NOTHING
        owner, _, name = function.rpartition(".")
        return self._class(owner) if name in _CONSTRUCTORS and owner else NOTHING


def _grown(column: NDArray[Any], more: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([column, np.array(more, column.dtype)]) if more else column
