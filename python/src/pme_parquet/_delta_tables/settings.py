"""Whether a session encrypts what Delta writes as an `Encryption` says, and what its KMS is.

Delta writes files with the settings of the session and the properties of the table, and knows nothing of `Encryption`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._delta.opened import reading
from pme_parquet._spark.session import EXTENSION, EXTENSIONS
from pme_parquet.errors import BadOptionError, NoKeyError, UnsupportedError

if TYPE_CHECKING:
    from pme_parquet._delta_tables.logged import LoggedTable
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
_DEFAULTS = {"plaintextFooter": "false", "keyMaterial": "internal", "keyManagement": "envelope"}
_DOCS = 'docs/delta.md, "Set it", has the settings.'


def effective(table: LoggedTable, enc: Encryption, where: str) -> dict[str, str]:
    """The options of a write that Delta does: those of `enc`, which the session must agree with, and the session's KMS.

    Raises:
        UnsupportedError: the session would write plaintext, or without our rules.
        NoKeyError: no footer key is named.
        BadOptionError: `enc` and the session differ, or table properties cannot have an attribute of `enc`.
    """
    conf = _required(table, where)
    own = {name.lower(): value for name, value in dict(conf.getPropsWithPrefix(PREFIX)).items()}
    java = {name.lower(): value for name, value in dict(conf.getPropsWithPrefix(JAVA)).items()}
    given = enc.options()
    for name, value in given.items():
        if not name.lower().startswith(JAVA):
            _require_same(name, value, own, where)
        elif java.get(name.lower().removeprefix(JAVA)) != value:
            raise BadOptionError(
                f"{where}: enc and the session differ in {name}, and Delta writes with the session's. Set "
                f"spark.hadoop.{name} to the same value in the session, or leave it out of enc."
            )
    for name in ("columnKeys", "uniformKey", "unlistedColumns"):
        if name.lower() in own:
            raise BadOptionError(
                f"{where}: the session sets {PREFIX}{name}, which counts more than the properties of tables. Remove "
                "it from the session."
            )
    footer = enc.footer_key or enc.uniform_key or own.get("footerkey")
    if footer is None or ("footerkey" not in own and "footer.key" not in java):
        raise NoKeyError(
            f"{where}: "
            f"{'no footer key is named' if footer is None else 'the session has no footer key for checkpoints'}. Set "
            f"spark.hadoop.{PREFIX}{FOOTER} in the session; {_DOCS}"
        )
    if own.get("footerkey", footer) != footer:
        raise BadOptionError(
            f"{where}: enc and the session name different footer keys, and the session's counts. Name the same key in "
            "both."
        )
    made = {name: value for name, value in given.items() if name in CARRIED - {"uniformKey"}}
    return made | {"footerKey": footer, "keyManagement": "envelope"} | reading(conf)


def _required(table: LoggedTable, where: str) -> Any:  # noqa: ANN401 py4j is untyped
    """The configuration of a session that has what Delta needs to encrypt."""
    conf = table.configuration()
    if conf.get(FACTORY) != OUR_FACTORY:
        raise UnsupportedError(
            f"{where}: this session has no crypto factory of pme-parquet, so Delta would write plaintext. Start it "
            f"with spark.hadoop.{FACTORY}={OUR_FACTORY}; {_DOCS}"
        )
    if EXTENSION not in (table.spark.conf.get(EXTENSIONS, "") or ""):
        raise UnsupportedError(
            f"{where}: this session has no {EXTENSION} in {EXTENSIONS}, which refuses statements that would "
            f"make protected columns readable. {_DOCS}"
        )
    if table.spark.sparkContext.getConf().get(GUARD[0]) != GUARD[1]:
        raise UnsupportedError(
            f"{where}: Delta commits without the guard that keeps values of protected columns out of its log. Start "
            f"the application with {GUARD[0]}={GUARD[1]}, or with {EXTENSION} in its first session. "
            f"{_DOCS}"
        )
    return conf


def _require_same(name: str, value: str, own: dict[str, str], where: str) -> None:
    there = own.get(name.lower())
    if name.lower().startswith("kms"):
        if there != value:
            raise BadOptionError(
                f"{where}: enc and the session differ in {name}, and Delta writes with the session's KMS. Configure it "
                f"in the session as spark.hadoop.{PREFIX}{name}, or leave out kms of enc."
            )
    elif name not in CARRIED:
        if value not in {there, _DEFAULTS.get(name)} or (there is not None and there != value):
            raise BadOptionError(
                f"{where}: table properties cannot have {name} of enc. Leave it out, or set "
                f"spark.hadoop.{PREFIX}{name} to the same value in the session."
            )
    elif name == "algorithm" and there not in {None, value}:
        raise BadOptionError(f"{where}: the session sets another {PREFIX}{name} than enc, and it counts. Use the same.")


def prove(table: LoggedTable, schema: str, properties: dict[str, str], where: str) -> None:
    """Lets the crypto factory make the keys of a file, as a task of Delta does. No file is written.

    Raises:
        PmeError: the KMS cannot wrap with one of the keys, or the factory refuses the properties.
    """
    session: Any = table.spark
    jvm, sessions = session._jvm, session._jsparkSession.sessionState()  # noqa: SLF001 as PySpark does
    conf = sessions.newHadoopConf()
    for name, value in properties.items():
        conf.set(name, value)
    converter = jvm.org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter(sessions.conf())
    context = getattr(jvm.org.apache.parquet.hadoop.api, "WriteSupport$WriteContext")(
        converter.convert(table.schema(schema)), jvm.java.util.HashMap()
    )
    file = jvm.org.apache.hadoop.fs.Path(table.path, f"{where}.parquet")
    jvm.io.pmeparquet.parquet.PmeCryptoFactory().getFileEncryptionProperties(conf, file, context)
