"""The public names, and an import of the package that loads nothing heavy."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import pytest

import atomsan
from cli.running import environment


def test_all_lists_exactly_the_public_names() -> None:
    assert set(atomsan.__all__) == {
        *("load", "parse", "open_trace", "Trace", "TraceBuilder"),
        *("run", "check", "sets", "predict", "refine", "Report", "Finding", "Refinement", "Specification"),
        *("recording", "atomic", "not_atomic", "unit_for", "atomic_set"),
        *("AtomSanError", "InputError", "OutputError", "__version__"),
    }
    for name in atomsan.__all__:
        assert getattr(atomsan, name) is not None
        assert name in dir(atomsan)


def test_errors_share_a_base_class() -> None:
    assert issubclass(atomsan.InputError, atomsan.AtomSanError)
    assert issubclass(atomsan.OutputError, atomsan.AtomSanError)


def test_unknown_attribute_raises() -> None:
    with pytest.raises(AttributeError, match="module 'atomsan' has no attribute 'frob'"):
        _ = atomsan.frob


def test_import_loads_no_heavy_dependency() -> None:
    script = "import sys, atomsan; print(*{name.split('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True)
    assert not {"numpy", "pyarrow", "typer", "rich"} & set(ran.stdout.split())


def test_trace_functions_of_the_docstring_work(tmp_path: object) -> None:
    trace = atomsan.parse("T1:begin T1:r(x) T2:w(x)")
    assert [event.thread for event in trace] == ["T1", "T1", "T2"]
    assert len(atomsan.TraceBuilder().add("T1", "r", "x").build()) == 1
    trace.save(f"{tmp_path}/t.atomtrace")
    assert atomsan.load(f"{tmp_path}/t.atomtrace").notation() == trace.notation()
    with atomsan.open_trace(f"{tmp_path}/t.atomtrace") as source:
        assert sum(len(batch) for batch in source.batches()) == 3


def test_dir_and_pydoc_list_only_public_names() -> None:
    listed = {name for name in dir(atomsan) if not name.startswith("__")}
    assert listed == {name for name in atomsan.__all__ if not name.startswith("__")}
    shown = pydoc.render_doc(atomsan, renderer=pydoc.plaintext)
    sections = shown.split("PACKAGE CONTENTS")[1].split("\nCLASSES")[1]
    for name in listed:
        assert name in sections
    for internal in ("_HOMES", "TYPE_CHECKING", "import_module", "__getattr__"):
        assert internal not in sections
