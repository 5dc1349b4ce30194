# The two commands that a new clone needs: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

PEERS := $(patsubst benchmarks/peers/%.txt,.peers/%/installed,$(wildcard benchmarks/peers/*.txt))

.PHONY: demo test test-full lint bench peers lock clean

demo: .venv/installed  ## Reproduce the paper's figures into figures/
	$(BIN)/brigand paper --out figures

test: .venv/installed-dev  ## Run the tests, quickly: docs/testing.md says what is left out
	$(BIN)/python -m pytest -n auto -q

test-full: .venv/installed-dev  ## Run all tests at full strength
	$(BIN)/python -m pytest -n auto -q --full

lint: .venv/installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-dev  ## Measure speed and memory, as ratios
	$(BIN)/python benchmarks/bench.py

peers: $(PEERS)  ## Install other packages, each apart, for `make bench` to compare with

lock: .venv/installed-dev  ## Pin what CI installs
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

clean:
	rm -rf .venv .peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable .
	touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]'
	touch $@

.peers/%/installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip install --quiet --requirement $<
	touch $@
