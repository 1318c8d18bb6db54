"""`atomsan debug`: shows versions, paths and the state of the compiled modules, for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from atomsan import __version__
from atomsan.cli.exit_codes import Exit
from atomsan.cli.output import print_answer, table
from atomsan.reports.registry import Answer

# History: atomsan-debug/1, the first.
SCHEMA = "atomsan-debug/1"

LIBRARIES = ("numpy", "pyarrow", "typer", "rich")


def debug(format: str) -> int:
    """Show versions, paths and which compiled modules load, for a bug report.

    Examples:
      atomsan debug
      atomsan debug --format json
    """
    facts = _facts()
    print_answer(format, Answer(text=lambda: table(_rows(facts)), data=lambda: facts))
    return Exit.FINE


def _facts() -> dict[str, Any]:
    import atomsan
    from atomsan.config.settings import find_settings
    from atomsan.trace.formats import FORMATS

    package = Path(atomsan.__file__).parent
    settings = find_settings().path
    return {
        "schema": SCHEMA,
        "versions": {
            "atomsan": __version__,
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "platform": platform.platform(),
            **{name: _version(name) for name in LIBRARIES},
        },
        "paths": {
            "package": str(package),
            "executable": sys.executable,
            "config": str(settings) if settings else None,
        },
        "compiled": {name: _loads(name) for name in _compiled(package)},
        "formats": {
            name: {"title": form.title, "suffixes": list(form.suffixes), "written": form.written}
            for name, form in FORMATS.items()
        },
        "environment": {name: os.environ[name] for name in ("ATOMSAN_DEBUG", "NO_COLOR") if name in os.environ},
    }


def _version(library: str) -> str:
    from importlib import metadata  # which imports json from Python 3.13 on

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "not installed"


def _compiled(package: Path) -> list[str]:
    """The compiled modules, found by their stubs: so those that were not built are listed too."""
    return [
        ".".join(("atomsan", *path.relative_to(package).with_suffix("").parts))
        for path in sorted(package.rglob("_*.pyi"))
    ]


def _loads(module: str) -> str:
    try:
        return str(import_module(module).__file__)
    except ImportError as error:
        return f"does not load: {error}"


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, version in facts["versions"].items():
        yield name, version
    for name, path in facts["paths"].items():
        yield name, path or "none"
    for name, form in facts["formats"].items():
        yield f"format {name}", f"{', '.join(form['suffixes'])}: {'read and written' if form['written'] else 'read'}"
    for name, path in facts["compiled"].items():
        yield name, path
    for name, value in facts["environment"].items():
        yield name, value
