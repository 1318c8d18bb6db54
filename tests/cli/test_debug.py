from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

import atomsan as api
from atomsan.cli import debug
from cli.running import Atomsan


def test_text(atomsan: Atomsan) -> None:
    Path("atomsan.toml").touch()
    ran = atomsan("debug")
    assert (ran.code, ran.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in ran.out.splitlines())
    assert facts["atomsan"] == api.__version__
    assert facts["python"].endswith(platform.python_version())
    assert facts["config"] == str(Path("atomsan.toml").absolute())
    assert facts["atomsan.trace._std"].endswith(".so")


def test_json(atomsan: Atomsan) -> None:
    facts = json.loads(atomsan("debug", "--format", "json").out)
    assert facts["schema"] == "atomsan-debug/1"
    assert {"atomsan", "python", "platform", "numpy", "pyarrow", "typer", "rich"} == set(facts["versions"])
    assert "std" in facts["formats"]
    assert facts["paths"]["config"] is None


def test_module_that_does_not_load_is_shown(monkeypatch: pytest.MonkeyPatch, atomsan: Atomsan) -> None:
    monkeypatch.setattr(debug, "_compiled", lambda package: ["atomsan.trace._nothing"])
    ran = atomsan("debug")
    assert ran.code == 0
    assert "atomsan.trace._nothing  does not load: No module named" in ran.out
