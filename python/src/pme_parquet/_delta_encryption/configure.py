"""`pme.configure`: a session with the connector, and if asked with Delta and what docs/delta.md, "Set it", lists."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pme_parquet._encryption import encryption_of
from pme_parquet._spark import connector
from pme_parquet._spark.session import EXTENSIONS, JARS, already_set, connected, runs_elsewhere
from pme_parquet.errors import NoKeyError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pme_parquet._encryption import Encryption

FACTORY = "parquet.crypto.factory.class"
OUR_FACTORY = "io.pmeparquet.parquet.PmeCryptoFactory"
GUARD = ("spark.delta.logStore.class", "io.pmeparquet.delta.PmeLogStore")
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
PREFIX = "pme-parquet."
JAVA = "parquet.encryption."
FOOTER = "footerKey"
# Table properties have these.
CARRIED = frozenset({"footerKey", "columnKeys", "uniformKey", "unlistedColumns", "algorithm"})

_WHERE = "pme.configure(delta)"
_JARS_OF_MAVEN = "spark.jars.packages"
_HADOOP = "spark.hadoop."
_PACKAGES = {
    "3.5": "io.delta:delta-spark_{scala}:3.3.2",
    "4.0": "io.delta:delta-spark_4.0_{scala}:4.4.0",
    "4.1": "io.delta:delta-spark_4.1_{scala}:4.4.0",
    "4.2": "io.delta:delta-spark_4.2_{scala}:4.4.0",
}
_NEWEST = "4.2.1"


def configure(
    builder: SparkSession.Builder, *, scala: str | None = None, delta: Encryption | None = None
) -> SparkSession.Builder:
    """Add the bundled connector jar to a session builder, and map failures of the connector to Python classes.

    Call it before the first session is built: a running session cannot load a jar, so this fails if that session does
    not have the right one. The session also gets the extension of the connector, which refuses a write that passes
    options of the format to another format, for example because `format("pme-parquet")` was forgotten. Columns of its
    tables may have a `DEFAULT`.

    With the extra `pme-parquet[accp]`, the jar of Amazon's JCE provider for this machine is added, too. Jars that the
    builder, spark-submit or spark-defaults.conf already set stay. A remote Connect server (`sc://`) has its own jars.

    Example:
        spark = pme.configure(SparkSession.builder).getOrCreate()

    Args:
        builder: a builder of a classic session, or of a Connect session that starts its server here (`local`).
        scala: `2.12` or `2.13`, if the installed Spark does not show it.
        delta: the keys of Delta tables. The session then has Delta, with its catalog and extension, and encrypts what
            Delta writes: `pme.delta.encrypt_table` with the same keys encrypts a table. Delta comes from Maven, unless
            the session names one.

    Raises:
        UnsupportedError: a session already runs, or ran in this process, and its connector is missing or incompatible;
            or there is no Delta for this Spark.
    """
    if delta is None:
        return connected(builder, scala)
    if runs_elsewhere(builder):
        raise UnsupportedError(
            f"{_WHERE}: the Spark Connect server has the settings of Delta. Set them there, as docs/delta.md says."
        )
    more = settings(delta)
    packages = already_set(builder, _JARS_OF_MAVEN)
    found = package(f"{packages},{already_set(builder, JARS)}", scala)
    configured = connected(builder, scala)
    for name, value in more.items():
        configured = configured.config(name, value)
    if found is not None:
        configured = configured.config(_JARS_OF_MAVEN, ",".join(filter(None, [packages, found])))
    return configured.config(EXTENSIONS, extensions(already_set(configured, EXTENSIONS)))


def settings(enc: Encryption) -> dict[str, str]:
    """The settings of a session whose Delta tables `pme.delta.encrypt_table` encrypts with the same `enc`.

    The keys of columns are for the tables. The session has the KMS, and the key of checkpoints.

    Raises:
        NoKeyError: no footer key is named.
        UnsupportedError: a session runs already, whose extensions and Hadoop configuration stay as they are.
    """
    footer = encryption_of(enc, _WHERE).footer_key or enc.uniform_key
    if footer is None:
        raise NoKeyError(
            f"{_WHERE}: no footer key is named, which checkpoints need. Give footer_key in the Encryption."
        )
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    if getattr(context, "_active_spark_context", None) is not None:
        raise UnsupportedError(
            f"{_WHERE}: a session runs already, and keeps its extensions and settings, so it would write plaintext. "
            "Stop it, restart Python (in a notebook, the kernel), and configure the first session."
        )
    own = {name: value for name, value in enc.options().items() if name not in CARRIED} | {FOOTER: footer}
    return {
        CATALOG[0]: CATALOG[1],
        GUARD[0]: GUARD[1],
        f"{_HADOOP}{FACTORY}": OUR_FACTORY,
        **{f"{_HADOOP}{name if name.lower().startswith(JAVA) else PREFIX + name}": one for name, one in own.items()},
    }


def package(named: str, scala: str | None) -> str | None:
    """The coordinates of the Delta for this Spark; None if there is one already, or other jars or packages name one.

    Args:
        named: the jars and packages of the session.
        scala: of Spark, if it is known.

    Raises:
        UnsupportedError: there is no Delta for this Spark.
    """
    if "delta-spark" in named or any(any(folder.glob("delta-spark*.jar")) for folder in connector.folders()):
        return None
    version = connector.installed_version()
    found = _PACKAGES.get(".".join(version.split(".")[:2]))
    if found is None:
        raise UnsupportedError(
            f"{_WHERE}: there is no Delta for Spark {version}. Install a PySpark that has one: pip install "
            f"pyspark=={_NEWEST}."
        )
    return found.format(scala=scala or connector.installed_scala() or ("2.12" if version.startswith("3.") else "2.13"))


def extensions(listed: str) -> str:
    """The extensions, with Delta's own."""
    names = [name for name in (part.strip() for part in listed.split(",")) if name]
    return ",".join(names if DELTA in names else [*names, DELTA])
