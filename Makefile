# make demo   sets everything up, then writes, reads and inspects an encrypted table of real data
# make test   sets everything up, then runs each test on the oldest or the newest Spark, with some rows of its table
# make docs   builds the documents as a site in target/docs, and fails where a link leads nowhere
# Needs JDK 17, Python >= 3.10 and a package registry. What is set up once is used again.

PYTHON ?= python3
SHELL := /bin/bash

OURS := $(shell sed -n 's/^__version__ = "\(.*\)"$$/\1/p' python/src/pme_parquet/_version.py)
# PySpark 4.3 needs Python 3.11.
NEWEST := $(shell $(PYTHON) -c 'import sys; print("4.3.0" if sys.version_info >= (3, 11) else "4.2.1")')
OLDEST := 3.5.9
BETWEEN := $(filter-out $(NEWEST),4.0.5 4.1.4 4.2.1)

REQUIREMENTS := python/requirements
PACKAGES := build lint demo test
# Python compiles what it imports, which is a small part of what is installed, and keeps that for the next process.
# PySpark has no wheel: to compress its 400 MB of jars into one, and take them out again, takes as long as all the rest.
INSTALL := pip install --quiet --no-compile --config-settings=--build-option=--compression=stored
unexport PYTHONDONTWRITEBYTECODE
# The pip of an old Python takes three times as long to find what it installs.
PIP := pip install --quiet --requirement $(REQUIREMENTS)/pip.txt
JVM_SOURCES := build.sbt .scalafmt.conf $(shell find jvm project -type f -not -path '*/target/*' -not -path '*/src/test/*')
PYTHON_SOURCES := python/pyproject.toml python/README.md $(shell find python/src -type f \( -name '*.py' -o -name '*.pyi' -o -name 'py.typed' -o -name '*.css' \))
WHEEL := target/wheel/pme_parquet-$(OURS)-py3-none-any.whl
ACCP_SOURCES := python/accp/pyproject.toml python/accp/README.md python/accp/NOTICE $(shell find python/accp/src -type f -name '*.py*' -not -name '*.pyc')
ACCP_WHEEL := target/wheel/pme_parquet_accp-$(OURS)-py3-none-any.whl
JARS := target/jars/.built
LINTED := python tests examples docs/conf.py docs/_site scripts/house scripts/layers scripts/prose scripts/faults scripts/release scripts/test-part scripts/vectors
# When one of these changes, Sphinx builds all pages. A new or deleted page changes its folder.
SITE_SOURCES := docs/conf.py docs/_toc.yml $(wildcard docs/_site/*.py) $(shell find docs -type d -not -path 'docs/_site*')

SCALA_TESTS := scalafmtCheckAll scalafmtSbtCheck test
SPARKS := $(OLDEST) $(BETWEEN) $(NEWEST)
# The parts of `make test-all`: the Scala suites, those of jvm/spark on each Spark 4, and each folder of tests on the oldest
# and the newest Spark. A Spark between them runs the rows of `make test`, in one part, and whole what depends on it most:
# its installation, Connect, and the newest version of another format that runs on it.
SUITES := $(patsubst %,%-suites,$(BETWEEN) $(NEWEST))
# `storage.hdfs` is tests/storage/hdfs, which `storage` leaves out.
FOLDERS := $(subst /,.,$(patsubst tests/%/,%,$(sort $(dir $(wildcard tests/*/test_*.py tests/*/*/test_*.py)))))
inner_of = $(sort $(dir $(wildcard tests/$(1)/*/test_*.py)))
# What meets no Spark, or only the newest one.
ONCE := architecture flink storage.clouds vectors
# What the part `tests` lacks; scripts/test-part has the same list.
BESIDE_TESTS := $(ONCE) docs packaging
PARTS := $(sort scala $(SUITES) $(BETWEEN:%=%-tests) $(BETWEEN:%=%-packaging) $(BETWEEN:%=%-connect) 4.1.4-comet 4.1.4-iceberg 4.2.1-delta \
  $(patsubst %,$(OLDEST)-%,$(filter-out $(ONCE),$(FOLDERS))) $(FOLDERS:%=$(NEWEST)-%))
# One or two files of each area, which together take a few minutes.
QUICK := $(addprefix tests/,attacks/test_confused_keys.py cli/test_end_to_end.py delta/test_places.py docs/test_links.py doctor/test_shown.py \
  format/test_streaming.py format/test_tables.py inspection/test_tables.py interop/test_pyarrow.py \
  isolation/test_keystores.py kms/test_vault.py kms/test_denied_columns.py leaks/test_every_module.py \
  packaging/test_wheel.py pages/test_shapes_of_files.py plan/test_truth.py policy/test_other_formats.py \
  python/test_options.py rekey/test_files.py report/test_content.py rotation/test_files.py verify/test_tables.py)
# Names the Spark of an environment to the suites of jvm/spark.
on_spark = PME_TEST_SPARK_4_0="$$$$(echo $(1)/lib/python3*/site-packages/pyspark/jars)"
in_turns = PME_TEST_TURNS=1 PME_TEST_SPARK_4_0="$$(echo .venv/lib/python3*/site-packages/pyspark/jars)"
tested_on = $(1)/.wheel $(1)/spark.jsa
python_of = $(if $(filter $(NEWEST),$(1)),.venv,.venvs/pyspark-$(1))

.DEFAULT_GOAL := help
# Only the set-up of `make test` runs side by side: its steps wait for a registry, for files and for sbt.
ifdef SIDE_BY_SIDE
SBT_OF_JARS = $(in_turns) scripts/step "building all jars" scripts/sbt-until $(JARS)
BESIDE_JARS = firstSuites
AFTER_JARS = $(SCALA_TESTS)
else
SBT_OF_JARS = scripts/sbt
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.PHONY: build wheel venv demo demo-told test ready-to-test test-all test-parts test-parts-json test-open tools test-quick test-scala coverage lint format bench bench-quick docs docs-check docs-update api-update publish-local publish-maven publish-pypi publish-github set-version release clean help

help:
	@sed -n 's/^# //p' Makefile | head -4

build: $(JARS)

wheel: $(WHEEL) $(ACCP_WHEEL)

venv: .venv/.wheel

# The wheel of the tests has every connector. Where there is none yet, the demo builds one with its own connector only.
demo: demo-told $(if $(wildcard .venv/.wheel),.venv/.wheel,.venv/.demo)
	.venv/bin/python examples/demo.py

demo-told:
	@echo "make demo takes up to 6 minutes on two cores the first time, besides downloads of 1 GB, and then 2 minutes."

test:
	scripts/test-side-by-side $(OLDEST) $(NEWEST) $(PYTEST_ARGS)

# On the oldest Spark, fewer JVMs would use the archive of classes than it takes to pay.
ready-to-test: .venvs/pyspark-$(OLDEST)/.wheel $(call tested_on,.venv) $(ACCP_WHEEL)

# In parts of less than an hour each, which docs/tested.md lists when they pass. A part runs again only after a change that
# touches it: `make test-all` continues where it was stopped. `make -k test-all` continues after a part fails.
test-all: lint docs $(PARTS:%=test-all-%)

test-parts:
	@printf '%s\n' $(PARTS:%=test-all-%)

# As a list that a workflow takes for its matrix.
test-parts-json:
	@printf '%s\n' $(PARTS:%=test-all-%) | $(PYTHON) -c 'import json, sys; print(json.dumps(sys.stdin.read().split()))'

# The parts that have to run, and why.
test-open:
	@scripts/test-part --open $(PARTS)

test-all-scala: export PME_TEST_ALL = 1
test-all-scala: | .venv/.ready
	scripts/test-part scala scripts/sbt $(SCALA_TESTS)

define suites_of
test-all-$(1)-suites: | $(call python_of,$(1))/.ready
	PME_TEST_ALL=1 $(call on_spark,$(call python_of,$(1))) scripts/test-part $(1)-suites scripts/sbt spark-4_0-2_13/test
endef
$(foreach spark,$(BETWEEN) $(NEWEST),$(eval $(call suites_of,$(spark))))

tested_with = $(call tested_on,$(call python_of,$(1))) $(ACCP_WHEEL) $(patsubst %,target/jars/%/.all,iceberg delta hudi)

define parts_of
test-all-$(1)-%: $(call tested_with,$(1))
	PME_TEST_ALL=1 scripts/test-part $(1)-$$* $(call python_of,$(1))/bin/python -m pytest tests/$$(subst .,/,$$*) \
	  $$(addprefix --ignore=,$$(call inner_of,$$*)) $$(PYTEST_ARGS)
endef
$(foreach spark,$(SPARKS),$(eval $(call parts_of,$(spark))))

define between_of
test-all-$(1)-tests: $(call tested_with,$(1))
	@for tool in chromium softhsm2-util; do command -v $$$$tool >/dev/null || { echo "Run make tools: no $$$$tool" >&2; exit 1; }; done
	scripts/test-part $(1)-tests env PME_TEST_HERE=1 $(call python_of,$(1))/bin/python -m pytest \
	  $(patsubst %,--ignore=tests/%,$(subst .,/,$(BESIDE_TESTS))) $$(PYTEST_ARGS)
endef
$(foreach spark,$(BETWEEN),$(eval $(call between_of,$(spark))))

# Only these tests, on the newest Spark, read stores with the clouds' own clients and with Python's packages.
test-all-$(NEWEST)-storage.clouds: .venv/.clouds

# They make a release, and install it.
$(SPARKS:%=test-all-%-packaging): .venv/.release

test-all-$(NEWEST)-flink: target/jars/flink/.all

# Programs that some tests need, from Debian's packages: as root.
tools:
	scripts/install-softhsm
	scripts/install-chromium
	scripts/install-maven

test-quick: lint $(call tested_on,.venv) $(ACCP_WHEEL)
	PME_TEST_HERE=1 .venv/bin/python -m pytest $(QUICK) $(PYTEST_ARGS)

# The tools see the installed package's types through .venv, not through the checkout.
lint: .venv/.wheel
	.venv/bin/ruff check --quiet --config python/pyproject.toml $(LINTED) bench
	.venv/bin/ruff format --quiet --check --config python/pyproject.toml $(LINTED) bench
	.venv/bin/mypy --config-file python/pyproject.toml python/src python/accp/src tests examples scripts/layers
	.venv/bin/python scripts/prose

format: .venv/.ready
	.venv/bin/ruff check --quiet --fix --config python/pyproject.toml $(LINTED)
	.venv/bin/ruff format --config python/pyproject.toml $(LINTED)

test-scala: | .venv/.ready
	$(in_turns) scripts/sbt $(SCALA_TESTS)

# Lines and branches of python/src that the tests reach: COVERED=tests/plan names some of them.
coverage: $(call tested_on,.venv) $(ACCP_WHEEL)
	.venv/bin/$(INSTALL) -r $(REQUIREMENTS)/coverage.txt
	PME_TEST_HERE=1 .venv/bin/python -m coverage run --branch --source=pme_parquet --data-file=target/.coverage \
	  -m pytest $(COVERED)
	.venv/bin/python -m coverage report --data-file=target/.coverage --show-missing --skip-covered

# Run this on an otherwise idle machine; results are in target/bench.
bench: .venv/.bench
	.venv/bin/python -m bench $(BENCH_ARGS)

bench-quick: .venv/.bench
	.venv/bin/python -m bench --quick $(BENCH_ARGS)

# Sphinx builds only the pages that changed, and gives warnings only for these. That is enough: a site with a warning is
# deleted, so the pages of an existing site have none. Links between pages are checked in the whole site.
docs: .venv/.docs
	@[ -z "$$(find $(SITE_SOURCES) -maxdepth 0 -newer target/docs-trees/environment.pickle 2>&1)" ] || \
	  rm -rf target/docs target/docs-trees
	.venv/bin/python -m sphinx -q -W --keep-going -d target/docs-trees docs target/docs || \
	  { rm -rf target/docs target/docs-trees; exit 1; }
	.venv/bin/python docs/_site/check.py target/docs

docs-check: .venv/.wheel
	.venv/bin/python -m pytest tests/docs

# Writes docs/options.md, docs/errors.md and tests/vectors/conditions.json from the code.
docs-update: | .venv/.ready
	UPDATE_DOCS=1 scripts/sbt core-2_13/test "parquet-2_13/testOnly *VectorsSuite"

# Writes what api/ says of the code. Only for what users can still do without: docs/compatibility.md.
api-update: .venv/.wheel
	UPDATE_API=1 scripts/sbt "spark-4_0-2_13/testOnly *PublicApiSuite"
	UPDATE_API=1 PME_TEST_HERE=1 .venv/bin/python -m pytest tests/architecture/test_api.py tests/cli

publish-local publish-maven: $(JARS)

# All that is published of a version: make release VERSION=1.0.0-rc1 KEY=<the OpenPGP key that signs>. Recipes take the
# version from the environment, where neither make nor a shell looks into it.
release: .venv/.release
	.venv/bin/python scripts/release "$$VERSION" $(KEY:%=--key %)

# Writes a version into all files that name it, to be committed and tagged: VERSION=1.0.0-rc1 make set-version
set-version:
	$(PYTHON) scripts/release "$$VERSION" --set "$$(date -u +%F)"

# What strangers check a release with, as a draft that a person publishes. The workflow of a release calls this.
publish-github:
	cd "target/release/$$VERSION" && gh release create "$$VERSION" --verify-tag --draft --title "$$VERSION" \
	  --notes-file NOTES.md SHA256SUMS provenance.json sbom/* pypi/*

# What only `make test-all` tests: versions of Iceberg, 47 MB each, S3A for one of them, 12 MB, and clients of clouds'
# stores, 41 MB.
target/jars/iceberg/.all: $(JARS)
	scripts/sbt "all icebergJars cloudJars"
	touch $@

# The Delta of each Spark 4, which only `make test-all` tests: 13 MB each.
target/jars/delta/.all: $(JARS)
	scripts/sbt deltaJars
	touch $@

# Hudi and Comet, which only `make test-all` tests: 180 MB.
target/jars/hudi/.all: $(JARS)
	scripts/sbt hudiAndCometJars
	touch $@

# One start of sbt for all. It publishes in both layouts that `spark-submit --packages` can resolve from: Ivy's in
# target/ivy, Maven's in target/maven. In `make test` it then goes on to the Scala tests: a start costs half a minute.
$(JARS): export SBT_OPTS = -Dsbt.ivy.home=$(CURDIR)/target/ivy
$(JARS): $(JVM_SOURCES) scripts/sbt scripts/fetch-sbt | .venv/.pyspark
	rm -rf target/jars target/ivy/local target/maven
	$(SBT_OF_JARS) "all $(strip jars $(BESIDE_JARS)) publishLocal publish" built $(AFTER_JARS)

$(WHEEL): $(JARS) $(PYTHON_SOURCES) LICENSE | .venv/.ready
	rm -rf python/src/pme_parquet/jars target/wheel/pme_parquet-*
	mkdir -p python/src/pme_parquet/jars
	cp target/jars/*.jar python/src/pme_parquet/jars/
	cd python && ../.venv/bin/python -m hatchling build -t wheel -d ../target/wheel
	touch $@

# An extra. Only the environments of its own tests install it: everything else is tested with the JVM's provider.
# It comes after the wheel, because both make target/wheel.
$(ACCP_WHEEL): $(JARS) $(ACCP_SOURCES) LICENSE | .venv/.ready $(WHEEL)
	rm -rf python/accp/src/pme_parquet_accp/jars target/wheel/pme_parquet_accp-*
	mkdir -p python/accp/src/pme_parquet_accp/jars
	cp target/jars/accp/*.jar python/accp/src/pme_parquet_accp/jars/
	cd python/accp && ../../.venv/bin/python -m hatchling build -t wheel -d ../../target/wheel
	touch $@

# All that scripts/sbt needs, so that the build and the other packages do not wait for each other.
.venv/.pyspark:
	@command -v java >/dev/null || { echo "JDK 17 is needed: there is no java on PATH." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	.venv/bin/$(PIP)
	@scripts/step "installing PySpark $(NEWEST)" .venv/bin/$(INSTALL) pyspark==$(NEWEST)
	touch $@

.venv/.ready: $(PACKAGES:%=$(REQUIREMENTS)/%.txt) | .venv/.pyspark
	.venv/bin/$(INSTALL) pyspark==$(NEWEST) $(^:%=-r %)
	touch $@

.venv/.demo-ready: $(REQUIREMENTS)/build.txt $(REQUIREMENTS)/demo.txt | .venv/.pyspark
	.venv/bin/$(INSTALL) pyspark==$(NEWEST) $(^:%=-r %)
	touch $@

.venv/.demo: $(JVM_SOURCES) $(PYTHON_SOURCES) LICENSE scripts/sbt scripts/fetch-sbt scripts/step | .venv/.demo-ready
	@scripts/step "building the connector for Spark $(NEWEST)" scripts/sbt demoJar
	rm -rf python/src/pme_parquet/jars target/demo-wheel
	mkdir -p python/src/pme_parquet/jars
	cp target/demo-jar/*.jar python/src/pme_parquet/jars/
	cd python && ../.venv/bin/python -m hatchling build -t wheel -d ../target/demo-wheel
	.venv/bin/$(INSTALL) --force-reinstall --no-deps target/demo-wheel/*.whl
	touch $@

# Another PySpark, and what has programs of its own. All else is found in .venv, where .venv/.ready puts it.
.venvs/pyspark-%/.ready: $(REQUIREMENTS)/demo.txt $(REQUIREMENTS)/pip.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/$(PIP)
	$(@D)/bin/$(INSTALL) pyspark==$* -r $<
	echo 'import site, sys; site.addsitedir(f"{sys.prefix}/../../.venv/lib/python3.{sys.version_info[1]}/site-packages")' \
	  >$$(echo $(@D)/lib/python3*/site-packages)/shared.pth
	touch $@

# The workflow of a release calls this: PyPI trusts it by its name, so it needs no token. It builds nothing, and runs only
# what digests name.
publish-pypi:
	$(PYTHON) -m venv --clear .venvs/publish
	.venvs/publish/bin/pip install --quiet --require-hashes --no-deps --only-binary :all: -r $(REQUIREMENTS)/publish.txt
	.venvs/publish/bin/twine upload --non-interactive "target/release/$$VERSION/pypi/"*

# After this a release needs no network.
.venv/.release: $(REQUIREMENTS)/release.txt project/plugins.sbt | $(JARS) .venv/.ready
	.venv/bin/$(INSTALL) -r $<
	PME_RELEASE=1 scripts/sbt update
	touch $@

.venv/.bench: $(REQUIREMENTS)/bench.txt .venv/.wheel
	.venv/bin/$(INSTALL) -r $<
	touch $@

# With the packages of the tests, so that none of them becomes another version.
.venv/.docs .venv/.clouds: .venv/.%: $(REQUIREMENTS)/%.txt $(REQUIREMENTS)/test.txt .venv/.wheel
	.venv/bin/$(INSTALL) -r $(REQUIREMENTS)/test.txt -r $<
	touch $@

# Not an editable install, so that the tests run what is shipped.
.venv/.wheel: $(WHEEL) .venv/.ready
	.venv/bin/$(INSTALL) --force-reinstall --no-deps $(WHEEL)
	touch $@

.venvs/pyspark-%/.wheel: $(WHEEL) .venvs/pyspark-%/.ready
	.venvs/pyspark-$*/bin/$(INSTALL) --force-reinstall --no-deps $(WHEEL)
	touch $@

# The classes that every Spark of the tests loads. The tests also run without this, for example if a JVM cannot make it.
%/spark.jsa: %/.ready
	-$*/bin/python -m tests.support.archive

.PRECIOUS: .venvs/pyspark-%/.ready .venvs/pyspark-%/.wheel %/spark.jsa

# Two versions of Flink, 280 MB, which only `make test-all` tests.
target/jars/flink/.all: $(JARS)
	scripts/sbt flinkJars
	touch $@

clean:
	rm -rf target .venv .venvs .tools python/src/pme_parquet/jars python/accp/src/pme_parquet_accp/jars
