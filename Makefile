# What a newcomer types. Everything is installed into .venv, once, and again when pyproject.toml changes.
.DEFAULT_GOAL := help
.PHONY: help up test unit sim mutants chaos interop lint fmt bench bench-quick docs native native-fuzz zipapp image-test manifests kube-tools kube-test clean

VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed
SECURED := $(VENV)/.installed-secure
DEV := $(VENV)/.installed-dev
WORKERS ?= 2
# Tests with clusters and clients wait more than they compute: for sessions to end, for leaders, for JVMs.
WAITING_WORKERS ?= 4

# The first Python that is new enough; PYTHON=/path/to/python3.12 chooses another.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	if command -v $$name >/dev/null 2>&1 && $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))'; \
	then echo $$name; break; fi; done)

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# A new ./data is that of three brokers; one that is there says itself how many it has.
BROKERS ?= $(if $(wildcard data),,3)

up: $(RUN) $(if $(filter yes,$(SECURE)),$(SECURED)) ## Run three brokers on localhost with their data in ./data, and a pipeline on Spark; BROKERS=1, SPARK=no, SECURE=yes
	@exec $(BIN)/tidelog up --data ./data --demo $(if $(BROKERS),--brokers $(BROKERS)) \
		$(if $(filter yes,$(SECURE)),--secure) $(if $(filter no,$(SPARK)),,--demo-pipeline)

test: lint unit interop ## Lint, types, and every test

unit: $(DEV) ## The tests that need nothing but Python
	$(BIN)/pytest tests/unit tests/property -n $(WORKERS)

interop: $(DEV) ## The tests with real clients, real processes and real faults
	$(BIN)/pytest tests --ignore=tests/unit --ignore=tests/property -n $(WAITING_WORKERS) --dist loadgroup --durations=30

sim: $(DEV) ## Clusters under faults on virtual time; SEEDS=0-1999 chooses, a failure says how to replay it
	$(BIN)/python -m tidelog.testing.sim --seeds $(or $(SEEDS),0-199)
	$(BIN)/python -m tidelog.testing.sim --queues --seeds $(or $(SEEDS),0-199)
	$(BIN)/python -m tidelog.testing.sim --registry --seeds $(or $(SEEDS),0-199)
	$(BIN)/python -m tidelog.testing.sim --cores --seeds $(or $(SEEDS),0-199)

mutants: $(DEV) ## Break the rules of the pure rooms one by one, and list what nothing notices; MUTANTS="--rooms raft --sample 50"
	$(BIN)/python -m tools.mutants $(MUTANTS)

chaos: $(DEV) ## Clusters of processes under random faults; MINUTES=30 says how long, CHAOS="--seed 7" more
	$(BIN)/python -m tests.chaos.long_run --minutes $(or $(MINUTES),5) $(CHAOS)

lint: $(DEV) ## Ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fmt: $(DEV) ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(DEV) ## Tidelog beside Apache Kafka, into docs/benchmarks.md; BENCH=benches/codec.py runs another one
	$(BIN)/python -m $(subst /,.,$(basename $(or $(BENCH),benches/versus)))

bench-quick: $(DEV) ## The same with a tenth of the load: a look, not a result
	$(BIN)/python -m benches.versus --quick

docs: $(DEV) ## Regenerate the reference pages, and tables that are computed, from the code
	@for page in settings commands python authorization metrics; do $(BIN)/python -m tools.$${page}_reference || exit 1; done
	@$(BIN)/python -m tools.monitoring_files
	@$(BIN)/python -m tools.scaling_tables

native: $(DEV) ## Compile the path of plain produce requests, with the system's C compiler; brokers then use it
	@$(BIN)/python -m tools.native

native-fuzz: $(DEV) ## The same under the compiler's sanitizers, beside the Python of it, with damaged frames; SECONDS=60
	@$(BIN)/python -m tests.property.native_fuzz --seconds $(or $(SECONDS),60)

zipapp: $(DEV) ## Tidelog in one file, dist/tidelog.pyz, for hosts with this Python but without pip
	@$(BIN)/python -m tools.zipapp

image-test: $(DEV) ## Build the image with buildah and run a cluster of it with podman, as root; SPARK=yes builds the second one too
	$(BIN)/pytest tests/deploy/images.py $(if $(filter yes,$(SPARK)),tests/deploy/spark_image.py) -s

manifests: $(DEV) ## Render deploy/kubernetes from the Helm chart
	@$(BIN)/python -m tools.manifests

kube-tools: $(DEV) ## Build helm and kubeconform with Go into .cache/kube, for the tests of the chart
	@$(BIN)/python -m tools.kube_tools

kube-test: $(DEV) ## The Helm chart on a real control plane, which is built with Go first: a quarter of an hour, once
	@$(BIN)/python -m tools.kube_tools control-plane
	$(BIN)/pytest tests/kube/test_chart.py tests/kube/control_plane/secured.py tests/kube/control_plane/upgrade_and_scale.py

clean: ## Remove what was installed and cached; your data in ./data stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "Tidelog needs Python 3.11 or newer, and none was found (python3 is $$(python3 -V 2>&1))."; \
		echo "Install one, or name one: make up PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv"; \
		exit 1; }

$(RUN): pyproject.toml | $(BIN)/python
	@echo "Installing Tidelog into $(VENV)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(SECURED): pyproject.toml | $(BIN)/python
	@echo "Installing what certificates need into $(VENV)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[secure]'
	@touch $(RUN) $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo "Installing Tidelog and its development tools into $(VENV)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(RUN) $@
