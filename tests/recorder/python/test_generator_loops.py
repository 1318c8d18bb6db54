"""Loops of entry functions that a generator drives: the loop as a whole is a region, however it is left."""

from __future__ import annotations

import pytest

import atomsan
from atomsan.trace.events import Op
from recorder.running import recorded

PROGRAM = """
    import asyncio, threading
    import library

    class Box:
        n = 0

    box = Box()

    def values(count):
        for value in range(count):
            box.n
            yield value
            box.n = value

    async def avalues(count):
        for value in range(count):
            box.n
            yield value
            box.n = value

    def goes_over():
        for value in values(2):
            box.n

    def has_nothing_inside():
        for value in values(2):
            pass

    def is_broken_off():
        for value in values(2):
            box.n
            break
        box.n = 1

    def returns():
        for value in values(2):
            return box.n

    def raises():
        try:
            for value in values(2):
                box.n
                raise ValueError
        except ValueError:
            box.n = 1

    def has_its_generator_elsewhere():
        given = values(2)
        for value in given:
            box.n
            break
        box.n = 1

    def counts():
        for number, value in enumerate(values(1)):
            box.n

    def pairs():
        for number, value in zip([1], values(1)):
            box.n

    def nests():
        for number in (1,):
            for value in values(1):
                box.n

    def goes_over_a_list():
        for value in [1, 2]:
            box.n

    def goes_over_a_library():
        for value in library.each([1, 2]):
            box.n

    def goes_over_an_expression():
        given = (box.n for _ in (1,))
        for value in given:
            box.n

    def goes_over_its_class():
        class Values:
            def __iter__(self):
                box.n
                return iter((1,))
        for value in Values():
            box.n

    def asks():
        given = values(1)
        while True:
            if next(given, None) is None:
                break

    def asks_until_it_stops():
        given = values(1)
        try:
            while True:
                next(given)
        except StopIteration:
            box.n = 1

    def sends():
        given = values(1)
        next(given)
        for _ in range(1):
            try:
                given.send(1)
            except StopIteration:
                pass

    def asks_a_new_one():
        for _ in range(2):
            given = values(1)
            next(given)
            given.close()

    def asks_a_list():
        given = iter([1])
        while True:
            box.n
            if next(given, None) is None:
                break

    def waits():
        async def goes_over():
            async for value in avalues(1):
                box.n
        asyncio.run(goes_over())

    started = values(1)

    def starts():
        box.n
        next(started)

    def goes_on():
        for value in started:
            box.n

    cases = [case for name, case in list(globals().items()) if getattr(case, "__name__", "") == name]
    for case in cases[cases.index(goes_over):]:
        thread = threading.Thread(target=case, name=case.__name__)
        thread.start()
        thread.join()
"""

# By thread or task. A loop as a whole and an iteration have one name; a generator that runs again has a stroke.
LOOPS = {
    "goes_over": "loop[values[] loop[] values'[] loop[] values'[]]",
    "has_nothing_inside": "loop[values[] values'[] values'[]]",
    "is_broken_off": "loop[values[] loop[]]",
    "returns": "loop[values[] loop[]]",
    "raises": "loop[values[] loop[]]",
    "has_its_generator_elsewhere": "loop[values[] loop[]]",
    "counts": "loop[values[] loop[] values'[]]",
    "pairs": "loop[values[] loop[]]",
    "nests": "loop[values[] values'[]]",
    "goes_over_a_list": "loop[] loop[]",
    "goes_over_a_library": "loop[] loop[]",
    "goes_over_an_expression": "loop[]",
    "goes_over_its_class": "__iter__[] loop[]",
    "asks": "loop[loop[values[]] loop[values'[]]]",
    "asks_until_it_stops": "loop[loop[values[]] loop[values'[]]]",
    "sends": "values[] loop[loop[values'[]]]",
    "asks_a_new_one": "loop[values[]] loop[values[]]",
    "asks_a_list": "loop[] loop[]",
    "Task-1": "loop[avalues[] loop[] avalues'[]]",
    "starts": "values[]",
    "goes_on": "loop[values'[]]",
}


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By thread, the regions in its entry function."""
    trace = atomsan.load(recorded(tmp_path_factory.mktemp("generators"), PROGRAM))
    symbols, texts = trace.symbols, dict[str, str]()
    for batch in trace.batches():
        for thread, op, target in zip(batch.thread.tolist(), batch.op.tolist(), batch.target.tolist(), strict=True):
            name = symbols.threads[thread].partition(" ")[0]
            if op == Op.BEGIN:
                texts[name] = f"{texts.get(name, '')} {_shown(symbols, target)}[".replace("[ ", "[")
            elif op == Op.END:
                texts[name] = f"{texts.get(name, '')}]"
    return {name: _inside(text.strip()) for name, text in texts.items()}


def _shown(symbols: atomsan.trace.symbols.Symbols, region: int) -> str:
    name = symbols.regions[region].rpartition(":")[0] if "/" in symbols.regions[region] else symbols.regions[region]
    name = name.rpartition("/")[2].rpartition(":")[2].rpartition(".")[2]
    return f"{name}'" if symbols.regions.get(region, "entered") == "resumed" else name


def _inside(text: str) -> str:
    return text.partition("[")[2].removesuffix("]")


@pytest.mark.parametrize("case", LOOPS)
def test_loop_is_a_region_if_a_generator_drives_it(regions: dict[str, str], case: str) -> None:
    assert regions[case] == LOOPS[case]
