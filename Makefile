# One word a task. `make setup` runs by itself where a task needs it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup format check test demo up bench clean

setup: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[worker,dev]'
	touch $@

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

test: setup
	$(BIN)/pytest -n auto --dist loadfile

demo: setup
	$(BIN)/halfbyte demo

up: setup
	$(BIN)/halfbyte up

clean:
	rm -rf .venv .halfbyte
