# `make demo` and `make test` are all a new machine needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint soak benchmark clean

demo: $(VENV)/.demo
	$(BIN)/bdis demo -o demo-output

test: lint
	$(BIN)/python -m pytest

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
