"""`pme-parquet delta-check`, `delta-encrypt` and `delta-rotate`: Delta tables.

Delta writes with the settings of the session and the properties of the table. So a session that is started here has
Delta's extension and catalog, our extension and crypto factory, and the options of the command; the keys of columns are
for the table.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pme_parquet import _delta_encryption
from pme_parquet._checks import delta
from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.looking import of_check
from pme_parquet._cli.options import Given, Typed, WriteKeys, kms_options, merged, pairs
from pme_parquet._cli.output import FINDING
from pme_parquet._cli.sessions import SparkChoice, session
from pme_parquet._delta_encryption.configure import CARRIED, CATALOG, DELTA, FACTORY, FOOTER, JAVA, OUR_FACTORY, PREFIX
from pme_parquet._spark.session import EXTENSION, EXTENSIONS, already_set
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

_OURS = (EXTENSION, DELTA)
_CATALOG = "=".join(CATALOG)
_FACTORY = f"spark.hadoop.{FACTORY}={OUR_FACTORY}"
# Properties of the table have these. In a session they would count for every table, and more than its properties.
_OF_THE_TABLE = CARRIED - {FOOTER}
_JAVAS_COLUMNS = {f"{JAVA}{name}" for name in ("column.keys", "uniform.key", "complete.columns")}
_JAVAS_KEYS = {f"{JAVA}footer.key"} | _JAVAS_COLUMNS
_WITH_SPARK = "--spark"


@command(delta.check, spark=True)
def delta_check(
    call: Call,
    with_spark: Annotated[
        bool,
        typer.Option(
            _WITH_SPARK,
            help="Start Spark with Delta and the KMS. It opens encrypted footers and checkpoints, so use it for a "
            "table that delta-encrypt has encrypted: without it, nobody knows what is live after old commits were "
            "deleted.",
        ),
    ] = False,
) -> Answer:
    """Show what anyone can read of a Delta table's protected columns: `pme-parquet delta-check s3://bucket/people`.

    It searches data files, change data, and the log: statistics, partition values, predicates, checkpoints. No value
    is printed. It needs the package deltalake (`pip install deltalake pyarrow`), or Spark with Delta:

    `pme-parquet delta-check people --spark --options-file kms.json --packages io.delta:delta-spark_2.12:3.3.2`

    Options of Spark, keys and the format are for `--spark` only. Keys of columns are not taken: `--column` names
    columns.

    Exit 1 if something is readable, or could not be looked at.
    """
    if not with_spark:
        _refuse_without_spark(call.given, call.choice)
        return of_check(call.on(spark=None, kms=None))
    if call["storage_options"]:
        message = f"with {_WITH_SPARK}, Spark's settings reach the storage. Set them with --conf."
        raise typer.BadParameter(message, param_hint="--storage-option")
    for name in _named_as_declared(call.options):
        if name in _OF_THE_TABLE or name.lower() in _JAVAS_COLUMNS:
            raise BadOptionError(f"{name}: it says how a table is written. Leave it out; --column names a column.")
    kms = kms_options(call.options)
    with _session(call, call["path"]) as running:
        return of_check(call.on(spark=running, kms=kms or None))


@command(_delta_encryption.encrypt_table)
def delta_encrypt(call: Call) -> Answer:
    """Encrypt a Delta table, or what is plaintext in one, in a commit that changes no row.

    `pme-parquet delta-encrypt people --footer-key footer --column-key pii=ssn -o unlistedColumns=plaintext
    --options-file kms.json --packages io.delta:delta-spark_2.12:3.3.2`

    Delta's jars must fit Spark: `--packages io.delta:delta-spark_4.1_2.13:4.4.0` for Spark 4.1. The command sets
    Delta's extension and catalog, and ours. For a table of a Hive metastore, add `--conf
    spark.sql.catalogImplementation=hive`.

    Older versions of the table stay readable; the result has the statements that delete them. If the command was
    interrupted, run it again to continue.

    Exit 0 if nothing is readable that is to be protected. Exit 1 if the table is encrypted and something is still
    readable, as after the first run: follow the statements, and run the same command again, which then changes nothing.
    Also exit 1, with an error, if other sessions kept writing plaintext. Exit 2, 3 or 4 if it was refused, or failed.
    """
    return _changed(call)


@command(_delta_encryption.rotate)
def delta_rotate(call: Call) -> Answer:
    """Give an encrypted Delta table other master keys, or the newest versions of the same, and new data keys.

    `pme-parquet delta-rotate people --footer-key footer --column-key pii-2027=ssn -o unlistedColumns=plaintext
    --options-file kms.json --packages io.delta:delta-spark_2.12:3.3.2`

    Name all keys of the table, also those that stay. Live files are rewritten in a commit that changes no row. Older
    versions stay under the old keys: keep these until VACUUM has deleted the files. `pme-parquet key-usage` names them.

    Delta's jars and the session are as for `delta-encrypt`.

    Exit 0 if all live files have the new keys, and nothing is readable that is to be protected. Exit 1 if they have the
    new keys, and something is readable, such as old plaintext files. Other codes are as for `delta-encrypt`.
    """
    return _changed(call)


def _changed(call: Call) -> Answer:
    enc = _encryption(call.keys, call.given)
    with _session(call, call["table"], enc) as running:
        done = call.on(running, enc=enc)
    # What was not checked may be readable.
    return Answer(done, done.to_dict(), 0 if done.check is not None and done.check.ok else FINDING)


def _refuse_without_spark(given: Given, spark: SparkChoice) -> None:
    """Refuses options that nothing would look at. Those of the environment may be for other commands."""
    file = None if given.options_file is None else str(given.options_file)
    typed = {
        "--keystore": given.keystore is not None,
        "--kms": given.kms not in {None, os.environ.get("PME_KMS")},
        "--option": bool(given.option),
        "--options-file": file not in {None, os.environ.get("PME_OPTIONS_FILE")},
        "--master": spark.master not in {SparkChoice.master, os.environ.get("PME_MASTER")},
        "--conf": bool(spark.conf),
        "--packages": spark.packages is not None,
    }
    for option in [option for option, is_given in typed.items() if is_given]:
        message = f"it is for the session of {_WITH_SPARK}. Add {_WITH_SPARK}, or leave it out."
        raise typer.BadParameter(message, param_hint=option)


def _encryption(keys: WriteKeys, given: Given) -> Typed:
    """What the table gets: all options with it, so that a session which another program made is compared with them."""
    options = _named_as_declared(merged(given.options(), keys.encryption({}).options()))
    for name in options:
        if name.lower() in _JAVAS_KEYS:
            raise BadOptionError(f"{name}: the table gets its keys by --footer-key, --column-key or --uniform-key.")
    footer, uniform = options.get(FOOTER), options.get("uniformKey")
    if uniform is not None and (footer is not None or "columnKeys" in options):
        raise BadOptionError(
            "--uniform-key: it is the key of everything. Leave it out, or leave out --footer-key and --column-key."
        )
    return Typed(footer_key=footer, uniform_key=uniform, typed=options)


def _named_as_declared(options: Mapping[str, str]) -> dict[str, str]:
    """The options of keys by the names that Python looks for; the format takes them in any letters."""
    declared = {name.lower(): name for name in CARRIED}
    return {declared.get(name.lower(), name): value for name, value in options.items()}


def _session(call: Call, table: str, enc: Typed | None = None) -> AbstractContextManager[SparkSession]:
    """A session that reads and writes Delta tables with the options that were typed."""
    before_spark(call.choice, call.options, *([table] if _is_a_path(table) else []))
    return session(replace(call.choice, conf=_conf(call.choice)), _settings(call.options, enc))


def _conf(choice: SparkChoice) -> list[str]:
    """The settings of Spark: those of the user count, and their extensions are added to ours."""
    given = pairs(choice.conf, "--conf").get(EXTENSIONS) or _elsewhere(EXTENSIONS)
    others = [name for name in (part.strip() for part in given.split(",")) if name and name not in _OURS]
    return [_CATALOG, _FACTORY, *choice.conf, f"{EXTENSIONS}={','.join([*_OURS, *others])}"]


def _elsewhere(name: str) -> str:
    """What spark-defaults.conf and PYSPARK_SUBMIT_ARGS say; the command says that PySpark is missing, not this."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 slow to import
    except ImportError:
        return ""
    return already_set(SparkSession.builder, name)


def _settings(options: Mapping[str, str], enc: Typed | None) -> dict[str, str]:
    """The options that the session has, by their names in a Hadoop configuration."""
    # Checkpoints are under the session's footer key. A session may have one of its own, for example by --conf.
    footer = None if enc is None else enc.footer_key or enc.uniform_key
    own = {name: value for name, value in _named_as_declared(options).items() if name not in _OF_THE_TABLE}
    own |= {} if footer is None else {FOOTER: footer}
    return {name if name.lower().startswith(JAVA) else f"{PREFIX}{name}": value for name, value in own.items()}


def _is_a_path(table: str) -> bool:
    """Whether it is the path of a directory, and not the name of a table or Delta's name of a path."""
    return "/" in table and not table.startswith("delta.`")
