"""How much memory there is for a trace, and what is refused for lack of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import atomsan
from atomsan.errors import InputError
from atomsan.trace.memory import check_room, default_memory, group_limits, memory_limited, most_memory


def test_default_is_at_most_half_of_the_machine() -> None:
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < default_memory() <= whole // 2
    assert most_memory() == default_memory()


def test_limit_holds_inside_its_context() -> None:
    with memory_limited(1000):
        assert most_memory() == 1000
        check_room(250, "a thing")
        with pytest.raises(InputError, match="a thing of 251 bytes, for which 1,000 bytes of memory are not enough"):
            check_room(251, "a thing")
        with memory_limited(None):
            assert most_memory() == default_memory()
    assert most_memory() == default_memory()


@pytest.mark.parametrize(
    ("own", "files", "limit"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "100\n", "a/memory.max": "70\n", "memory.max": "max\n"}, 70),
        ("0::/\n", {"memory.max": "50\n"}, 50),
        # in a container the path is that outside of it, and only the root is there
        ("0::/outside/it\n", {"memory.max": "40\n"}, 40),
        ("4:memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": "30\n"}, 30),
        ("4:cpu,memory:/a\n", {"cpu,memory/a/memory.limit_in_bytes": "20\n"}, 20),
        ("3:cpu:/a\n", {"cpu/a/memory.limit_in_bytes": "10\n"}, 1 << 62),
        ("0::/\n", {"memory.max": "nonsense\n"}, 1 << 62),
        ("", {}, 1 << 62),
    ],
)
def test_limits_of_control_groups_are_found(own: str, files: dict[str, str], limit: int, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert min(group_limits(own, tmp_path)) == limit


def test_tables_of_many_messages_count_together(tmp_path: Path) -> None:
    builder = atomsan.TraceBuilder()
    for number in range(20_000):
        builder.add("T", "r", f"a variable with a long name, of which there are {number}")
    for name in ("t.atomtrace", "t.parquet"):
        builder.build().save(tmp_path / name)
        assert len(atomsan.load(tmp_path / name)) == 20_000
        with memory_limited(4 << 20), pytest.raises(InputError, match=r"(a message|tables) of .* are not enough"):
            atomsan.load(tmp_path / name)


def test_metadata_with_more_json_than_there_is_memory_for_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.atomtrace"
    atomsan.parse("T:r(x)").save(path)
    content = json.loads((path / "meta.json").read_text()) | {"more": [[]] * 100_000}
    (path / "meta.json").write_text(json.dumps(content))
    assert len(atomsan.load(path)) == 1
    with memory_limited(4 << 20), pytest.raises(InputError, match=r"meta\.json: data in JSON of .* are not enough"):
        atomsan.load(path)


def test_file_with_a_hole_in_place_of_its_data_is_refused(tmp_path: Path) -> None:
    """A file of a few kilobytes can have a length of terabytes; what is not written is zeros."""
    path = tmp_path / "t.atomtrace"
    atomsan.parse("T:r(x)").save(path)
    for name in ("meta.json", "events.arrows"):
        with open(path / name, "r+b") as file:
            before = file.read()
            if name == "events.arrows":
                file.seek(4)
                file.write(b"\xff\xff\xff\x7f")  # 2 GiB of metadata
            file.truncate(1 << 42)
        with pytest.raises(InputError, match=r"data in JSON of|a message with 2,147,483,647 bytes of metadata"):
            atomsan.load(path)
        (path / name).write_bytes(before)
    assert len(atomsan.load(path)) == 1
