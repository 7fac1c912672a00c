# Two commands matter: `make demo` and `make test`. Each does its own set-up.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-full demo test test-fast test-slow lint docs format bench lock audit licences settings wheel sbom deb clean

help: ## show this help
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with pinned packages (does nothing when it is up to date)

$(READY): requirements/dev.txt requirements/locked/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' \
	  || { echo "Reprieve needs Python 3.11 or newer; say which: make setup PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "python -m venv failed; on Debian: apt install python3-venv"; exit 1; }
	@echo "setting up .venv: a minute or more, and about 2 GB (several with a CUDA build of PyTorch)"
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement requirements/locked/dev.txt
	@# PyTorch is left, whose build is this machine's choice and has no hash here.
	$(BIN)/python -m pip install --quiet --requirement requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

setup-full: setup ## and the system packages that only some tests need (Debian; asks for root)
	requirements/system.sh

demo: $(READY) ## the main job: a notice, a commit, exit 75, an exact resume (under 90 s after set-up)
	$(BIN)/python examples/demo.py

test: $(READY) ## every test but the slow ones
	$(BIN)/python -m pytest -m "not slow"

test-fast: $(READY) ## the quick part: no processes, no ranks
	$(BIN)/python -m pytest -m "not slow and not ranks and not e2e"

test-slow: $(READY) ## many random runs, long launches, and each bench for a moment
	$(BIN)/python -m pytest -m slow --timeout 3600

lint: $(READY) ## ruff, mypy, import contracts, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

docs: $(READY) ## the documentation as a site, in build/site; a dead link fails it, or a page that loads from elsewhere
	$(BIN)/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs/site \
	  --doctree-dir build/doctrees . build/site
	@! grep -rE '<(script|link|img|iframe)[^>]* (src|href)="(https?:)?//' build/site --include='*.html'

format: $(READY) ## let ruff put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## every bench at its small size (under 15 minutes), and a page of them, build/bench/index.html
	PYTHONPATH=bench $(BIN)/python -m page

lock: $(READY) ## after a change of pins: their hashes, in requirements/locked
	requirements/lock.sh

audit: $(READY) ## ask OSV for known vulnerabilities of what is pinned
	requirements/audit.sh

licences: $(READY) ## after a change of pins: their licences, in docs/licences.md
	$(BIN)/python -m tests.support.licences

settings: $(READY) ## after a change of settings: their reference, docs/settings.md
	$(BIN)/python -m tests.support.settings_page

wheel: $(READY) ## the wheel of the last commit, the same bytes wherever it is built
	deploy/release/wheel.sh dist

sbom: $(READY) ## what the watcher consists of, as CycloneDX
	deploy/release/sbom.sh dist/reprieve.cdx.json

deb: $(READY) ## the Debian package for this machine's architecture
	deploy/debian/build.sh dist

clean: ## remove what set-up and runs have made
	rm -rf $(VENV) demo-out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
