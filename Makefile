# Two commands set everything up: `make demo` and `make test`. Both install into .venv by themselves.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Tests start hundreds of processes: where bytecode is not kept, each would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test thorough check types docs pythons bench peers coverage mutants kills fuzz release format clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[studio]"
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

demo: $(VENV)/.core  ## install, then run the main job end to end on simulated personnel tables
	$(BIN)/hedgerow demo demo --force

# Three at once on two cores: tests wait for servers, browsers and processes. Neighbours share the fixtures of their file.
PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist worksteal -q -ra
# Noise has no seed and a machine may be loaded: what failed is run once more, with fixtures of its own. Tests of privacy are not.
AGAIN := ! grep -q '"tests/privacy' .pytest_cache/v/cache/lastfailed && $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -q -ra

test: $(VENV)/.dev  ## install, then run the tests; of slow statistics and large tables a small part
	$(PYTEST) || { $(AGAIN); }

thorough: $(VENV)/.dev  ## the rest of the slow statistics and large tables
	$(PYTEST) -m thorough

check: $(VENV)/.dev  ## what CI runs: format, lint, types, import contracts, tests, planted bugs
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench
	$(BIN)/lint-imports
	$(MAKE) --jobs 2 --output-sync types docs
	$(MAKE) test
	$(MAKE) mutants

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev  ## the site, into docs/_site/index.html; a warning is an error
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_site

PYTHONS ?= 3.11 3.12 3.13
UV ?= $(or $(shell command -v uv),.venv-uv/bin/uv)
.venv-uv/bin/uv:
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/pip install --quiet uv
SMALL := tests/unit/public/test_bins.py tests/unit/planning/test_table_plan.py tests/end_to_end/test_tabulate.py
TOOLS := "pytest>=8.3" "hypothesis>=6.120" "beartype>=0.20"
pythons: $(UV)  ## a part of the suite on every supported Python that uv has or can fetch, and on the lowest dependencies
	for v in $(PYTHONS); do \
	  $(UV) venv --quiet --clear --python $$v .venv-$$v && $(UV) pip install --quiet --python .venv-$$v -e . $(TOOLS) \
	  && .venv-$$v/bin/python -m pytest -q -p no:cacheprovider $(SMALL) tests/end_to_end/test_past_formats.py || exit 1; done
	$(UV) venv --quiet --clear --python 3.11 .venv-lowest
	$(UV) pip install --quiet --python .venv-lowest --resolution lowest-direct -e .
	$(UV) pip install --quiet --python .venv-lowest $(TOOLS)  # after them, the newest: an old beartype cannot read the types of an old numpy
	.venv-lowest/bin/python -m pytest -q -p no:cacheprovider -W ignore::DeprecationWarning $(SMALL)  # an old typer and a new click

mutants: $(VENV)/.dev  ## plant every known privacy bug and see that the tests catch it
	$(BIN)/python -m tests.privacy.mutants

fuzz: $(VENV)/.dev  ## 1,000 mutated jobs, schemas, tables, grids and bundles against the command line; a seed repeats a finding
	$(BIN)/python -m tests.fuzz --cases 1000

kills: $(VENV)/.dev  ## kill 1,000 runs at every call on a file or the ledger, and see that nothing is lost
	$(BIN)/python -m tests.privacy.kills 1000

bench: $(VENV)/.dev  ## speed, in under a quarter of an hour: bench/results/bench.md and bench.json
	$(BIN)/python -m bench

peers: $(VENV)/.dev  ## published peers beside tree_blend on one table; what does not install in .venv-peers is said
	$(BIN)/python bench/peers.py

coverage: $(VENV)/.dev  ## how often nominal 95 % intervals hold the truth, over simulated worlds; goes on where it was
	$(BIN)/python -m bench.inference --worlds 5000-5099
	$(BIN)/python -m bench.inference --summary

release: $(VENV)/.dev  ## build sdist and wheel into dist/, check contents, metadata, version and a fresh install
	rm -rf dist
	$(BIN)/python -m tests.packaging.release dist

format: $(VENV)/.dev
	$(BIN)/ruff format src tests bench
	$(BIN)/ruff check --fix src tests bench

clean:
	rm -rf $(VENV) demo dist docs/_site .pytest_cache .mypy_cache .ruff_cache .hypothesis
