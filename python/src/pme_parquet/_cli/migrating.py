"""`pme-parquet migrate-orc`: encrypted ORC becomes encrypted Parquet."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pme_parquet._cli import exits
from pme_parquet._cli.beginning import checked_session
from pme_parquet._cli.copying import SourceOptions, source_options
from pme_parquet._cli.given import Given, WriteKeys
from pme_parquet._cli.looking import print_result
from pme_parquet._cli.parsing import merged
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._display.words import number, printable, size
from pme_parquet._operations import migration


def add_to(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(migrate_orc)


@grouped
def migrate_orc(
    source: Annotated[str, typer.Argument(help="Directory of the ORC table, or a file.")],
    target: Annotated[str, typer.Argument(help="A new or empty directory.")],
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    source_option: SourceOptions = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would do, and write nothing.")] = False,
    bloom_filters: Annotated[
        bool, typer.Option(help="Give columns with Bloom filters in ORC Bloom filters in Parquet.")
    ] = True,
    seal: Annotated[bool, typer.Option("--seal", help="Seal the target at the end.")] = False,
    signing_key: Annotated[
        str | None, typer.Option(metavar="NAME", help="Key in the KMS that signs the seal. Only with --seal.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Move a table of encrypted ORC files to encrypted Parquet.

    `pme-parquet migrate-orc people-orc people --footer-key footer --options-file kms.json`

    Without --column-key, encrypted columns keep the names of their keys. The same command continues an interrupted
    run. Exit 1 if a file of the source is damaged, or with --dry-run if it would fail; no target is written then.
    """
    enc = keys.encryption(given.options())
    options = source_options(given, source_option)
    with checked_session(spark, merged(options, given.options()), source, target=target) as running:
        if dry_run:
            plan = migration.migrate_orc(
                running,
                source,
                target,
                enc,
                options=options,
                bloom_filters=bloom_filters,
                dry_run=True,
                progress=spark.progress,
            )
            print_result(_shown(str(plan)), plan.to_dict(), as_json=as_json)
            if plan.refusals:
                raise SystemExit(exits.of_findings(refusal.condition for refusal in plan.refusals))
            return
        done = migration.migrate_orc(
            running,
            source,
            target,
            enc,
            options=options,
            bloom_filters=bloom_filters,
            seal=seal,
            signing=signing_key,
            progress=spark.progress,
        )
    print_result(_text(target, done), {"target": target} | asdict(done), as_json=as_json)


def _text(target: str, done: migration.Migrated) -> str:
    text = f"{target}: {number(done.files, 'file')}, {number(done.rows, 'row')}, {size(done.bytes)}"
    text += f"; {number(done.already, 'file')} of an earlier run" if done.already else ""
    return text if done.sealed is None else f"{text}\n{_shown(str(done.sealed))}"


def _shown(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))
