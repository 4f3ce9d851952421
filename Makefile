# `make demo` and `make test` are all a new machine needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
FUZZ := .venv-fuzz
# How long `make fuzz` invents contents for each reader
SECONDS ?= 60
# The lower bounds of the dependencies, as pins: numpy>=1.26 becomes numpy==1.26.0
OLDEST_PINS := $(shell sed -n 's/^dependencies = \[\(.*\)\]/\1/p' pyproject.toml | tr -d '",' | sed 's/>=\([0-9.]*\)/==\1.0/g')

.PHONY: demo test test-oldest lint soak fuzz benchmark browser clean

demo: $(VENV)/.demo
	$(BIN)/bdis demo -o demo-output

test: lint browser
	$(BIN)/python -m pytest

# The kernels' tests with the oldest NumPy and Numba that pyproject.toml allows.
test-oldest: $(OLDEST)/.installed
	PYTHONPATH=src $(OLDEST)/bin/python -m pytest tests/vector tests/matching tests/synthetic tests/evaluation/test_elas.py

# For the tests of the viewer, which are skipped where there is none; installed only where that takes no password.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  (apt-get install -y chromium || (apt-get update && apt-get install -y chromium)) >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "no chromium: the viewer is not tested in a browser"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: $(VENV)/.dev
	$(BIN)/python -m pytest -s tests/video/soak.py

# Coverage-guided fuzzing of every reader of files; findings are kept in .fuzz/findings. READERS="image ply": only these.
fuzz: $(FUZZ)/.installed
	PYTHONPATH=src:. $(FUZZ)/bin/python -m tests.fuzz.run $(SECONDS) $(READERS)

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet $(OLDEST_PINS) hypothesis 'opencv-python-headless>=4.8' pytest 'scipy>=1.11'
	touch $@

$(FUZZ)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet --editable '.[video,baselines]' atheris
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(FUZZ) .fuzz demo-output benchmark-results
