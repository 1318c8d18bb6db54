from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import Atomsan


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs in an empty directory of its own, without configuration files."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def atomsan(capfd: pytest.CaptureFixture[str]) -> Atomsan:
    return Atomsan(capfd)
