"""`pme-parquet encrypt`, `rekey` and `decrypt`: copies of tables."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli import output
from pme_parquet._cli.checking import checked_session
from pme_parquet._cli.groups import Json, grouped
from pme_parquet._cli.options import Given, TypedKms, WriteKeys, kms_options, merged, pairs
from pme_parquet._cli.output import print_result
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._display.words import Grouped, by_cause, number, printable, size
from pme_parquet._operations import copies, migration
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._operations.copies import Copied

OPEN = "--write-plaintext"
SOURCE_OPTION = "--source-option"
Source = Annotated[str, typer.Argument(help="Directory of the table, or a file.")]
Target = Annotated[str, typer.Argument(help="A new or empty directory.")]
SourceOptions = Annotated[
    list[str] | None,
    typer.Option(
        SOURCE_OPTION,
        metavar="NAME=VALUE",
        help=(
            "An option for reading the source if it differs from that of the copy, such as its KMS or aadPrefix. "
            "Repeat it for several options."
        ),
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (encrypt, rekey, decrypt, migrate_orc):
        app.command()(command)


@grouped
def encrypt(
    source: Source,
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    target: Annotated[str | None, typer.Argument(help="A new or empty directory. Not with --in-place.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace each file of the source after its copy is verified.")
    ] = False,
    source_option: SourceOptions = None,
    as_json: Json = False,
) -> None:
    """Encrypt a plaintext table without decoding its pages.

    `pme-parquet encrypt people people-encrypted --footer-key footer --column-key pii=ssn,name --options-file kms.json`

    Exit 1 if a file of the source is damaged; no target is written then. With --in-place the other files are
    encrypted, and the same command continues an interrupted run.
    """
    if in_place == (target is not None):
        raise typer.BadParameter("give either a target or --in-place.", param_hint="TARGET")
    enc = keys.encryption(given.options())
    options = pairs(source_option or [], SOURCE_OPTION) if in_place else source_options(given, source_option)
    where = target or source
    try:
        with checked_session(spark, merged(options, given.options()), source, target=target) as running:
            copy = functools.partial(copies.encrypt, in_place=True) if in_place else copies.encrypt
            done = copy(running, source, target, enc, options=options, progress=spark.progress)
    except PmeError as failed:
        if failed.report is None:
            raise
        output.fail_partly(failed, _text(where, failed.report), _document(where, failed.report), as_json=as_json)
    print_result(_text(where, done), _document(where, done), as_json=as_json)


@grouped
def rekey(
    source: Source,
    target: Target,
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    source_option: SourceOptions = None,
    as_json: Json = False,
) -> None:
    """Copy an encrypted table with new data keys, and with other master keys or options.

    `pme-parquet rekey people people-2 --uniform-key new --options-file kms.json`

    Exit 1 if a file of the source is damaged or cannot be authenticated; no target is written then.
    """
    enc = keys.encryption(given.options())
    options = source_options(given, source_option)
    with checked_session(spark, merged(options, given.options()), source, target=target) as running:
        done = copies.rekey(running, source, target, enc, options=options, progress=spark.progress)
    print_result(_text(target, done), _document(target, done), as_json=as_json)


@grouped
def decrypt(
    source: Source,
    target: Target,
    given: Given,
    spark: SparkChoice,
    write_plaintext: Annotated[
        bool, typer.Option(OPEN, help="Required, because everybody with access to the copy can read it.")
    ] = False,
    source_option: SourceOptions = None,
    as_json: Json = False,
) -> None:
    """Copy an encrypted table to a plaintext table.

    `pme-parquet decrypt people-encrypted people-open --write-plaintext --options-file kms.json`

    Exit 1 if a file of the source is damaged or cannot be authenticated; no target is written then.
    """
    if not write_plaintext:
        raise typer.BadParameter(
            "it is required, because everybody with access to the copy can read it.", param_hint=OPEN
        )
    options = merged(given.options(), pairs(source_option or [], SOURCE_OPTION))
    with checked_session(spark, options, source, target=target) as running:
        done = copies.decrypt(running, source, target, TypedKms(options), write_plaintext=True, progress=spark.progress)
    print_result(_text(target, done), _document(target, done), as_json=as_json)


def source_options(given: Given, source: list[str] | None) -> dict[str, str]:
    """The options for the source of a copy: its KMS is that of the copy, unless options name another."""
    return merged(kms_options(given.options()), pairs(source or [], SOURCE_OPTION))


def _document(where: str, done: Copied) -> dict[str, Any]:
    return {"target": where} | asdict(done)


def _text(where: str, done: Copied) -> str:
    counts = (
        f"{number(done.files, 'file')}, {number(done.rows, 'row')}, {number(done.pages, 'page')}, {size(done.bytes)}"
    )
    already = f"; {number(done.already, 'file')} already encrypted" if done.already else ""
    failed = by_cause(Grouped(file.condition, file.file, file.message) for file in done.failed)
    return "\n".join([f"{where}: {counts}{already}", *failed])


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
                raise SystemExit(output.of_findings(refusal.condition for refusal in plan.refusals))
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
    print_result(_migrated_text(target, done), {"target": target} | asdict(done), as_json=as_json)


def _migrated_text(target: str, done: migration.Migrated) -> str:
    text = f"{target}: {number(done.files, 'file')}, {number(done.rows, 'row')}, {size(done.bytes)}"
    text += f"; {number(done.already, 'file')} of an earlier run" if done.already else ""
    return text if done.sealed is None else f"{text}\n{_shown(str(done.sealed))}"


def _shown(text: str) -> str:
    return "\n".join(map(printable, text.splitlines()))
