"""What keys show of a table: whether every module opens, and what each master key protects.

Of a Delta table only live files count. The session's Delta says which these are, or else `deltalake`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet._operations.operation import Operation, result_of
from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

    class Findings(DataFrame):
        """What `verify` found, and what it opened: at run time a DataFrame that has one attribute more."""

        opened: Opened


_MOST = 20
_WHERE = Words("pme.verify")
_ONLY_LOOKED = "nothing was changed, and there is no result. Run it again, or verify a sample."
_KEY_USAGE = Words("pme.key_usage")
_USAGE_UNCHANGED = "nothing was changed."


@dataclass(frozen=True)
class Sample:
    """The part of a table that `verify` opens. The same seed selects the same part.

    Attributes:
        files: the fraction of files; at least one file is opened.
        pages: the fraction of data pages in these files. All other modules are opened, including the headers of all
            pages.
        seed: random seed.
    """

    files: float = 1.0
    pages: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Opened:
    """What `verify` opened. `print(findings.opened)` shows it in one line.

    Attributes:
        files: number of files, including those that could not be opened.
        modules: number of modules whose tags were checked, including signatures of readable footers.
        untagged_pages: number of pages under AES_GCM_CTR_V1. They have no tag, so only their length was checked, and
            their checksum if they have one.
        bytes: number of bytes read.
        skipped_files: number of files that the sample left out.
        skipped_pages: number of data pages that the sample left out.
        sample: the sample; None for the whole table.
        plaintext_files: number of files without encryption, accepted with `plaintextFiles=allow`.
        readable_columns: columns without a key, with the number of encrypted files in which they are readable.
        tables: the Delta tables, with the files of them that were not opened.
        all_files: whether files of Delta tables that are not live, and change data, were opened, too.
        policies: the policies that the keys of Parquet files must follow: a file that does not is a finding.
    """

    files: int
    modules: int
    untagged_pages: int
    bytes: int
    skipped_files: int
    skipped_pages: int
    sample: Sample | None
    plaintext_files: int = 0
    readable_columns: dict[str, int] = field(default_factory=dict)
    tables: tuple[DeltaFiles, ...] = ()
    all_files: bool = False
    policies: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.files} files, {self.modules} modules, {self.bytes} bytes opened"]
        if self.untagged_pages:
            parts.append(f"{self.untagged_pages} pages have no authentication tag: only their lengths were checked")
        if self.plaintext_files:
            parts.append(f"{number(self.plaintext_files, 'file')} not encrypted")
        if self.readable_columns:
            shown = [f"{name} ({number(files, 'file')})" for name, files in self.readable_columns.items()][:_MOST]
            more = len(self.readable_columns) - len(shown)
            parts.append(
                f"not encrypted in encrypted files: {', '.join(shown)}{f' and {more} more' if more > 0 else ''}"
            )
        if self.sample:
            parts.append(
                f"the sample (files={self.sample.files}, pages={self.sample.pages}, seed={self.sample.seed}) left out "
                f"{self.skipped_files} files and {self.skipped_pages} pages"
            )
        parts += [f"compared with {policy}" for policy in self.policies]
        parts += map(str, self.tables)
        others = sum(table.not_live + table.change_data for table in self.tables)
        if others and not self.all_files:
            parts.append(f"{number(others, 'file')} not live or of change data: not opened (all_files opens them)")
        return "; ".join(parts)


def verify(  # noqa: PLR0913 what to verify, and with what
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    all_files: bool = False,
    progress: bool | None = None,
) -> Findings:
    """Open every module of every file of a table with its keys, and list every problem.

    Modules are footers or their signatures, column metadata, column and offset indexes, Bloom filters, and the header
    and body of each page. Nothing is decompressed or decoded. The work is complete when this function returns.

    A column that is encrypted in some files only is a finding, too: PME_PLAINTEXT_FILE with `column` and without
    `module`, once, with the first file in which it is readable. `opened.readable_columns` has all readable columns of
    encrypted files, for example with `unlistedColumns=plaintext`.

    Example:
        findings = pme.verify(spark, path, kms=keys)
        findings.show()                     # no rows: no problems
        print(findings.opened)              # 12 files, 3456 modules, 987654321 bytes opened

    Of a Delta table it opens the live files and the checkpoints. The session's Delta says which files are live; in a
    session without Delta, the package `deltalake` does (`pip install deltalake`). A live file that is
    missing, or as long as the log does not say, is PME_DAMAGED_FILE. `opened.tables` counts the other files.

    There is a row for each finding:

    - `file`;
    - `row_group`: its number, or null for a column in the whole file;
    - `column`: null for the file;
    - `page`: its number among the data pages of the row group and column;
    - `module`: `footer`, `column metadata`, `column index`, `offset index`, `Bloom filter header`,
      `Bloom filter bitset`, `dictionary page header`, `dictionary page`, `data page header` or `data page`; null
      for the whole column, for example when its key is refused;
    - `condition`: as of an error, such as `PME_NOT_AUTHENTIC`, or the name of the storage's exception;
    - `message`: what is wrong, why, and what to do.

    A module that cannot be opened is one row: what depends on it is not reported again.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: the KMS of the master keys; by default that of the session. Or the `Encryption` that the table was written
            with, whose keys its columns must then have.
        options: options for reading. What they refuse is a finding: plaintext files without `plaintextFiles=allow`,
            AES_GCM_CTR_V1 without `algorithm=AES_GCM_CTR_V1`, another `aadPrefix`; with `columnKeys` or `uniformKey`,
            as in `enc.options()`, each column with another key.
        sample: the part of the table to verify; by default all of it.
        all_files: whether to open files of a Delta table that are not live, and its change data, too.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        UnsupportedError: which files are part of the table is not known: it is an Iceberg or Hudi table, or a Delta
            table that neither the session's Delta nor `deltalake` can read.
        PmeError: something is wrong with the arguments or the KMS. Problems of files are findings.
    """
    part = sample or Sample()
    look = Operation(spark, _WHERE, "Verification", "verify")
    where, reading = look.path(path), look.reading(kms, options)
    done = look.run(
        where,
        reading,
        float(part.files),
        float(part.pages),
        part.seed,
        bool(all_files),
        live_files(spark, where, reading, _WHERE),
        progress=progress,
        interrupted=_ONLY_LOOKED,
    )
    findings = cast("Findings", look.frame(done.findings()))
    opened = done.opened()
    findings.opened = result_of(
        Opened,
        opened,
        skipped_files=done.skippedFiles(),
        sample=sample,
        plaintext_files=done.readable().plaintextFiles(),
        readable_columns={str(name): int(files) for name, files in done.readable().columns().items()},
        tables=tuple(map(delta_files, done.tables())),
        all_files=bool(all_files),
        policies=tuple(map(str, done.policies())),
    )
    return findings


@dataclass(frozen=True)
class DeltaFiles:
    """The files of a Delta table.

    Attributes:
        table: its directory.
        version: the version of its log.
        live_by: who says which files are live: `the session's Delta` or `deltalake`.
        live: number of live files; of a partition, if only that was looked at.
        missing: number of live files that are not there.
        elsewhere: number of live files outside of the table's directory, as a clone has them.
        not_live: number of files below the table that are not live, such as files of older versions.
        change_data: number of files of the change data feed.
        checkpoints: number of Parquet files of its checkpoints.
        deletion_vectors: number of files of deletion vectors, which have no encryption and are not looked at.
    """

    table: str
    version: int
    live_by: str
    live: int
    missing: int
    elsewhere: int
    not_live: int
    change_data: int
    checkpoints: int
    deletion_vectors: int

    def __str__(self) -> str:
        parts = [number(self.live, "live file")]
        parts += [f"{self.missing:,} of them missing"] if self.missing else []
        parts += [f"{self.elsewhere:,} of them elsewhere"] if self.elsewhere else []
        parts += [f"{number(self.not_live, 'file')} not live"] if self.not_live else []
        parts += [f"{number(self.change_data, 'file')} of change data"] if self.change_data else []
        parts += [number(self.checkpoints, "checkpoint file")] if self.checkpoints else []
        if self.deletion_vectors:
            parts.append(f"{number(self.deletion_vectors, 'deletion vector file')} (not encrypted, not looked at)")
        return f"Delta table, version {self.version:,} (by {self.live_by}): {', '.join(parts)}"


def delta_files(seen: Any) -> DeltaFiles:  # noqa: ANN401 py4j is untyped
    """The connector's object as ours."""
    named = {"live_by": seen.by(), "change_data": seen.changes(), "deletion_vectors": seen.vectors()}
    return result_of(DeltaFiles, seen, **named)


def live_files(spark: SparkSession, path: str, options: Mapping[str, str], where: str) -> Any:  # noqa: ANN401 as above
    """What `deltalake` says of the Delta table at a path, if the session has no Delta; otherwise None.

    The connector refuses a Delta table if nobody knows its live files.

    Raises:
        UnsupportedError: `deltalake` cannot tell, either.
        PmeError: the storage cannot be read from Python.
    """
    table = Operation(spark, where, "LiveFiles", "undecided").call(path, dict(options))
    if table is None:
        return None
    from pme_parquet._access import access  # noqa: PLC0415 only for such tables
    from pme_parquet._delta_log import live  # noqa: PLC0415 as above

    if not live.is_installed():
        return None
    found = live.from_storage(table, access(table, None, spark, where))
    if found.version is None:
        raise not_known(where, table, found.problem)
    lengths = found.lengths
    tell = Operation(spark, where, "LiveFiles", "reported")
    return tell.call(table, found.version, found.by, list(lengths), list(lengths.values()))


def not_known(where: str, table: str, why: str) -> UnsupportedError:
    """Nobody can tell which files of a table are live."""
    return UnsupportedError(
        f"{where}: {table} is a Delta table, and which of its files are live is not known: {why}. Use a session with "
        "Delta that can read the table."
    )


def key_usage(
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> DataFrame:
    """List the master keys of a table, what each protects, and what would be unreadable without it.

    Example:
        pme.key_usage(spark, path, kms=keys).show()

    There is a row for each master key, version (if the KMS stores it in wrapped keys, as Vault does), kind and
    wrapping. `columns`, `bytes` and `rows` are what the key protects. `unreadable_files` and `unreadable_columns` are
    what nobody could read without it; without the key of a footer, that is the whole file. `unreadable_in_some_files`
    lists columns that are in plaintext in other files. `bytes` is the size of column chunks, or null if a key that
    would show it is missing; `problems` lists the conditions. `data_key_bits` and `kek_bits` are lengths of data keys
    and key-encryption keys, if the length of the wrapped key shows them.

    Rows without a key come first: `plaintext column` for readable columns of encrypted files, with the number of these
    files, and `plaintext` for files that are not encrypted.

    `part` is null, except in Delta tables: `live`, `not live` (files of older versions and others that the newest
    version does not have), `change data` or `checkpoint`. A master key is needed as long as any part has it. The
    session's Delta says which files are live; in a session without Delta, the package `deltalake` does.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: the KMS of the master keys; by default that of the session. Without one, the result has only what is
            visible without keys.
        options: options for reading: `aadPrefix` for files that do not contain it.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        UnsupportedError: which files are part of the table is not known, as for `pme.verify`.
    """
    usage = Operation(spark, _KEY_USAGE, "KeyUsage", "of")
    where, reading = usage.path(path), usage.reading(kms, options)
    found = live_files(spark, where, reading, _KEY_USAGE)
    jdf = usage.run(where, reading, found, progress=progress, interrupted=_USAGE_UNCHANGED)
    return usage.frame(jdf)
