"""What the recorder leaves out because a limit was reached: the report says so, also on a stored trace."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import atomsan
from cli.running import environment

DUMPS = """
    import copy, json, threading

    class Box:
        def __init__(self, items):
            self.items = items
        def copied(self):
            return copy.deepcopy(self.items)
        def shown(self):
            return json.dumps(self.items)

    def use(box):
        box.copied()
        box.shown()

    box = Box({items})
    thread = threading.Thread(target=use, args=(box,))
    thread.start()
    use(box)
    thread.join()
"""


def run(directory: Path, *arguments: str) -> None:
    """Run a module, as `python -m` does, without the settings of the pytest that runs this."""
    variables = {name: value for name, value in environment().items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", *arguments]
    subprocess.run(command, cwd=directory, env=variables, check=True, capture_output=True)


def warnings(directory: Path, source: str) -> list[str]:
    path = directory / "app.py"
    path.write_text(textwrap.dedent(source))
    return list(atomsan.run(path).warnings)


@pytest.mark.parametrize("items", ["[[1]] * 65", "{n: [n] for n in range(65)}", "[[[[[[1]]]]]]"])
def test_what_a_deep_copy_does_not_look_into_is_said_once(items: str, tmp_path: Path) -> None:
    (said,) = warnings(tmp_path, DUMPS.replace("{items}", items))
    assert said.startswith("json.dumps, copy.deepcopy or the like went into more than 64 elements")


@pytest.mark.parametrize("items", ["[[1]] * 64", "list(range(1000))", "[[[[[1]]]]]", "{n: str(n) for n in range(65)}"])
def test_deep_copy_that_misses_nothing_is_no_gap(items: str, tmp_path: Path) -> None:
    assert warnings(tmp_path, DUMPS.replace("{items}", items)) == []


@pytest.mark.parametrize("name", ["t.atomtrace", "t.parquet"])
def test_gaps_are_stored_with_the_trace(name: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(DUMPS.replace("{items}", "[[1]] * 65")))
    run(tmp_path, "atomsan", "record", "-o", name, "app.py")
    (said,) = atomsan.check(tmp_path / name).warnings
    assert said.startswith("json.dumps, copy.deepcopy or the like went into more than 64 elements")


def test_gap_is_that_of_its_own_trace(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text("import copy\ndef use(items):\n    return copy.deepcopy(items)\n")
    (tmp_path / "test_box.py").write_text(
        textwrap.dedent(
            """
            import box
            def test_first(): box.use([[1]] * 65)
            def test_second(): box.use([[1]])
            def test_third(): box.use([[1]] * 65)
            """
        )
    )
    run(tmp_path, "pytest", "-p", "no:cacheprovider", "--atomsan", "--atomsan-report=out.json")
    content = (tmp_path / "out.json").read_text()
    assert content.count("went into more than 64 elements") == 2
