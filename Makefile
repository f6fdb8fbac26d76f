# `make` sets up an environment and runs the main job; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := compare

# Override on the command line: make VENV=~/envs/ta PYTHON=python3.12
VENV ?= .venv
PYTHON ?= python3
COMPARE ?= densenet reshape_chain qkv_split basic-pitch
COMPARE_FLAGS ?= --approach copy,shipped,stock,k0,alias
PYTEST_FLAGS ?=
LAB_FLAGS ?=
LOCK_FLAGS ?=

PY := $(VENV)/bin/python
TA := $(PY) -m tvm_aliasing

# Stamp: the environment is installed again only when the lock or the project file is newer.
INSTALLED := $(VENV)/.installed
UV := build/uv/bin/uv

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore

.PHONY: compare setup test lab notebooks measure measure-cuda rfc lint lock clean help

compare: setup ## The main job: approaches side by side, as a table and build/memory_map.png
	@mkdir -p build
	$(TA) compare $(COMPARE) $(COMPARE_FLAGS) --figure build/memory_map.png

# Both commands return at once, without a network, if their files are in the user's cache.
setup: $(INSTALLED) ## The environment, the native helper and the model (needs a network; the jobs do not)
	$(PY) -c "from tvm_aliasing.measure import native; native.build()"
	$(TA) models fetch basic-pitch
	$(TA) models fetch magika

test: setup ## pytest, then every notebook rerun and compared with its committed outputs
	$(PY) -m pytest $(PYTEST_FLAGS)
	$(PY) -m pytest --nbval --nbval-current-env --nbval-cell-timeout=300 \
		--nbval-sanitize-with=notebooks/sanitize.cfg $(PYTEST_FLAGS) notebooks

lab: setup ## Open the notebooks in JupyterLab
	$(PY) -m jupyterlab $(LAB_FLAGS) notebooks

notebooks: setup ## Run every notebook again and write its outputs
	$(PY) notebooks/execute.py

measure: setup ## Measure on this CPU and write new numbered records to results/ (an hour)
	$(TA) measure -o results/

measure-cuda: setup ## The same on an NVIDIA GPU
	$(TA) measure --target cuda -o results/

rfc: ## Generate the numbers and tables of RFC.md from results/
	@echo "make rfc: not there yet: RFC.md is not written" >&2; exit 2

lint: $(INSTALLED) ## ruff: rules and format, notebooks included
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

lock: $(UV) ## Make requirements.lock from pyproject.toml (LOCK_FLAGS=--upgrade takes newer versions)
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--all-extras --group build --custom-compile-command "make lock" $(LOCK_FLAGS) \
		--output-file requirements.lock pyproject.toml

clean: ## Remove everything that the other targets made, except records and notebook outputs
	rm -rf .venv build .pytest_cache .ruff_cache __pycache__ src/*.egg-info $(INSTALLED)
	find src tests notebooks \( -name __pycache__ -o -name .ipynb_checkpoints \) \
		-prune -exec rm -rf {} +

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Installing requirements.lock into $(VENV): about 800 MB, a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --only-binary=:all: --require-hashes -r requirements.lock
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# uv has a venv of its own: it makes the lock, so it cannot come out of it.
$(UV):
	@$(PYTHON) -m venv build/uv
	@build/uv/bin/python -m pip install --quiet "uv>=0.9"
