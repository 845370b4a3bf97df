# `make` lists the targets. Each sets up what it needs; once that is done, it only checks.
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
# byte code on disk makes every start faster, so it is written whatever the environment says
unexport PYTHONDONTWRITEBYTECODE
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python

PYTEST := $(BIN)/pytest

# tests wait for disks, services and timeouts half of their time; each worker has a MongoDB and collects all tests
WORKERS := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

# of these markers; collecting all tests would take each process 13 s
marked = $(sort $(shell grep -rlE 'mark\.($(1))\b' tests --include='test_*.py'))
properties = $(sort $(shell grep -rlE '@given|RuleBasedStateMachine' tests --include='test_*.py'))

# without services and Spark; of all rooms, measuring would add a quarter to the CPU of the quick tests
ROOMS := market cep/apps/language cep/apps/engine
COMMA := ,
SPACE := $(subst ,, )

IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help setup tools regions paper demo test quick whole coverage soak screenshots bench bench-backtest findings lint format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

setup: ## what running needs: environment, pinned packages, jars
	@for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$python" -c '$(IS_NEW_ENOUGH)' 2>/dev/null; then exec "$$python" -m launch.setup.environment $(VENV) $(QUICK); fi; \
	done; \
	echo 'setup: Python 3.11 or newer is needed and none was found; install it, or name one: make setup PYTHON=/path/to/python3.' >&2; \
	exit 2

tools: setup ## what tests, linters and benchmarks need besides
	@$(BIN)/python -m launch.setup.environment $(VENV) tools

regions: setup ## what sessions with regions need besides: MirrorMaker's jars (11 MB)
	@$(BIN)/python -m launch.commands.setup regions

# the archive of Spark's classes takes longer to make than a start takes without it
paper: QUICK := quick
paper: setup ## start everything on paper and open the dashboard; ARGS=--no-browser
	@$(BIN)/arbitrage paper $(ARGS)

demo: QUICK := quick
demo: setup ## watch a minute of a wild market, then a report in demo.html
	@$(BIN)/arbitrage demo $(ARGS)

test: tools ## lint, types, import rules, all quick tests, one run of the whole system
	@$(MAKE) --no-print-directory --jobs 2 lint quick
	$(PYTEST) -q -m whole tests/whole/test_paper.py

quick: tools ## all quick tests
	$(PYTEST) -q -m "not (whole or slow or browser or soak)" -n $(WORKERS) --dist loadscope \
	  --no-loadscope-reorder --durations 25

whole: tools regions ## kills, chaos and the browser against the whole system; slow tests
	$(PYTEST) -q -m "slow and not (whole or browser or soak)" -n 2 --dist loadscope --no-loadscope-reorder --durations 10 $(call marked,slow)
	$(PYTEST) -q -m "browser and not (whole or soak)" -n 2 --dist loadscope --no-loadscope-reorder --durations 10 $(call marked,browser)
	$(PYTEST) -q -m "whole and not soak" -n 2 --dist loadscope --no-loadscope-reorder --durations 25 \
	  $(filter-out tests/whole/test_paper.py,$(call marked,whole))

coverage: tools ## lines of pure rooms that their quick tests run; others: ROOMS="exchanges store"
	rm -f .coverage*
	$(BIN)/coverage run --source=$(subst $(SPACE),$(COMMA),$(strip $(ROOMS))) -m pytest -q -n 2 \
	  -m "not (whole or slow or browser or soak)" $(addprefix tests/,$(ROOMS))
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o - | $(BIN)/python -m tests.room_coverage

soak: tools regions ## the long forms, and properties of the quick tests on new examples, many more
	$(PYTEST) -q -m soak --hypothesis-profile searching
	$(PYTEST) -q -m "not (whole or slow or browser or soak)" -n 2 --dist loadscope --hypothesis-profile searching $(properties)

screenshots: tools ## pictures of every page, dark and light, wide and narrow; ADDRESS=http://… of a running one
	$(BIN)/python -m tests.ui.pages.screenshots $(if $(ADDRESS),--address $(ADDRESS)) --into screenshots

bench: tools ## feeds, simulator, two legs, trades a second, detection, dashboard and the whole demo, each beside a peer in the same run
	$(BIN)/python -m benchmarks.feed_path
	$(BIN)/python -m benchmarks.simulator
	$(BIN)/python -m benchmarks.two_legs
	$(BIN)/python -m benchmarks.trade_rates
	$(BIN)/python -m benchmarks.detection
	$(BIN)/python -m benchmarks.dashboard
	$(BIN)/python -m benchmarks.live_path

bench-backtest: tools ## detection over 10 and 100 million quotes beside other engines
	$(BIN)/python -m benchmarks.backtests --rows 10000000
	$(BIN)/python -m benchmarks.backtests --rows 100000000

findings: ## what surprised in real libraries, each run again without this project (needs Maven for Siddhi's)
	@failed=; for script in findings/*.sh; do echo "== $$script"; bash "$$script" || failed="$$failed $$script"; done; \
	if [ -n "$$failed" ]; then echo "no longer as described:$$failed" >&2; exit 1; fi

lint: tools ## format, style, types, import rules, our own rules
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house_rules
	$(BIN)/python -m tests.plain_words

format: tools ## format the code
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## remove the environment and all caches; .data (ledger, keys, jars) stays
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./.data -prune -o -name __pycache__ -type d -exec rm -rf {} +
