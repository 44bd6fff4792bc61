# One word a task. `make setup` runs by itself where a task needs it.
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of processes, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup format check check-blackwell test demo up clean

# CUDA builds of torch name one exact Triton; the interpreter needs the one of constraints.txt, which
# therefore comes last and on its own.
setup: .venv/.installed

.venv/.installed: pyproject.toml constraints.txt
	@echo "installing into .venv, torch included: minutes, once"
	$(PYTHON) -m venv .venv
	sed '/^triton==/d' constraints.txt > .venv/constraints.txt
	$(BIN)/pip install --quiet --constraint .venv/constraints.txt torch
	$(BIN)/pip install --quiet --constraint .venv/constraints.txt --editable '.[worker,dev]'
	$(BIN)/pip install --quiet --no-deps "$$(grep '^triton==' constraints.txt)"
	touch $@

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# Files that are compiled for Blackwell beside the built-in kernels.
SUBMISSIONS ?= ../shared/cases/submission_*.py

check-blackwell: setup
	TRITON_DEFAULT_FP_FUSION=1 $(BIN)/python bench/check_blackwell.py $(wildcard $(SUBMISSIONS))

test: setup
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

chaos: setup
	$(BIN)/python -m bench.chaos

demo: setup
	$(BIN)/halfbyte demo

up: setup
	$(BIN)/halfbyte up

clean:
	rm -rf .venv .halfbyte
