"""Puts the connector jar on a Spark session, next to the jars that it has already, and adds the extension."""

from __future__ import annotations

import os
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._spark import connector
from pme_parquet._spark.connector import jar_path, provider_jar
from pme_parquet._spark.errors import install_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

JARS = "spark.jars"
EXTENSIONS = "spark.sql.extensions"
EXTENSION = "io.pmeparquet.spark.PmeExtensions"
# The formats whose columns may have a DEFAULT. The first four are Spark's own value.
_DEFAULTS = "spark.sql.defaultColumn.allowedProviders"
_OF_SPARK = "csv,json,orc,parquet"
_FORMATS = ("pme-parquet", "pme_parquet", "pme-orc", "pme_orc")
_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"

# Two of one kind cannot share a class path. `--packages` puts the group before the name of a jar.
_KINDS = {"pme-parquet-spark-": "io.pmeparquet_", "AmazonCorrettoCryptoProvider-": "software.amazon.cryptools_"}


def connected(builder: SparkSession.Builder, scala: str | None) -> SparkSession.Builder:
    """What `pme.configure` does for every session, which has the doc."""
    install_errors()
    if runs_elsewhere(builder):
        return builder
    _check_what_runs()
    jars = _ours(scala)
    extensions = _with(already_set(builder, EXTENSIONS), [EXTENSION])
    configured = (
        builder.config(JARS, _appended(already_set(builder, JARS), jars))
        .config(EXTENSIONS, extensions)
        .config(_DEFAULTS, _with(already_set(builder, _DEFAULTS) or _OF_SPARK, _FORMATS))
    )
    _append_to_submit_args(jars)
    return configured


def spark_config(*, scala: str | None = None) -> dict[str, str]:
    """The Spark configuration that `configure` sets, if you prefer to set it yourself. It contains no other jars."""
    install_errors()
    return {JARS: ",".join(_ours(scala)), EXTENSIONS: EXTENSION, _DEFAULTS: _with(_OF_SPARK, _FORMATS)}


def _check_what_runs() -> None:
    """Raises an error early: a class path is fixed when a JVM starts, so otherwise each read would fail later."""
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    jvm: Any = getattr(context, "_jvm", None)  # PySpark keeps the JVM when the session is stopped
    if jvm is not None:
        found = connector.misfit(jvm)
        if found is not None:
            raise found.error("pme.configure")
        # The connector may be there without the extension. Without an active session this does nothing.
        jvm.io.pmeparquet.spark.rules.SessionSetup.install()


def _ours(scala: str | None) -> list[str]:
    provider = provider_jar()
    return [jar_path(scala=scala), *([provider] if provider else [])]


def runs_elsewhere(builder: SparkSession.Builder) -> bool:
    """Whether the builder is of a session on a remote Connect server, which has its own jars and settings."""
    remote = _option(builder, "spark.remote") or os.environ.get("SPARK_REMOTE", "")
    return remote.startswith("sc://")


def _option(builder: SparkSession.Builder, name: str) -> str:
    """An option of a builder. Some builders do not keep their options, so they cannot be asked."""
    return str(getattr(builder, "_options", {}).get(name, ""))


def _appended(jars: str, ours: Sequence[str]) -> str:
    """Appends our entries, except those with an entry of the same kind, in any version."""
    listed = [entry for entry in (part.strip() for part in jars.split(",")) if entry]
    there = {_kind(entry) for entry in listed}
    return ",".join([*listed, *(jar for jar in ours if _kind(jar) not in there)])


def _kind(jar: str) -> str | None:
    name = Path(jar).name
    return next((kind for kind, group in _KINDS.items() if name.startswith((kind, group + kind))), None)


def _with(setting: str, ours: Sequence[str]) -> str:
    """A list in a setting, with what it lacks of ours."""
    listed = [entry for entry in (part.strip() for part in setting.split(",")) if entry]
    return ",".join([*listed, *(entry for entry in ours if entry not in listed)])


def already_set(builder: SparkSession.Builder, name: str) -> str:
    """The value that a setting would have without us: setting it on the builder hides the other places."""
    if _option(builder, name):
        return _option(builder, name)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started this script, and the JVM that has its settings
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 nothing happens at import

        SparkContext._ensure_initialized()  # noqa: SLF001 not connected to the JVM, it would have no settings
        return SparkConf().get(name) or ""
    submitted = _submitted_jars() if name == JARS else ""
    return submitted or _submitted_conf(name) or _of_defaults(name)


def _submitted_jars() -> str:
    arguments = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    return arguments[arguments.index("--jars") + 1] if "--jars" in arguments[:-1] else ""


def _submitted_conf(name: str) -> str:
    """The value of `--conf NAME=VALUE`; the last one wins."""
    arguments = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    settings = [value.partition("=") for option, value in pairwise(arguments) if option in {"--conf", "-c"}]
    return next((value for key, _, value in reversed(settings) if key == name), "")


def _append_to_submit_args(ours: Sequence[str]) -> None:
    """Adds our jar to `--jars` in PYSPARK_SUBMIT_ARGS, because that wins over the builder's spark.jars."""
    jars = _submitted_jars()
    if jars:
        arguments = shlex.split(os.environ[_SUBMIT_ARGS])
        arguments[arguments.index("--jars") + 1] = _appended(jars, ours)
        os.environ[_SUBMIT_ARGS] = shlex.join(arguments)


def _of_defaults(wanted: str) -> str:
    home = Path(os.environ.get("SPARK_HOME", ""))
    defaults = Path(os.environ.get("SPARK_CONF_DIR", home / "conf")) / "spark-defaults.conf"
    if not defaults.is_file():
        return ""
    for line in defaults.read_text(encoding="utf-8").splitlines():
        name, *value = line.replace("=", " ", 1).split(maxsplit=1)[:2] or [""]
        if name == wanted and value:
            return value[0].strip()
    return ""
