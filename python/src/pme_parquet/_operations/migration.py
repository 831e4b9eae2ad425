"""Migration of encrypted ORC tables, its plan, and wrapped master keys of ORC."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from pme_parquet._arguments import joined, kind, kms_options, options_of, path_of
from pme_parquet._audience import Words
from pme_parquet._display.words import number, size
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._kms.secrets import SecretReference
from pme_parquet._operations.operation import Operation, result_of
from pme_parquet._operations.sealing import Sealed, of_target, require_seal
from pme_parquet._operations.sealing import seal as seal_table
from pme_parquet._plan import Plan, Refusal, plan_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_OBJECT = "migration.OrcMigration"
_WHERE = Words("pme.migrate_orc")
_RESUMABLE = (
    "no target was written, and the source is unchanged. Run it again with the same arguments to continue: files that "
    "are done are compared with the source, and not written again."
)


@dataclass(frozen=True)
class Migrated:
    """What a migration wrote.

    Attributes:
        files: number of files: one for each file of the source with rows or columns.
        rows: number of their rows.
        bytes: their size.
        already: number of files that an interrupted run had written. This run has compared them with the source.
        sealed: the version that sealed the target; None without `seal`.
    """

    files: int
    rows: int
    bytes: int
    already: int = 0
    sealed: Sealed | None = None


@dataclass(frozen=True)
class SourceColumn:
    """A leaf column that is encrypted in the source.

    Attributes:
        column: its name, as in `column_keys`.
        keys: its ORC master keys with their versions, as `pii@0`.
    """

    column: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class MigrationPlan:
    """What a migration would do. `print(plan)` shows it.

    Attributes:
        source: the path or the table.
        target: the directory.
        files: number of files to migrate.
        empty: number of files of 0 bytes, which are left out.
        rows: number of rows, as the footers state them.
        bytes: size of the source.
        encrypted: columns that are encrypted in the source.
        bloom_filters: columns that get Bloom filters.
        refusals: why the migration would fail, the first one first.
        write: how the target would be written; None if the source cannot be migrated.
    """

    source: str
    target: str
    files: int
    empty: int
    rows: int
    bytes: int
    encrypted: tuple[SourceColumn, ...]
    bloom_filters: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    write: Plan | None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.source}: {number(self.files, 'file')}, {number(self.rows, 'row')}, {size(self.bytes)}"]
        lines += [f"column {one.column}: in the source under {', '.join(one.keys)}" for one in self.encrypted]
        if self.bloom_filters:
            lines.append(f"Bloom filters: {', '.join(self.bloom_filters)}")
        shown = self.write
        if shown is not None:
            # The last line of a plan says that no KMS was called, and the one of the source was.
            lines += str(shown).splitlines()[:-1]
        others = [one for one in self.refusals if shown is None or one not in shown.refusals]
        lines += [f"refused: {one.condition}: {one.message}" for one in others]
        return "\n".join([*lines, "Nothing was written."])


@overload
def migrate_orc(
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    bloom_filters: bool = True,
    seal: bool = False,
    signing: str | None = None,
    dry_run: Literal[False] = False,
    progress: bool | None = None,
) -> Migrated: ...


@overload
def migrate_orc(
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    bloom_filters: bool = True,
    seal: bool = False,
    signing: str | None = None,
    dry_run: Literal[True],
    progress: bool | None = None,
) -> MigrationPlan: ...


def migrate_orc(  # noqa: PLR0913 source and target, their keys, and what is asked for
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    bloom_filters: bool = True,
    seal: bool = False,
    signing: str | None = None,
    dry_run: bool = False,
    progress: bool | None = None,
) -> Migrated | MigrationPlan:
    """Move a table of encrypted ORC files to an encrypted Parquet table.

    Each file becomes one file in the same partition. Without `column_keys` or `uniform_key` in `enc`, each encrypted
    column gets a key of the name that it has in ORC. A column that is encrypted in the source is encrypted in the
    target, or nothing is written. Nothing is written either unless every encrypted column of every file opens with its
    key: a mask is never copied.

    Each new file is read again and compared with the source: the number of rows, and for each column NULLs and hashes.
    The target appears in one step when all files are done. If a run is killed or fails, run it again with the same
    arguments to continue.

    Example:
        enc = pme.Encryption(kms=vault, footer_key="footer")
        print(pme.migrate_orc(spark, "/data/people-orc", "/data/people", enc, kms=hadoop_kms, dry_run=True))
        pme.migrate_orc(spark, "/data/people-orc", "/data/people", enc, kms=hadoop_kms)

    Args:
        spark: a classic session; what runs is a Spark job over the files.
        source: the table's directory, a file, or the name of a table in the session's catalog.
        target: a new or empty directory.
        enc: how to encrypt the target.
        kms: the KMS of the source; by default that of `enc`.
        options: options for reading the source with `format("pme-orc")`: `orcMasterKeys`, `orcKeyProperty`,
            `columnKeys`, `plaintextFiles` and others. `deniedColumns`, `orcMasks` and
            `orc.force.positional.evolution` are refused.
        bloom_filters: whether columns with Bloom filters in ORC get Bloom filters.
        seal: whether to seal the target at the end (`pme.seal`). If the call stops after the target has appeared, seal
            the target with `pme.seal`: the same call would say that it is not empty.
        signing: the key to sign the seal with; only with `seal`.
        dry_run: whether to only plan, and write nothing. Footers are opened with their keys.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: something is wrong with the source, the keys or the target. No target is written then.
    """
    require_seal(_WHERE, signing, seal=seal)
    writing = encryption_of(enc, _WHERE).options()
    own = enc if kms is None else Encryption(kms=kms)
    reading = joined(own._kms_options(), options_of(options, _WHERE), _WHERE)  # noqa: SLF001 ours
    migration = Operation(spark, _WHERE, _OBJECT, "plan" if dry_run else "migrate")
    arguments = (path_of(source, _WHERE), path_of(target, _WHERE), reading, writing, bloom_filters)
    done = migration.run(*arguments, progress=progress, interrupted=_RESUMABLE)
    if dry_run:
        return _plan_of(json.loads(done.json()))
    sealed = None
    if seal:
        # A file that somebody else puts there is one too many.
        files = done.files()
        sealed = seal_table(spark, target, options=of_target(writing), signing=signing, expect=files, progress=progress)
    return result_of(Migrated, done, sealed=sealed)


def _plan_of(document: dict[str, Any]) -> MigrationPlan:
    write = document["write"]
    return MigrationPlan(
        **{
            **document,
            "encrypted": tuple(SourceColumn(one["column"], tuple(one["keys"])) for one in document["encrypted"]),
            "bloom_filters": tuple(document["bloom_filters"]),
            "refusals": tuple(Refusal(**one) for one in document["refusals"]),
            "write": None if write is None else plan_of(write),
        }
    )


def wrap_orc_key(  # noqa: PLR0913 which key, and what wraps it
    spark: SparkSession,
    kms: KmsLike | None = None,
    *,
    master_key: bytes | SecretReference,
    key: str,
    kms_key: str,
    options: Mapping[str, Any] | None = None,
) -> str:
    """Wrap an ORC master key with a key of the KMS: the value of `orcMasterKeys`, and of a Hive table's property.

    Reads with it unwrap the master key once, on the driver. The text is no secret. For a table with several master
    keys, join the texts with newlines.

    Example:
        wrapped = pme.wrap_orc_key(spark, vault, master_key=pme.env("PII"), key="pii", kms_key="orc")
        spark.sql(f"ALTER TABLE people SET TBLPROPERTIES ('orc.keys' = '{wrapped}')")

    Args:
        spark: a classic session.
        kms: the KMS; by default that of the session.
        master_key: the 16 or 32 bytes of the key, or a reference to them in Base64: `pme.env(…)`, `pme.file(…)`.
        key: its name in ORC files, with or without a version: `pii`, `pii@2`.
        kms_key: the key of the KMS that wraps it.
        options: more options of the KMS.

    Raises:
        PmeError: the KMS refuses, or the key cannot be used.
    """
    where = "pme.wrap_orc_key"
    given = joined(kms_options(kms, where), options_of(options, where), where)
    if isinstance(master_key, SecretReference):
        wrapping = Operation(spark, where, _OBJECT, "wrapReferredKey")
        return str(wrapping.call(given, str(master_key), key, kms_key))
    raw: object = master_key
    if not isinstance(raw, (bytes, bytearray)):
        message = (
            f"{where}: master_key cannot be {kind(raw)}. Give bytes, or a reference to a secret such as "
            "pme.env('NAME')."
        )
        raise BadOptionError(message)
    wrapping = Operation(spark, where, _OBJECT, "wrapKey")
    return str(wrapping.call(given, bytearray(raw), key, kms_key))
