# `make demo` and `make test` are all a new machine needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint soak benchmark browser clean

demo: $(VENV)/.demo
	$(BIN)/bdis demo -o demo-output

test: lint browser
	$(BIN)/python -m pytest

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
	$(BIN)/python -m pytest -s tests/soak.py

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

clean:
	rm -rf $(VENV) demo-output benchmark-results
