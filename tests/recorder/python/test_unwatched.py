"""Warnings about functions of the standard library that cannot be watched."""

from __future__ import annotations

import os
import queue  # noqa: F401  (looked at below)
import subprocess
import sys
from pathlib import Path

import pytest

from atomsan.recorder.python.patches import Hooked, Patches

# Runs before everything else: an asyncio that is not the one we know.
ANOTHER_ASYNCIO = """
import asyncio.locks

async def wait(self):
    return True

asyncio.locks.Event.wait = wait
"""
WHY = "this Python has another form of it than those that are known"


def said(directory: Path, *command: str) -> str:
    (directory / "sitecustomize.py").write_text(ANOTHER_ASYNCIO)
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("verb", [["run"], ["record", "-o", "t.atomtrace"]])
def test_run_and_record_warn(verb: list[str], tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import asyncio")
    text = said(tmp_path, "atomsan", *verb, "main.py")
    assert " ".join(text.split()).count(f"asyncio.locks:Event.wait was not recorded: {WHY}") == 1


def test_pytest_summary_warns(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass")
    text = said(tmp_path, "pytest", "-p", "no:cacheprovider", "--atomsan", "test_it.py")
    assert text.count(f"not watched: asyncio.locks:Event.wait: {WHY}") == 1


def test_missing_class_is_reported_once() -> None:
    patches, reported = Patches(), []
    patches.report = lambda what, why: reported.append(what)
    patches.hook([Hooked("queue", "Other", name, "queue_use") for name in ("put", "get")])
    patches.hook([Hooked("queue", "", "other", "queue_use"), Hooked("queue", "Queue", "other", "queue_use")])
    assert reported == patches.unwatched == ["queue:Other", "queue:other", "queue:Queue.other"]
