"""TOML files of strangers: their size and the parts of their keys are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomsan.config.settings import find_settings
from atomsan.errors import InputError
from atomsan.source.spec import read_spec
from atomsan.source.toml_files import MOST_BYTES, MOST_PARTS, parse_toml, read_bytes


def test_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"#" * (MOST_BYTES - 1) + b"\n")
    assert parse_toml(read_bytes(path), path) == {}
    path.write_bytes(b"#" * MOST_BYTES + b"\n")
    with pytest.raises(InputError, match=r"a\.toml: longer than the 1,048,576 bytes"):
        read_bytes(path)


def test_endless_file_is_refused() -> None:
    with pytest.raises(InputError, match="longer than"):
        read_bytes("/dev/zero")


@pytest.mark.parametrize("pattern", ["{} = 1", "[{}]", "[[{}]]", "a = {{ {} = 1 }}", "a = [{{ b = 1, {} = 1 }}]"])
@pytest.mark.parametrize(
    "part", ["a", "a-1", '"a"', "'a b'", '"\\""', '"\\\\"', '"a.\\"."', "'\"'", '"a\u2028b"', "'\x85'", '""']
)
@pytest.mark.parametrize("dot", [".", " . "])
def test_key_of_too_many_parts_is_refused_with_its_line(pattern: str, part: str, dot: str) -> None:
    def content(parts: int) -> bytes:
        return ("x = 1\n" + pattern.format(dot.join([part] * parts))).encode()

    with pytest.raises(InputError, match=rf"a\.toml:2: a key of more than {MOST_PARTS} parts"):
        parse_toml(content(MOST_PARTS + 1), "a.toml")
    assert parse_toml(content(20), "a.toml")["x"] == 1


def test_texts_with_many_dots_are_read() -> None:
    for text in ("." * 500, "1.2 " * 200, "Yes. No. Maybe so. " * 50, "https://a.b/" * 100):
        assert parse_toml(f"x = '{text}'".encode(), "a.toml") == {"x": text}


def test_settings_and_specification_have_these_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    long_key = ".".join("a" * 50_000) + " = 1"
    for name in ("atomsan.toml", "spec.toml"):
        (tmp_path / name).write_text(long_key)
    with pytest.raises(InputError, match="a key of more than"):
        find_settings()
    with pytest.raises(InputError, match="a key of more than"):
        read_spec(tmp_path / "spec.toml")
