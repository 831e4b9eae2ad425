"""Verification: opens every module of every file of a table, and reports failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.tables import delta_files, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike
    from pme_parquet._operations.tables import DeltaFiles

    class Findings(DataFrame):
        """What `verify` found, and what it opened: at run time a DataFrame that has one attribute more."""

        opened: Opened


_MOST = 20
_WHERE = Words("pme.verify")
_ONLY_LOOKED = "nothing was changed, and there is no result. Run it again, or verify a sample."


@dataclass(frozen=True)
class Sample:
    """The part of a table that `verify` opens. The same seed selects the same part.

    Attributes:
        files: the fraction of files; at least one file is opened.
        pages: the fraction of data pages in them. All other modules are opened, including the headers of all pages.
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
        told(spark, where, reading, _WHERE),
        progress=progress,
        interrupted=_ONLY_LOOKED,
    )
    findings = cast("Findings", look.frame(done.findings()))
    opened = done.opened()
    findings.opened = Opened(
        files=opened.files(),
        modules=opened.modules(),
        untagged_pages=opened.untaggedPages(),
        bytes=opened.bytes(),
        skipped_files=done.skippedFiles(),
        skipped_pages=opened.skippedPages(),
        sample=sample,
        plaintext_files=done.readable().plaintextFiles(),
        readable_columns={str(name): int(files) for name, files in done.readable().columns().items()},
        tables=tuple(map(delta_files, done.tables())),
        all_files=bool(all_files),
    )
    return findings
