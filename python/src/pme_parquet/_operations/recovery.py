"""What is sound in a damaged table, as a new table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from pme_parquet._arguments import joined, options_of
from pme_parquet._audience import Words
from pme_parquet._display.words import number
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._operations.copies import FailedFile
from pme_parquet._operations.operation import Operation, error_of, result_of
from pme_parquet._operations.sealing import Sealed, of_target, own_options, require_seal
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

    class LostParts(DataFrame):
        """What is lost, and what came back: at run time a DataFrame that has one attribute more."""

        recovered: Recovered


_WHERE = Words("pme.recover")
_NO_TARGET = "no target was written, and the source is unchanged. Run it again; it starts from the beginning."
_UNSEALED = "the target is there as a whole, perhaps without its seal, or not at all. The source is unchanged."


@dataclass(frozen=True)
class Recovered:
    """What came back. `print(lost.recovered)` shows it in one line.

    Attributes:
        files: number of files of the target; 0 if nothing came back, and then there is no target.
        rows: number of their rows.
        rows_left_out: number of rows that the target lacks, of files whose footers open. Nobody knows how many rows
            other files had.
        rows_with_loss: number of rows of the target that have lost a value; always 0 with `lost="rows"`.
        lost_files: number of files that gave nothing.
        sealed: the version that sealed the target; None without `seal`.
    """

    files: int
    rows: int
    rows_left_out: int
    rows_with_loss: int
    lost_files: int
    sealed: Sealed | None = None

    def __str__(self) -> str:
        parts = [f"{number(self.files, 'file')}, {number(self.rows, 'row')} came back"]
        if self.rows_with_loss:
            parts.append(f"{number(self.rows_with_loss, 'row')} without some values")
        if self.rows_left_out:
            parts.append(f"{number(self.rows_left_out, 'row')} left out")
        if self.lost_files:
            parts.append(f"{number(self.lost_files, 'file')} lost")
        return "; ".join(parts)


def recover(  # noqa: PLR0913 source and target, their keys, and what counts
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    lost: Literal["rows", "cells"],
    unauthenticated: bool = False,
    like: PathLike | None = None,
    seal: bool = False,
    signing: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> LostParts:
    """Write what is sound in a damaged table as a new table, and list what is lost.

    A value comes back only if the page that holds it opens under its key, for its place in its file. So what comes back
    was written by a holder of the key, and each value is in its row. One damaged page costs the rows that it holds, in
    its column; a damaged dictionary, or a missing key, the column in a row group; a damaged footer the file, unless
    `like` names another file. Where a file has no offset index (PyArrow writes none unless asked), pages between two
    damaged ones are lost as well.

    The source does not change. Each file becomes one file in the same partition.

    Example:
        lost = pme.recover(spark, "/data/people", "/data/people-sound", enc, lost="rows")
        print(lost.recovered)               # 12 files, 99980 rows came back; 20 rows left out
        lost.show()

    There is a row for each run of rows that one column has lost, and for each lost file:

    - `file`;
    - `row_group`, `column`, `first_row`, `rows`: null for a whole file that gave nothing, or whose footer was lost.
      `first_row` counts in the row group, from 0;
    - `condition`: as of an error: `PME_NOT_AUTHENTIC` if a page does not open, `PME_DAMAGED_FILE` if its structure is
      broken, `PME_KEY_…` if a key is missing, `PME_SNAPSHOT_MISMATCH` if the table's snapshot lists the file and it is
      gone, or does not list it;
    - `message`: what is wrong, and why.

    Args:
        spark: a classic session; what runs is a Spark job over the files.
        source: the table's directory, or a file. Not a table of Delta, Iceberg or Hudi, nor one of a stream.
        target: a new or empty directory.
        enc: how to encrypt the target.
        kms: the KMS of the source; by default that of `enc`. Or the `Encryption` that the source was written with:
            columns under other keys are then lost.
        lost: `"rows"` leaves out each row that has lost a value. `"cells"` keeps it with NULL, and adds a column
            `lost_columns` with the names of the columns.
        unauthenticated: whether to take values that no tag covers: pages under AES_GCM_CTR_V1, columns without a key,
            plaintext files. Whoever can write to the storage can have written them.
        like: a sound file with the same columns in the same order, written in the same way, such as a neighbour. With
            it, files whose footers do not open come back by their pages: names and types are those of this file, which
            nothing proves. Columns with keys of their own come back if `like` names their keys as well: with key
            material in files of its own, or direct keys.
        seal: whether to seal the target at the end (`pme.seal`), if anything came back. The version says which table it
            was recovered from. If that fails, the target stays without a seal, and the error has the list as `report`.
            Seal it then with `pme.seal`.
        signing: the key to sign the seal with; only with `seal`.
        options: options for reading the source.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: something is wrong with the keys or the target, or no footer of the source opens. No target is written
            then.
    """
    if lost not in ("rows", "cells"):
        message = f"{_WHERE}: lost cannot be {lost!r}. Give 'rows', to leave out rows, or 'cells', to keep them."
        raise BadOptionError(message)
    require_seal(_WHERE, signing, seal=seal)
    writing = encryption_of(enc, _WHERE).options()
    own = enc._kms_options() if kms is None else _keys_of(kms)  # noqa: SLF001 ours
    reading = joined(own, options_of(options, _WHERE), _WHERE)
    run = Operation(spark, _WHERE, "recovery.Recovery", "recover")
    done = run.run(
        run.path(source),
        run.path(target),
        reading,
        writing,
        lost,
        bool(unauthenticated),
        None if like is None else run.path(like),
        of_target(writing) | own_options(_WHERE, signing) if seal else None,
        progress=progress,
        interrupted=_UNSEALED if seal else _NO_TARGET,
    )
    parts = cast("LostParts", run.frame(done.lost()))
    version = done.sealedAs()
    parts.recovered = result_of(Recovered, done, sealed=None if version is None else result_of(Sealed, version))
    failed = done.notSealed()
    if failed is not None:
        one = FailedFile(failed.file(), failed.condition(), failed.message())
        raise error_of(one, "sealed", "the target is written, and has no seal", parts)
    return parts


def _keys_of(kms: KmsLike) -> dict[str, str]:
    return kms.options() if isinstance(kms, Encryption) else Encryption(kms=kms)._kms_options()  # noqa: SLF001 ours
