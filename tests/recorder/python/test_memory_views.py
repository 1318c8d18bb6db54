"""Items of views: elements of what they are views of."""

from __future__ import annotations

import array
import mmap
from typing import Any

import pytest

from recorder.probing import function, recording


def logged(source: str, base: Any, view: Any) -> str:
    run = function(f"def f(v):\n {source}")
    with recording() as log:
        run(view)
        return "; ".join(log.events({id(base): "b"}))


GET, SET = "«item»[v, 2]", "«item»[v, 2] = 5"
TEXT = bytes(range(12))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (GET, "read b[2]"),
        (SET, "write b[2]"),
        ("«item»[v, -1]", "read b[11]"),
        ("«aug_item»[v, 2] += 1", "read b[2]; write b[2]"),
        ("«item»[v, 1:3] = b'xy'", "write b[1]; write b[2]"),
        ("«item»[v, 9:1:-4] = b'xy'", "write b[9]; write b[5]"),
        ("«item»[v, 1:3]", ""),
        ("«item»[v, 3:3] = b''", ""),
        ("«item»[v[4:], 2]", "read b[6]"),
        ("«item»[v[::-1], 2]", "read b[9]"),
        ("«item»[v[1::3], 2]", "read b[7]"),
        ("«item»[v[4:][2:], -1] = 1", "write b[11]"),
        ("«item»[v.cast('H'), 2] = 1", "write b[4]; write b[5]"),
        ("«item»[v.toreadonly(), 2]", "read b[2]"),
        ("«item»[memoryview(v), 2]", "read b[2]"),
    ],
)
def test_item_is_an_element_of_the_base(source: str, expected: str) -> None:
    base = bytearray(TEXT)
    assert logged(source, base, memoryview(base)) == expected


def test_items_of_an_array_are_its_elements() -> None:
    base = array.array("i", range(6))
    view = memoryview(base)
    assert logged(SET, base, view) == "write b[2]"
    assert logged(GET, base, view[3:]) == "read b[5]"
    assert logged(SET, base, view.cast("B")[4:]) == "write b[1]"
    assert list(base)[:3] == [0, 1 + (5 << 16), 5]


def test_long_slice_is_a_range() -> None:
    base = bytearray(1000)
    assert logged("«item»[v, 100:900] = bytes(800)", base, memoryview(base)) == "write b[100:900]"
    assert logged("«item»[v, 899:99:-1] = bytes(800)", base, memoryview(base)) == "write b[100:900]"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("«item»[v, 12]", IndexError),
        ("«item»[v, -13] = 1", IndexError),
        ("«item»[v, 'k']", TypeError),
        ("«item»[v, 1 << 80]", IndexError),
        ("«item»[v, 2] = 999", ValueError),
        ("«item»[v, 1:3] = b'xyz'", ValueError),
        ("v.release(); «item»[v, 2]", ValueError),
        ("del «item»[v, 2]", TypeError),
    ],
)
def test_errors_are_those_of_the_view(source: str, error: type[Exception]) -> None:
    base = bytearray(TEXT)
    with pytest.raises(error):
        logged(source, base, memoryview(base))


@pytest.mark.parametrize("source", [GET, "«item»[v.cast('B', (3, 4)), (1, 2)]"])
def test_what_cannot_be_told_is_left_alone(source: str) -> None:
    base = bytearray(TEXT)
    many = memoryview(base)
    assert logged("«item»[v.cast('B', (3, 4)), (1, 2)]", base, many) == ""
    assert logged(GET, TEXT, memoryview(TEXT)) == ""
    with mmap.mmap(-1, 12) as memory, memoryview(memory) as view:
        assert logged(source, memory, view) == ""
