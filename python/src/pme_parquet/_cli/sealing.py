"""`pme-parquet seal` and `snapshots`: the versions of a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pme_parquet._cli.beginning import checked_session
from pme_parquet._cli.exits import FINDING
from pme_parquet._cli.given import Given
from pme_parquet._cli.looking import print_result
from pme_parquet._cli.parsing import merged
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._cli.verifying import Path_
from pme_parquet._display.words import printable
from pme_parquet._kms.secrets import parse_reference
from pme_parquet._operations.sealing import MinMax, Sealed
from pme_parquet._operations.sealing import seal as seal_table
from pme_parquet._snapshots import snapshots as snapshots_of

Location = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Directory of the snapshots, if it is not _pme_snapshots in the table's directory."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(seal)
    app.command()(snapshots)


@grouped
def seal(
    path: Path_,
    given: Given,
    spark: SparkChoice,
    index_min_max: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="A column whose smallest and largest value are kept for each file, so that reads skip files. Repeat "
            "it for several columns. Without this option, the indexes of the version before are kept.",
        ),
    ] = None,
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
    as_json: Json = False,
) -> None:
    """Seal a table: record its files, so that reads notice added, removed and replaced files.

    `pme-parquet seal people --signing-key signer --index-min-max id --options-file kms.json`

    Exit 1 if a file or the version before is damaged or not authentic, 3 if a key is missing or refused, 4 if another
    process sealed the table at the same time.
    """
    options = given.options()
    verifying = None if verify_key is None else parse_reference(verify_key, "--verify-key")
    index = None if index_min_max is None else [MinMax(*index_min_max)]
    checked = merged(options, {} if verifying is None else {"verifyKey": str(verifying)})
    with checked_session(spark, checked, path) as running:
        sealed = seal_table(
            running,
            path,
            options=options,
            signing=signing_key,
            verify_key=verifying,
            index=index,
            location=location,
            progress=spark.progress,
        )
    print_result(_text(path, sealed), {"path": path} | asdict(sealed), as_json=as_json)


def _text(path: str, sealed: Sealed) -> str:
    return "\n".join(map(printable, f"{path}: {sealed}".splitlines()))


def snapshots(
    path: Annotated[str, typer.Argument(help="Path or URL of the table's directory.")],
    location: Location = None,
    as_json: Json = False,
) -> None:
    """List the versions of a sealed table, without any key: `pme-parquet snapshots s3://bucket/people`.

    No seal is checked; `pme-parquet verify` checks it.

    Exit 1 if a version is damaged or missing, or does not follow the one before it.
    """
    found = snapshots_of(path, location=location)
    print_result(found, found.to_dict(), as_json=as_json)
    if found.problems:
        raise SystemExit(FINDING)
