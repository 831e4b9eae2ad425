"""Puts the connector jar on a Spark session, beside whatever jars it has already."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._hook import install_errors
from pme_parquet._jars import jar_path, provider_jar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_JARS = "spark.jars"
_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"

# No two of a kind can share a class path.
_KINDS = ("pme-parquet-spark-", "AmazonCorrettoCryptoProvider-")


def configure(builder: SparkSession.Builder, *, scala: str | None = None) -> SparkSession.Builder:
    """Adds the bundled connector jar to a builder, and gives the connector's failures their Python classes.

    With the extra `pme-parquet[accp]`, the jar of Amazon's JCE provider for this machine is added too.
    Jars that are set already, on the builder, by spark-submit or in spark-defaults.conf, stay. A Connect server that
    runs elsewhere (`sc://`) has its own jars, and gets none from here.

    Example:
        spark = pme.configure(SparkSession.builder).getOrCreate()

    Args:
        builder: a builder of a classic session, or of a Connect session that starts its server here (`local`).
        scala: `2.12` or `2.13`, where it cannot be told from the installed Spark.
    """
    install_errors()
    if _runs_elsewhere(builder):
        return builder
    jars = _ours(scala)
    _append_to_submit_args(jars)
    return builder.config(_JARS, _appended(_jars_already_set(builder), jars))


def spark_config(*, scala: str | None = None) -> dict[str, str]:
    """The Spark configuration that `configure` sets, for those who set it themselves (it holds no other jars)."""
    install_errors()
    return {_JARS: ",".join(_ours(scala))}


def _ours(scala: str | None) -> list[str]:
    provider = provider_jar()
    return [jar_path(scala=scala), *([provider] if provider else [])]


def _runs_elsewhere(builder: SparkSession.Builder) -> bool:
    remote = _option(builder, "spark.remote") or os.environ.get("SPARK_REMOTE", "")
    return remote.startswith("sc://")


def _option(builder: SparkSession.Builder, name: str) -> str:
    """A builder can only be asked for its options where it keeps them."""
    return str(getattr(builder, "_options", {}).get(name, ""))


def _appended(jars: str, ours: Sequence[str]) -> str:
    """Appends those of ours of whose kind, in any version, there is none yet."""
    listed = [entry for entry in (part.strip() for part in jars.split(",")) if entry]
    there = {_kind(entry) for entry in listed}
    return ",".join([*listed, *(jar for jar in ours if _kind(jar) not in there)])


def _kind(jar: str) -> str | None:
    return next((kind for kind in _KINDS if Path(jar).name.startswith(kind)), None)


def _jars_already_set(builder: SparkSession.Builder) -> str:
    """What `spark.jars` would be without us: setting it on the builder hides the other places."""
    if _option(builder, _JARS):
        return _option(builder, _JARS)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # this script was started by spark-submit
        from pyspark import SparkConf  # noqa: PLC0415 nothing happens at import

        return SparkConf().get(_JARS) or ""
    return _submitted_jars() or _jars_of_defaults()


def _submitted_jars() -> str:
    arguments = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    return arguments[arguments.index("--jars") + 1] if "--jars" in arguments[:-1] else ""


def _append_to_submit_args(ours: Sequence[str]) -> None:
    """`--jars` in PYSPARK_SUBMIT_ARGS wins over the builder's spark.jars, so ours has to be there as well."""
    jars = _submitted_jars()
    if jars:
        arguments = shlex.split(os.environ[_SUBMIT_ARGS])
        arguments[arguments.index("--jars") + 1] = _appended(jars, ours)
        os.environ[_SUBMIT_ARGS] = shlex.join(arguments)


def _jars_of_defaults() -> str:
    home = Path(os.environ.get("SPARK_HOME", ""))
    defaults = Path(os.environ.get("SPARK_CONF_DIR", home / "conf")) / "spark-defaults.conf"
    if not defaults.is_file():
        return ""
    for line in defaults.read_text(encoding="utf-8").splitlines():
        name, *value = line.replace("=", " ", 1).split(maxsplit=1)[:2] or [""]
        if name == _JARS and value:
            return value[0].strip()
    return ""
