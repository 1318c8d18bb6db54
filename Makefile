# What a newcomer can do here. Every target sets up what it needs from nothing but Python and a C compiler.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

# Sources whose change makes the installed package stale. Python files are not among them: the install is editable.
BUILT_FROM := pyproject.toml setup.py $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h')

$(VENV)/installed: $(BUILT_FROM)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group test --group lint
	touch $@

install: $(VENV)/installed  ## build the package into .venv

demo: $(VENV)/installed  ## the main job, on a small example
	PATH="$(abspath $(BIN)):$$PATH" sh examples/demo.sh

lint: $(VENV)/installed  ## ruff, and mypy --strict on src/
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tests run on every core; a worker that is done takes tests from another.
PARALLEL := -n auto --dist worksteal

test: lint  ## the whole test suite, with lint
	$(BIN)/python -m pytest $(PARALLEL)

test-long: $(VENV)/installed  ## every checker against the definitions for ten minutes, and the programs with 20 seeds and in all forms
	$(BIN)/python tests/checkers/comparison.py
	ATOMSAN_LONG=1 ATOMSAN_SEEDS=20 $(BIN)/python -m pytest $(PARALLEL) tests/programs/test_programs_found.py \
		tests/programs/test_programs_reformatted.py tests/programs/test_hints_followed.py \
		tests/programs/test_programs_plain.py
	$(BIN)/python tests/programs/generated/table.py --plain

test-judging: $(VENV)/installed  ## judging against the truth of 20,000 generated programs, and of those written by hand
	$(BIN)/python tests/programs/generated/table.py
	$(BIN)/python tests/programs/measure.py

test-plain: $(VENV)/installed  ## what one plain run of each program predicts, in the order of its threads and in another
	$(BIN)/python tests/programs/measure.py --plain
	$(BIN)/python tests/programs/measure.py --shuffled

test-all:  ## the test suite on every Python from 3.11 up that this machine has
	$(PYTHON) tests/every_python.py

test-stdlib: $(VENV)/installed  ## the standard library's own tests, plain and recorded: the same results
	$(BIN)/python tests/stdlib/run.py

test-packages: $(VENV)/installed  ## the tests of packages from PyPI, plain and recorded; needs the network
	$(BIN)/python tests/packages/run.py

bench: $(VENV)/installed  ## speed, as ratios measured in one run
	$(BIN)/python bench/run.py

bench-paper: $(VENV)/installed  ## every checker on the benchmarks of the AeroDrome paper
	$(BIN)/python bench/aerodrome_paper.py

bench-sets: $(VENV)/installed  ## atomic sets on the programs of the atomic-sets paper
	$(BIN)/python bench/atomic_sets_paper.py

bench-predict: $(VENV)/installed  ## prediction by method on presets, test programs and traces with known answers; EVERY=8: an eighth
	$(BIN)/python bench/prediction_table.py --every $(or $(EVERY),1)

fuzz: $(VENV)/installed  ## ten minutes of coverage-guided fuzzing of every reader
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	$(BIN)/python tests/fuzz/run.py

dist: $(VENV)/installed  ## sdist and wheel in dist/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --quiet

clean:  ## remove what was built
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src -name '*.so' -delete -o -name '*.c' -delete

.PHONY: help install demo lint test test-long test-judging test-plain test-all test-stdlib test-packages bench bench-paper bench-sets bench-predict fuzz dist clean
