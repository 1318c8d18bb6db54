"""Cache of instrumented code: entries by source and options; damage costs time and nothing else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from atomsan.source import cache as caching
from atomsan.source.cache import CodeCache, default_directory
from atomsan.source.instrument import compile_instrumented
from forking import exit_code, forked

SOURCE = b"class C:\n    def f(self):\n        self.n += 1\n        return {'a': (1, None, 2.5)}\n"
MADE = compile_instrumented(SOURCE, module="m", file="m.py")


def entries(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def test_stored_code_and_plan_are_loaded_again(tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "new" / "cache"))
    name = cache.name(SOURCE, "m")
    assert cache.load(name) is None
    cache.store(name, *MADE)
    code, plan = MADE
    assert cache.load(name) == (code, plan)
    assert type(cache.load(name)[1].probes[0]) is type(plan.probes[0])  # type: ignore[index]
    assert len(entries(tmp_path)) == 1, "nothing else is left behind"


def test_entry_names_differ_by_source_options_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CodeCache(None)
    names = {
        cache.name(SOURCE, "m", "m.py"),
        cache.name(SOURCE + b"\n", "m", "m.py"),
        cache.name(SOURCE, "n", "m.py"),
        cache.name(SOURCE, "m", "n.py"),
        cache.name(SOURCE, "m", "m.py", [("f", 1)]),
    }
    monkeypatch.setattr(caching, "__version__", "another")
    names.add(cache.name(SOURCE, "m", "m.py"))
    monkeypatch.setattr("sys.version", "another")
    names.add(cache.name(SOURCE, "m", "m.py"))
    monkeypatch.setattr(caching, "_seen_instrumenter", (("another", 1, 1),))
    names.add(cache.name(SOURCE, "m", "m.py"))
    assert len(names) == 8
    assert cache.name(SOURCE, "m", "m.py") == cache.name(SOURCE, "m", "m.py")


@pytest.mark.parametrize("damage", [b"", b"short", b"12345678garbage", None, "half", "changed"])
def test_damaged_entry_is_replaced(damage: bytes | str | None, tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path))
    cache.store("0123", *MADE)
    (entry,) = entries(tmp_path)
    content = entry.read_bytes()
    if damage is None:
        entry.unlink()
        entry.mkdir()
    elif damage == "half":
        entry.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        entry.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    else:
        entry.write_bytes(damage)  # type: ignore[arg-type]
    assert cache.load("0123") is None
    cache.store("0123", *MADE)
    assert (cache.load("0123") is not None) == (damage is not None)


def test_unwritable_directory_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CodeCache(str(tmp_path / "file" / "cache"))
    cache.store("0123", *MADE)
    assert cache.load("0123") is None
    none = CodeCache(None)
    none.store("0123", *MADE)
    assert none.load("0123") is None


def test_default_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", "/somewhere")
    assert default_directory() == "/somewhere"
    monkeypatch.setenv("ATOMSAN_CACHE", "here")
    assert default_directory() == os.path.join(os.getcwd(), "here"), "wherever the program goes"
    monkeypatch.setenv("ATOMSAN_CACHE", "")
    assert default_directory() is None
    monkeypatch.delenv("ATOMSAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/users")
    assert default_directory() == os.path.join("/users", "atomsan", "code")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_directory() is None


@pytest.mark.parametrize("part", ["the cache", "its parts", "an entry"])
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o720])
def test_what_others_may_write_to_is_not_used(part: str, mode: int, tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "cache"))
    cache.store("0123", *MADE)
    (entry,) = entries(tmp_path)
    path = {"the cache": tmp_path / "cache", "its parts": entry.parent, "an entry": entry}[part]
    assert cache.load("0123") is not None
    path.chmod(mode)
    assert cache.load("0123") is None
    if part != "an entry":
        cache.store("01ff", *MADE)
        assert entries(tmp_path) == [entry], "nothing is put there either"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("part", ["the cache", "its parts", "an entry"])
def test_what_another_user_owns_is_not_used(part: str, tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "cache"))
    cache.store("0123", *MADE)
    (entry,) = entries(tmp_path)
    path = {"the cache": tmp_path / "cache", "its parts": entry.parent, "an entry": entry}[part]
    os.chown(path, 65534, 65534)
    assert cache.load("0123") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_entries_that_another_user_made_are_not_used() -> None:
    with tempfile.TemporaryDirectory() as shared:  # a directory of pytest's is not open to another user
        os.chmod(shared, 0o1777)
        cache = CodeCache(os.path.join(shared, "cache"))

        def as_another() -> None:
            os.setuid(65534)
            cache.store("0123", *MADE)
            assert cache.load("0123")

        assert exit_code(forked(as_another)) == 0, "who made it may use it"
        assert cache.load("0123") is None


def test_directories_and_entries_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        CodeCache(str(tmp_path / "cache")).store("0123", *MADE)
    finally:
        os.umask(before)
    (entry,) = entries(tmp_path)
    made = [entry, entry.parent, entry.parent.parent, tmp_path / "cache"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o600, 0o700, 0o700, 0o700]


def test_link_inside_the_cache_is_not_followed(tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "cache"))
    cache.store("0123", *MADE)
    (entry,) = entries(tmp_path)
    entry.parent.rename(tmp_path / "elsewhere")
    entry.parent.symlink_to(tmp_path / "elsewhere")
    assert cache.load("0123") is None


def test_cache_may_be_a_link_of_the_user(tmp_path: Path) -> None:
    CodeCache(str(tmp_path / "cache")).store("0123", *MADE)
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert CodeCache(str(tmp_path / "link")).load("0123") is not None


def test_cache_is_no_link_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could lead to any directory of ours, such as one that came with a stranger's code."""
    CodeCache(str(tmp_path / "cache")).store("0123", *MADE)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "cache")

    def of_another(path: str) -> os.stat_result:
        facts = list(os.lstat(path))
        facts[4] += path == str(link)  # its owner
        return os.stat_result(facts)

    monkeypatch.setattr(caching, "_lstat", of_another)
    assert CodeCache(str(tmp_path / "cache")).load("0123") is not None
    assert CodeCache(str(link)).load("0123") is None
    CodeCache(str(link)).store("01ff", *MADE)
    assert len(entries(tmp_path / "cache")) == 1, "nothing is put there either"
