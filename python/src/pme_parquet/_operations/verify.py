"""Verification: every module of every file of a table is opened, and what does not open is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pme_parquet._arguments import path_of
from pme_parquet._driver import frame_of, method_of, reading
from pme_parquet._inspect.words import number
from pme_parquet._progress import watched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

    class Findings(DataFrame):
        """What `verify` found, and what it opened: at run time a DataFrame that has one attribute more."""

        opened: Opened


_MOST = 20
_ONLY_LOOKED = "nothing was changed, and nothing is told of what it had looked at. Run it again, or a sample of it."


@dataclass(frozen=True)
class Sample:
    """Which part of a table `verify` looks at: the same one in every run with the same seed.

    Attributes:
        files: the fraction of files, one at least.
        pages: the fraction of data pages in them. All other modules are opened, the headers of all pages too.
        seed: another one chooses others.
    """

    files: float = 1.0
    pages: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Opened:
    """What `verify` looked at. `print(findings.opened)` says it in a line.

    Attributes:
        files: how many, with those that did not open.
        modules: how many modules' tags were compared, the signatures of readable footers among them.
        untagged_pages: pages under AES_GCM_CTR_V1. They have no tag: only their length was checked, and their checksum
            where they have one.
        bytes: how many were read.
        skipped_files: files that the sample left out.
        skipped_pages: data pages that the sample left out.
        sample: which part of the table this is; none for all of it.
        plaintext_files: files without encryption, which `plaintextFiles=allow` let pass.
        readable_columns: columns without a key, and in how many encrypted files: there was nothing to open.
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

    def __str__(self) -> str:
        parts = [f"{self.files} files, {self.modules} modules, {self.bytes} bytes opened"]
        if self.untagged_pages:
            parts.append(f"{self.untagged_pages} pages have no tag: only their lengths were checked")
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
                f"a sample (files={self.sample.files}, pages={self.sample.pages}, seed={self.sample.seed}) "
                f"left out {self.skipped_files} files and {self.skipped_pages} pages"
            )
        return "; ".join(parts)


def verify(  # noqa: PLR0913 what to look at, and with what
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    sample: Sample | None = None,
    progress: bool | None = None,
) -> Findings:
    """Open every module of every file of a table with its keys, and tell all that does not open.

    Footers or their signatures, column metadata, column and offset indexes, Bloom filters, and of each page its header
    and body. Nothing is decompressed or decoded. The work is done when this returns.

    A column that some files have encrypted and others do not is told, too: PME_PLAINTEXT_FILE with `column` and no
    `module`, once, with the first file that has it readable. `opened.readable_columns` has all readable columns of
    encrypted files, as `unlistedColumns=plaintext` leaves them.

    Example:
        findings = pme.verify(spark, path, kms=keys)
        findings.show()                     # no row: all of it opens, and files have the same columns encrypted
        print(findings.opened)              # 12 files, 3456 modules, 987654321 bytes opened

    A row for each finding:

    - `file`;
    - `row_group`: its number, or null where it is the column in all of the file;
    - `column`: null where it is the file;
    - `page`: its number among the data pages of its row group and column;
    - `module`: `footer`, `column metadata`, `column index`, `offset index`, `Bloom filter header`,
      `Bloom filter bitset`, `dictionary page header`, `dictionary page`, `data page header` or `data page`; null
      where it is all of the column, as when its key is refused;
    - `condition`: as of an error, `PME_NOT_AUTHENTIC` and so on, or the name of what storage threw;
    - `message`: what is wrong, why, and what to do.

    What a module that does not open would lead to is not told again: a file whose footer does not open is one row.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: where the master keys are, if not where the session says; or the `Encryption` that the table was written
            with, whose keys its columns must then be under.
        options: of the format, for reading. What they refuse is a finding: plaintext files without
            `plaintextFiles=allow`, AES_GCM_CTR_V1 without `algorithm=AES_GCM_CTR_V1`, another `aadPrefix`; with
            `columnKeys` or `uniformKey`, as in `enc.options()`, each column that is not under its key.
        sample: which part of the table; without one, all of it.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.

    Raises:
        PmeError: what is wrong with the arguments or the KMS, not with a file.
    """
    part = sample or Sample()
    look = method_of(spark, "Verification", "verify", "pme.verify")
    arguments = (
        path_of(path, "pme.verify"),
        reading(kms, options, "pme.verify"),
        float(part.files),
        float(part.pages),
        part.seed,
    )
    done = watched(spark, lambda: look(*arguments), name="pme.verify", progress=progress, interrupted=_ONLY_LOOKED)
    findings = cast("Findings", frame_of(spark, done.findings()))
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
    )
    return findings
