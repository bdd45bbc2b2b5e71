# The verbs of this repository; `make` alone lists them.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements-dev.lock
EXTRAS := spark,edge,mqtt,kafka,postgres,tables,server,otel,notebook,dev
COMMA := ,
QUICK := not slow and not synopses and not guarantees and not spark and not chaos and not cluster and not nightly
ALONE := spark or chaos or cluster

# Recursive on purpose: the search runs only when an environment must be made.
PYTHON = $(shell tools/find_python.sh)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install demo quick spark test nightly lint fix bench docs lock clean java broker browser

help: ## list the verbs
	@echo "Streamgauge: standing queries with stated errors. Start with: make demo"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## make .venv with the package and the developer tools

$(STAMP): pyproject.toml $(LOCK)
	@if [ ! -x $(BIN)/python ]; then \
		python="$(PYTHON)"; \
		[ -n "$$python" ] || exit 1; \
		echo "==> making $(VENV) with $$($$python --version)"; \
		$$python -m venv $(VENV) || exit 1; \
	fi
	@echo "==> installing the package and its tools (Spark is large: some minutes the first time)"
	@$(BIN)/python -m pip install --disable-pip-version-check -e '.[$(EXTRAS)]' -c $(LOCK)
	@touch $@
	@echo "==> installed; next: make demo, make quick or make test"

java:
	@tools/check_java.sh

broker:
	@tools/find_broker.sh
	@tools/find_postgres.sh

browser:
	@tools/find_browser.sh

demo: java install ## a synthetic plant on a page that tells a story; prints its address
	@$(BIN)/streamgauge demo

# JAVA_HOME points nowhere so that a quick test that needs Java fails here, not on another machine.
quick: install ## run the tests of two minutes or so, which need no Java
	@JAVA_HOME=$(CURDIR)/no-java $(BIN)/python -m pytest -m "$(QUICK)"

spark: java install ## run the tests that need Spark
	@$(BIN)/python -m pytest -m "spark and not nightly"

# What needs a Java runtime or kills processes wants the machine for itself; the rest shares its cores.
# A failure of the first part does not hide what the second has to say.
test: java broker browser install lint ## run lint and every test but the nightly ones
	@$(BIN)/python -m pytest --durations 15 -n auto --dist loadfile -m "not nightly and not ($(ALONE))"; shared=$$?; \
	$(BIN)/python -m pytest --durations 30 -m "not nightly and ($(ALONE))" && exit $$shared

nightly: java broker browser install lint ## run every test, long ones too, with fresh random seeds
	@HYPOTHESIS_PROFILE=nightly STREAMGAUGE_SEED=$$(date +%Y%m%d)000 $(BIN)/python -m pytest

lint: install ## check format, style, types and the order of imports
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

fix: install ## format and repair what can be repaired
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench: java install ## compare with what one would use instead, workload spine
	@$(BIN)/streamgauge bench spine

docs: install ## check the links and run the examples of the documentation
	@$(BIN)/python tools/check_links.py
	@$(BIN)/python -m pytest -q -m "$(QUICK)" tests/test_docs.py src

lock: install ## resolve the versions of the developer tools anew
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade $(patsubst %,--extra %,$(subst $(COMMA), ,$(EXTRAS))) \
		--strip-extras --no-emit-options --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --output-file $(LOCK) pyproject.toml

clean: ## remove caches and build results; .venv stays
	@rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache \
		artifacts derby.log metastore_db spark-warehouse
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
