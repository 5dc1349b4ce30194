# The two commands that a new clone needs: `make demo` and `make test`.
# With another Python: `make test PYTHON=python3.12`, which has an environment of its own.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin

# The tests start hundreds of processes, which would compile the sources again where no bytecode is written.
export PYTHONDONTWRITEBYTECODE :=

PEERS := $(patsubst benchmarks/peers/%.txt,.peers/%/installed,$(wildcard benchmarks/peers/*.txt))

.PHONY: demo test test-full test-lowest lint audit docs gallery release bench peers lock clean

demo: $(VENV)/installed  ## Reproduce the paper's figures into figures/
	$(BIN)/brigand paper --out figures

test: $(VENV)/installed-dev  ## Run the tests, quickly: docs/testing.md says what is left out
	$(BIN)/python -m pytest -n auto -q

test-full: $(VENV)/installed-dev  ## Run all tests at full strength
	$(BIN)/python -m pytest -n auto -q --full

# Old releases call what newer ones of their own dependencies deprecate.
test-lowest: $(VENV)-lowest/installed  ## Run them with the lowest versions that pyproject.toml allows (Python 3.11)
	PYTHONWARNINGS=ignore::DeprecationWarning $(VENV)-lowest/bin/python -m pytest -n auto -q -W ignore::DeprecationWarning

lint: $(VENV)/installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# With an index that lists no vulnerabilities it fails, since then nothing is known of them.
audit:  ## Look for known vulnerabilities in what CI installs
	$(PYTHON) -m venv .peers/audit
	.peers/audit/bin/python -m pip install --quiet pip-audit
	.peers/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements.lock

# Warnings are errors: of Markdown, of references, of docstrings.
docs: $(VENV)/installed-dev  ## Build the documentation site, and say where it is
	$(BIN)/python -m sphinx --fresh-env --write-all --fail-on-warning --keep-going --quiet --builder html \
		--doctree-dir build/docs/doctrees docs build/docs/html
	@echo "The site is build/docs/html/index.html"

gallery: $(VENV)/installed-dev  ## Draw the gallery's figures again
	cd docs/gallery && for script in *.py; do MPLBACKEND=agg ../../$(BIN)/python -W error $$script || exit 1; done

release: $(VENV)/installed-dev  ## Build wheel and sdist into dist/, check both, and try each in an environment of its own
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m pytest -q -n 0 tests/test_release.py
	$(BIN)/python tests/release.py dist/*

bench: $(VENV)/installed-dev  ## Measure speed and memory, as ratios
	$(BIN)/python benchmarks/bench.py

peers: $(PEERS)  ## Install other packages, each apart, for `make bench` to compare with

lock: $(VENV)/installed-dev  ## Pin what CI installs
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

clean:
	rm -rf .venv .venv-* .peers build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python $(VENV)-lowest/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml requirements.lock
	$(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[dev]'
	touch $@

$(VENV)-lowest/installed: $(VENV)-lowest/bin/python pyproject.toml
	$(VENV)-lowest/bin/python -m pip install --quiet uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct --editable '.[test]'
	touch $@

.peers/%/installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv .peers/$*
	.peers/$*/bin/python -m pip install --quiet --requirement $<
	touch $@

# It asks for Python below 3.11, and for torch, which its estimators do not use.
.peers/obp/installed: benchmarks/peers/obp.txt
	$(PYTHON) -m venv .peers/obp
	.peers/obp/bin/python -m pip install --quiet --requirement $<
	.peers/obp/bin/python -m pip install --quiet --no-deps --ignore-requires-python obp==0.5.7
	touch $@
