"""What a person with a Databricks workspace runs, here on a local Spark."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.delta.platform_checks import FOLDER, checks
from tests.support import needs
from tests.support.session import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

check_platform = checks()


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the checks find."""
    made = check_platform.run(spark, str(tmp_path_factory.mktemp("platform")))
    return {one.promise: one for one in made}


@pytest.mark.newest
def test_every_promise_holds(found: dict[str, Any]) -> None:
    # The Spark of these tests has no Delta; tests/delta has one.
    assert [(name, one.found) for name, one in found.items() if one.found != "yes"] == [
        ("a write by Delta with keys as options is refused", "-"),
        ("Delta encrypts in a session with the crypto factory", "-"),
    ]
    assert list(found) == list(check_platform.CHECKS)


@pytest.mark.newest
def test_a_broken_promise_is_in_the_table(spark: SparkSession, tmp_path: Path) -> None:
    # As in the standard access mode, nothing can be written.
    made = check_platform.run(spark, f"nothing-like-this://{tmp_path}")
    assert made[0].found == "no"
    assert "\n" not in check_platform.shown(made[:1])
    assert made[0].detail


def test_the_notebook_is_one() -> None:
    text = (FOLDER / "check_platform_notebook.py").read_text(encoding="utf-8")
    assert text.startswith("# Databricks notebook source\n")
    cells = text.split("\n# COMMAND ----------\n")
    assert len(cells) > 3
    for cell in cells:
        ast.parse(cell)
    called = set(re.findall(r"check_platform\.(\w+)", text))
    assert called
    assert all(hasattr(check_platform, name) for name in called)


@needs.package("yaml")
def test_the_bundle_names_what_there_is() -> None:
    yaml: Any = import_module("yaml")
    bundle = yaml.safe_load((FOLDER / "databricks.yml").read_text(encoding="utf-8"))
    [task] = bundle["resources"]["jobs"]["check"]["tasks"]
    assert (FOLDER / task["notebook_task"]["notebook_path"]).is_file()
    [library], cluster = task["libraries"], task["new_cluster"]
    assert library["whl"].endswith(f"/pme_parquet-{pme.__version__}-py3-none-any.whl")
    assert cluster["spark_env_vars"]["PME_JAR"].endswith(f"/pme-parquet-spark-4.0_2.13-{VERSION}.jar")
    [script] = [one["volumes"]["destination"].rpartition("/")[2] for one in cluster["init_scripts"]]
    assert "$PME_JAR" in (FOLDER / script).read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{var\.(\w+)\}", str(bundle))) == set(bundle["variables"])
