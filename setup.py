"""Builds the compiled modules; everything else about the package stands in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCE = Path("src")
DIRECTIVES = {
    "language_level": "3",
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}

# Python's own flags ask for debugging information, which is three quarters of a wheel. CFLAGS=-g brings it back.
FLAGS = ["-O3", "-fno-strict-aliasing", *([] if "CFLAGS" in os.environ else ["-g0"])]


def extension(path: Path) -> Extension:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return Extension(module, [path.as_posix()], extra_compile_args=FLAGS)


setup(
    ext_modules=cythonize(
        [extension(path) for path in sorted(SOURCE.rglob("*.pyx"))],
        compiler_directives=DIRECTIVES,
    ),
    # The C compiler takes most of the time, and the modules do not depend on each other.
    options={"build_ext": {"parallel": os.cpu_count()}},
)
