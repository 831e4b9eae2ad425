# make demo   sets everything up, then writes, reads and inspects an encrypted table of real data
# make test   sets everything up, then runs each test on the oldest or the newest Spark; of combinations a sample
# make docs   builds the documents as a site in target/docs, and fails where a link leads nowhere
# Needs JDK 17, Python >= 3.10 and a package registry. What is set up once is used again.

PYTHON ?= python3
SHELL := /bin/bash

VERSION := 0.1.0
# PySpark 4.3 needs Python 3.11.
NEWEST := $(shell $(PYTHON) -c 'import sys; print("4.3.0" if sys.version_info >= (3, 11) else "4.2.1")')
OLDEST := 3.5.9
BETWEEN := $(filter-out $(NEWEST),4.0.5 4.1.4 4.2.1)

REQUIREMENTS := python/requirements
JVM_SOURCES := build.sbt .scalafmt.conf $(shell find jvm project -type f -not -path '*/target/*')
PYTHON_SOURCES := python/pyproject.toml python/README.md $(shell find python/src -type f \( -name '*.py' -o -name '*.pyi' -o -name 'py.typed' -o -name '*.css' \))
WHEEL := target/wheel/pme_parquet-$(VERSION)-py3-none-any.whl
ACCP_SOURCES := python/accp/pyproject.toml python/accp/README.md python/accp/NOTICE $(shell find python/accp/src -type f -name '*.py*' -not -name '*.pyc')
ACCP_WHEEL := target/wheel/pme_parquet_accp-$(VERSION)-py3-none-any.whl
JARS := target/jars/.built
PUBLISHED := target/.published
LINTED := python tests examples docs/conf.py docs/_site

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: build wheel venv demo test test-all test-quick test-scala lint format bench bench-quick docs docs-check docs-update publish-local publish-maven clean help

help:
	@sed -n 's/^# //p' Makefile | head -4

build: $(JARS)

wheel: $(WHEEL) $(ACCP_WHEEL)

venv: .venv/.wheel

demo: .venv/.wheel
	.venv/bin/python examples/demo.py

test: lint docs test-scala .venvs/pyspark-$(OLDEST)/.wheel .venv/.wheel $(ACCP_WHEEL) $(PUBLISHED)
	scripts/test-side-by-side .venvs/pyspark-$(OLDEST)/bin/python .venv/bin/python $(PYTEST_ARGS)

test-all: export PME_TEST_ALL = 1
test-all: lint docs test-scala pytest-$(OLDEST) $(BETWEEN:%=pytest-%) pytest-$(NEWEST)

test-quick: lint pytest-$(NEWEST)

# The tools see the installed package's types through .venv, not through the checkout.
lint: .venv/.wheel
	.venv/bin/ruff check --quiet --config python/pyproject.toml $(LINTED) bench
	.venv/bin/ruff format --quiet --check --config python/pyproject.toml $(LINTED) bench
	.venv/bin/mypy --config-file python/pyproject.toml python/src python/accp/src tests examples

format: .venv/.ready
	.venv/bin/ruff check --quiet --fix --config python/pyproject.toml $(LINTED)
	.venv/bin/ruff format --config python/pyproject.toml $(LINTED)

test-scala: | .venv/.ready
	scripts/sbt scalafmtCheckAll scalafmtSbtCheck test

pytest-$(NEWEST): .venv/.wheel $(ACCP_WHEEL) $(PUBLISHED)
	.venv/bin/python -m pytest $(PYTEST_ARGS)

pytest-%: .venvs/pyspark-%/.wheel $(ACCP_WHEEL) $(PUBLISHED)
	.venvs/pyspark-$*/bin/python -m pytest $(PYTEST_ARGS)

# On a machine that does nothing else; results in target/bench.
bench: .venv/.bench
	.venv/bin/python -m bench $(BENCH_ARGS)

bench-quick: .venv/.bench
	.venv/bin/python -m bench --quick $(BENCH_ARGS)

# Built anew each time: of pages that did not change Sphinx tells nothing.
docs: .venv/.docs
	rm -rf target/docs target/docs-trees
	.venv/bin/python -m sphinx -q -W --keep-going -d target/docs-trees docs target/docs
	.venv/bin/python docs/_site/check.py target/docs

docs-check: .venv/.wheel
	.venv/bin/python -m pytest tests/docs

# Writes docs/options.md and docs/errors.md anew from the code.
docs-update: | .venv/.ready
	UPDATE_DOCS=1 scripts/sbt core-2_13/test

publish-local publish-maven: $(PUBLISHED)

# Both layouts that `spark-submit --packages` can resolve from: Ivy's in target/ivy, Maven's in target/maven.
$(PUBLISHED): $(JARS) | .venv/.ready
	rm -rf target/ivy target/maven
	SBT_OPTS="-Dsbt.ivy.home=$(CURDIR)/target/ivy" scripts/sbt publishLocal publish
	touch $@

$(JARS): $(JVM_SOURCES) scripts/sbt scripts/fetch-sbt | .venv/.ready
	rm -rf target/jars
	scripts/sbt jars
	touch $@

$(WHEEL): $(JARS) $(PYTHON_SOURCES) LICENSE | .venv/.ready
	rm -rf python/src/pme_parquet/jars target/wheel/pme_parquet-*
	mkdir -p python/src/pme_parquet/jars
	cp target/jars/*.jar python/src/pme_parquet/jars/
	cd python && ../.venv/bin/python -m hatchling build -t wheel -d ../target/wheel
	touch $@

# An extra, never installed beside the other but in environments of its tests: all else is tested on the JVM's provider.
$(ACCP_WHEEL): $(JARS) $(ACCP_SOURCES) LICENSE | .venv/.ready
	rm -rf python/accp/src/pme_parquet_accp/jars target/wheel/pme_parquet_accp-*
	mkdir -p python/accp/src/pme_parquet_accp/jars
	cp target/jars/accp/*.jar python/accp/src/pme_parquet_accp/jars/
	cd python/accp && ../../.venv/bin/python -m hatchling build -t wheel -d ../../target/wheel
	touch $@

.venv/.ready: $(REQUIREMENTS)/build.txt $(REQUIREMENTS)/lint.txt $(REQUIREMENTS)/test.txt
	@command -v java >/dev/null || { echo "JDK 17 is needed: there is no java on PATH." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet pyspark==$(NEWEST) $(^:%=-r %)
	touch $@

.venvs/pyspark-%/.ready: $(REQUIREMENTS)/test.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet pyspark==$* -r $<
	touch $@

.venv/.bench: $(REQUIREMENTS)/bench.txt .venv/.wheel
	.venv/bin/pip install --quiet -r $<
	touch $@

.venv/.docs: $(REQUIREMENTS)/docs.txt .venv/.wheel
	.venv/bin/pip install --quiet -r $<
	touch $@

# Not editable: what is tested is what is shipped.
.venv/.wheel: $(WHEEL) .venv/.ready
	.venv/bin/pip install --quiet --force-reinstall --no-deps $(WHEEL)
	touch $@

.venvs/pyspark-%/.wheel: $(WHEEL) .venvs/pyspark-%/.ready
	.venvs/pyspark-$*/bin/pip install --quiet --force-reinstall --no-deps $(WHEEL)
	touch $@

.PRECIOUS: .venvs/pyspark-%/.ready .venvs/pyspark-%/.wheel

clean:
	rm -rf target .venv .venvs .tools python/src/pme_parquet/jars python/accp/src/pme_parquet_accp/jars
