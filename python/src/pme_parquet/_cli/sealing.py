"""`pme-parquet seal` and `snapshots`: the versions of a table."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from pme_parquet._cli.checking import checked_session
from pme_parquet._cli.groups import Json, grouped
from pme_parquet._cli.options import Given, StorageOptions, column_keys, merged, storage_options
from pme_parquet._cli.output import FINDING, print_result
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.verifying import Path_
from pme_parquet._display.words import number, printable
from pme_parquet._kms.secrets import parse_reference
from pme_parquet._operations.indexes import Bloom, MinMax, ValueList
from pme_parquet._operations.sealing import Sealed, changes_to_seal
from pme_parquet._operations.sealing import seal as seal_table
from pme_parquet._snapshots import snapshots as snapshots_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pme_parquet._operations.indexes import AnyIndex

Location = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Directory of the snapshots, if it is not _pme_snapshots in the table's directory."
    ),
]


_INDEXES = "Indexes for skipping files (without any of these options, those of the version before are kept)"


@dataclass(frozen=True)
class IndexChoice:
    """The indexes of the new version."""

    min_max: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Keep the smallest and largest value of a column for each file. Repeat it for several columns.",
            rich_help_panel=_INDEXES,
        ),
    ] = field(default_factory=list)
    bloom: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Keep a Bloom filter of a column for each file: for queries with = on columns such as ids. Repeat it "
            "for several columns.",
            rich_help_panel=_INDEXES,
        ),
    ] = field(default_factory=list)
    bloom_fpp: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="For all --bloom: the share of files without a value that are still opened for it. A smaller one "
            "makes larger filters. [default: 0.01]",
            rich_help_panel=_INDEXES,
        ),
    ] = None
    value_list: Annotated[
        list[str],
        typer.Option(
            metavar="COL",
            help="Keep all distinct values of a column for each file: for columns with few of them, such as countries. "
            "Repeat it for several columns.",
            rich_help_panel=_INDEXES,
        ),
    ] = field(default_factory=list)
    value_list_max: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For all --value-list: a file with more distinct values gets no list. [default: 64]",
            rich_help_panel=_INDEXES,
        ),
    ] = None
    index_key: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=COLUMN,…",
            help="Master key for the indexes of some columns, for example stats=city,country. Whoever may use it can "
            "skip files without being able to read the columns. By default, an index has the key of its column.",
            rich_help_panel=_INDEXES,
        ),
    ] = field(default_factory=list)

    def indexes(self) -> list[AnyIndex] | None:
        """The indexes; None to keep those of the version before."""
        if self.bloom_fpp is not None and not self.bloom:
            raise BadOptionError("--bloom-fpp: there is no --bloom. Add --bloom COL, or remove this option.")
        if self.value_list_max is not None and not self.value_list:
            message = "--value-list-max: there is no --value-list. Add --value-list COL, or remove this option."
            raise BadOptionError(message)
        found: list[AnyIndex] = []
        if self.min_max:
            found.append(MinMax(*self.min_max))
        if self.value_list:
            most = self.value_list_max
            found.append(ValueList(*self.value_list) if most is None else ValueList(*self.value_list, max=most))
        if self.bloom:
            fpp = self.bloom_fpp
            found.append(Bloom(*self.bloom) if fpp is None else Bloom(*self.bloom, fpp=fpp))
        return found or None

    def keys(self) -> dict[str, list[str]] | None:
        """The columns of each master key of indexes."""
        return column_keys(self.index_key, "--index-key") or None


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(seal)
    app.command()(snapshots)


@grouped
def seal(
    path: Path_,
    given: Given,
    spark: SparkChoice,
    indexing: IndexChoice,
    signing_key: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Key in the KMS that signs the version. Without it, the seal is an HMAC under the footer's master "
            "key, which readers can forge.",
        ),
    ] = None,
    verify_key: Annotated[
        str | None,
        typer.Option(
            metavar="REF",
            help="Reference to the public key (PEM) that the version before must be signed with, for example "
            "file:signer.pem. By default that of --signing-key.",
        ),
    ] = None,
    location: Location = None,
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="STATE",
            help="Confirms the files that were added, removed or replaced since the version before: unsealed if there "
            "is none, how many files these are, or that version. At a terminal, the command shows the files and asks.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Seal a table: record its files, so that reads notice added, removed and replaced files.

    `pme-parquet seal people --signing-key signer --min-max day --bloom id --expect unsealed --options-file kms.json`

    Exit 1 if a file or the version before is damaged or not authentic, or nobody confirms the files that changed, 3 if
    a key is missing or refused, 4 if another process sealed the table at the same time.
    """
    options = given.options()
    verifying = None if verify_key is None else parse_reference(verify_key, "--verify-key")
    index, index_keys = indexing.indexes(), indexing.keys()
    checked = merged(options, {} if verifying is None else {"verifyKey": str(verifying)})
    with checked_session(spark, checked, path) as running:
        if expect is None and sys.stdin.isatty() and sys.stderr.isatty():
            changes = changes_to_seal(
                running, path, options=options, signing=signing_key, verify_key=verifying, location=location
            )
            expect = _asked(path, changes)
        sealed = seal_table(
            running,
            path,
            options=options,
            signing=signing_key,
            verify_key=verifying,
            index=index,
            index_keys=index_keys,
            location=location,
            expect=expect,
            progress=spark.progress,
        )
    print_result(_text(path, sealed), {"path": path} | asdict(sealed), as_json=as_json)


def _asked(path: str, changes: list[str]) -> str | None:
    """What confirms these changes, if whoever sits at the terminal says yes."""
    if not changes:
        return None
    confirming, *files = changes
    lines = [f"{path}: a seal vouches for all files. Since the version before, if there is one:", *files]
    sys.stderr.write("\n".join(map(printable, lines)) + f"\nSeal {number(len(files), 'change')}? [y/N] ")
    sys.stderr.flush()
    return confirming if sys.stdin.readline().strip().lower() in {"y", "yes"} else None


def _text(path: str, sealed: Sealed) -> str:
    return "\n".join(map(printable, f"{path}: {sealed}".splitlines()))


def snapshots(
    path: Annotated[str, typer.Argument(help="Path or URL of the table's directory.")],
    location: Location = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """List the versions of a sealed table, without any key: `pme-parquet snapshots s3://bucket/people`.

    No seal is checked; `pme-parquet verify` checks it.

    Exit 1 if a version is damaged or missing, or does not follow the one before it.
    """
    found = snapshots_of(path, location=location, storage_options=storage_options(storage_option))
    print_result(found, found.to_dict(), as_json=as_json)
    if found.problems:
        raise SystemExit(FINDING)
