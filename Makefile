# The verbs of this repository; `make` alone lists them.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := requirements-dev.lock
EXTRAS := spark,edge,mqtt,kafka,postgres,tables,server,otel,notebook,dev
COMMA := ,
# Four workers on two cores: many tests wait for brokers, browsers and processes.
WORKERS := 4

# Without compiled files every process that a test starts would read the package anew.
unexport PYTHONDONTWRITEBYTECODE

# Recursive on purpose: the search runs only when an environment must be made.
PYTHON = $(shell tools/find_python.sh)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install demo quick spark test nightly faults lint fix bench docs tables lock clean java broker browser classes kernels signatures

help: ## list the verbs
	@echo "Streamgauge: standing queries with stated errors. Start with: make demo"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

# Half of each start of Spark is reading classes; tests start it a dozen times.
classes: java install
	@$(BIN)/python -m tests.java 2>/dev/null || echo "Java could not; tests start Spark without"

# Compiling takes longer than what it speeds up, so it is done once, by all cores, and kept.
kernels: install
	@$(BIN)/python -m streamgauge.kernel.precompile

signatures: kernels ## list the kernels that tests have compiled, for `make kernels`
	@$(BIN)/python -m streamgauge.kernel.signatures

demo: java install ## a synthetic plant on a page that tells a story; prints its address
	@$(BIN)/streamgauge demo

# JAVA_HOME points nowhere so that a quick test that needs Java fails here, not on another machine.
quick: install kernels ## run the tests of less than a minute, which need no Java, broker or browser
	@JAVA_HOME=$(CURDIR)/no-java $(BIN)/python -m pytest -q -n 2 --quick --budget 45

spark: java install classes kernels ## run the tests that need a Java runtime
	@$(BIN)/python -m pytest -n 2 -m "jvm and not nightly"

test: java broker browser install classes kernels lint ## run lint and every test but the nightly ones, in 15 minutes
	@$(BIN)/python -m pytest -q -n $(WORKERS) --budget 900 -m "not nightly"

# Alone, because nightly tests measure and kill; everything of the library, whether it changed or not,
# and what passed is locked: `make test` tries it again when its text changes.
nightly: java broker browser install classes kernels lint ## run every test, long ones too, with fresh random seeds
	@HYPOTHESIS_PROFILE=nightly STREAMGAUGE_LIBRARY=all STREAMGAUGE_SEED=$$(date +%Y%m%d)000 \
		$(BIN)/python -m pytest
	@$(BIN)/python -m tests.library --write

faults: java broker browser install classes kernels ## plant faults, one at a time, and say which command catches each
	@tools/seed_faults

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
	@$(BIN)/python -m pytest -q --quick tests/test_docs.py src

tables: install ## write the parts of the reference that are derived from the code
	@$(BIN)/python tools/reference_tables.py --write

lock: install ## resolve the versions of the developer tools anew
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade $(patsubst %,--extra %,$(subst $(COMMA), ,$(EXTRAS))) \
		--strip-extras --no-emit-options --no-emit-index-url --no-emit-find-links \
		--no-emit-trusted-host --output-file $(LOCK) pyproject.toml

clean: ## remove caches and build results; .venv stays
	@rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache \
		artifacts derby.log metastore_db spark-warehouse
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
