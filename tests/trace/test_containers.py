"""The containers that the compiled modules share, against lists and dictionaries.

They are inlined into the modules that use them and cannot be called from Python: so a module that only calls them is
compiled here, once in a run of the tests.
"""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

BUILD = """
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup

source, target, include = sys.argv[1:4]
sys.argv[1:] = ["-q", "build_ext", "--build-lib", target, "--build-temp", target]
setup(
    ext_modules=cythonize(
        [Extension("_containers", [source], extra_compile_args=["-O1", "-g0", "-fno-strict-aliasing"])],
        include_path=[include],
        build_dir=target,
        compiler_directives={"boundscheck": False, "wraparound": False, "cdivision": True},
        quiet=True,
    )
)
"""


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    target = tmp_path_factory.mktemp("containers")
    source = Path(__file__).with_name("_containers.pyx")
    command = [sys.executable, "-c", BUILD, str(source), str(target), str(ROOT / "src")]
    built = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = target.glob("_containers*.so")
    spec = spec_from_file_location("_containers", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def randoms(count: int) -> Iterator[random.Random]:
    return (random.Random(seed) for seed in range(count))


def test_array_keeps_its_rows_and_grows_with_zeros(containers: Any) -> None:
    for chance in randoms(20):
        array, model = containers.Array(), []
        for _ in range(50):
            needed = chance.randrange(1, 2 * len(model) + 10)
            array.grow(needed)
            assert array.room >= needed
            model += [0] * (array.room - len(model))
            assert [array[i] for i in range(array.room)] == model
            at = chance.randrange(len(model))
            array[at] = model[at] = chance.getrandbits(64)
            if len(model) > 2000:
                break


def test_array_refuses_more_than_there_can_be(containers: Any) -> None:
    array = containers.Array()
    array.grow(10)
    array[9] = 7
    assert array.refuses(2**61)
    assert array.refuses(2**64 // 12)  # the room to spare would not fit
    assert array[9] == 7
    with pytest.raises(MemoryError):
        array.grow(2**61)


@pytest.mark.parametrize("first", [0, 1, 5])
def test_slots_are_used_again_and_old_references_are_void(containers: Any, first: int) -> None:
    for chance in randoms(20):
        slots = containers.Slots(first)
        alive: dict[int, tuple[int, int]] = {}  # by slot: the reference, and the number
        void: list[int] = [0]
        last_given: list[int] = []
        for number in range(500):
            if alive and chance.random() < 0.5:
                slot = chance.choice(list(alive))
                void.append(alive.pop(slot)[0])
                assert slots.give(slot)
                last_given.append(slot)
            else:
                slot, ref = slots.take(number)
                assert slot not in alive
                assert slot == (last_given.pop() if last_given else first + len(alive))
                alive[slot] = ref, number
            assert slots.used == first + len(alive) + len(last_given)
        assert all(slots.look(ref) == number for ref, number in alive.values())
        assert all(slots.look(ref) is None for ref in void)
        assert len({ref for ref, _ in alive.values()} | set(void)) == len(alive) + len(void)


def test_slot_whose_generations_are_used_up_is_never_used_again(containers: Any) -> None:
    slots = containers.Slots()
    slot, first = slots.take(1)
    other, _ = slots.take(2)
    slots.age(slot, 2**32 - 2)
    assert slots.give(slot)
    again, last = slots.take(3)
    assert again == slot
    assert slots.look(last) == 3
    assert slots.look(first) is None
    assert not slots.give(slot)
    assert slots.look(last) is None
    assert slots.look(first) is None
    assert slots.take(4)[0] not in (slot, other)
    assert slots.look(last) is None


def test_no_slot_is_left(containers: Any) -> None:
    slots = containers.Slots()
    slot, _ = slots.take(1)
    slots.exhaust()
    assert slots.take(2) is None
    slots.give(slot)
    assert slots.take(3)[0] == slot
    assert slots.take(4) is None


def test_lists_by_number(containers: Any) -> None:
    for chance in randoms(20):
        lists, model = containers.Lists(30, 3), [[], [], []]
        for _ in range(400):
            row = chance.randrange(1, 31)
            inside = next((i for i in range(3) if row in model[i]), None)
            into = chance.randrange(3)
            if inside is not None:
                lists.take_out(inside, row)
                model[inside].remove(row)
            elif model[into] and chance.random() < 0.6:
                earlier = chance.choice(model[into])
                lists.put_behind(into, earlier, row)
                model[into].insert(model[into].index(earlier) + 1, row)
            else:
                lists.put_first(into, row)
                model[into].insert(0, row)
            assert [lists.rows_of(i) for i in range(3)] == model


@pytest.mark.parametrize("unit", [8, 24])
def test_blocks_are_zero_apart_and_used_again(containers: Any, unit: int) -> None:
    for chance in randoms(5):
        memory = containers.Memory(unit)
        alive: dict[int, tuple[int, int]] = {}  # by address: its power, and what it is filled with
        given: dict[int, list[int]] = {}
        for number in range(1000):
            power = chance.choice([0, 1, 2, 3, 4, 9, 13])
            if alive and chance.random() < 0.5:
                block = chance.choice(list(alive))
                power, byte = alive.pop(block)
                assert memory.read(block, power) == bytes([byte]) * (unit << power)
                memory.give(block, power)
                given.setdefault(power, []).append(block)
            else:
                block, content = memory.take(power)
                assert content == bytes(unit << power)
                assert block % 8 == 0
                if given.get(power):
                    assert block == given[power].pop()
                alive[block] = power, number % 127 + 1
                memory.fill(block, power, number % 127 + 1)
        for block, (power, byte) in alive.items():
            assert memory.read(block, power) == bytes([byte]) * (unit << power)
        memory.free_all()
        assert memory.take(3)[1] == bytes(unit << 3)


@pytest.mark.parametrize("keys", [10, 1000, 2**64])
def test_map_is_a_dictionary(containers: Any, keys: int) -> None:
    for chance in randoms(20):
        numbers, model = containers.NumberMap(), {}
        known: list[int] = []
        for _ in range(2000):
            key = chance.choice(known) if known and chance.random() < 0.5 else chance.randrange(keys)
            choice = chance.random()
            if choice < 0.5:
                model[key] = chance.choice([0, 1, 2**32 - 2, chance.randrange(2**32 - 1)])
                numbers.put(key, model[key])
                known.append(key)
            elif choice < 0.8:
                model.pop(key, None)
                numbers.forget(key)
            assert numbers.get(key) == model.get(key)
            assert len(numbers) == len(model)
        assert all(numbers.get(key) == model.get(key) for key in known)
        numbers.free()
        assert len(numbers) == 0
        assert numbers.get(1) is None
        numbers.put(1, 2)
        assert numbers.get(1) == 2


def test_map_grows(containers: Any) -> None:
    numbers = containers.NumberMap()
    for key in range(300_000):
        numbers.put(key << 20, key)
    assert all(numbers.get(key << 20) == key for key in range(300_000))
    assert numbers.get(1) is None


@pytest.mark.parametrize("places", [2, 4])
def test_table_of_colliding_keys(containers: Any, places: int) -> None:
    """Runs of entries that wrap around the end of the table, and gaps in the middle of them."""
    for chance in randoms(40):
        table, model = containers.Clashes(), {}
        for _ in range(400):
            key = chance.randrange(200)
            if chance.random() < 0.6 and len(model) < 60:
                value = chance.randrange(1, 2**32)
                table.put(key, value, places)
                model[key] = value
            else:
                table.forget(key)
                model.pop(key, None)
            assert len(table) == len(model)
        assert {key: table.get(key) for key in range(200)} == {key: model.get(key, 0) for key in range(200)}
        assert table.size >= places * len(model)


def test_table_takes_keys_known_to_be_new(containers: Any) -> None:
    table = containers.Clashes()
    for key in range(100):
        table.put_new(key, key + 1)
    assert [table.get(key) for key in range(101)] == [*range(1, 101), 0]


def test_keys_in_a_row_are_spread(containers: Any) -> None:
    for start in (0, 1 << 20, 1 << 40):
        places = Counter(containers.spread(key) >> 54 for key in range(start, start + 1024))
        assert max(places.values()) <= 2
