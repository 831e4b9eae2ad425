"""`pme-parquet encrypt`, `rekey` and `decrypt`: copies of tables."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet import _copies
from pme_parquet._cli import partly
from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.given import Given, TypedKms, WriteKeys, kms_options
from pme_parquet._cli.looking import tell
from pme_parquet._cli.parsing import merged, pairs
from pme_parquet._cli.sessions import SparkChoice, session
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._inspect.causes import Told, by_cause
from pme_parquet._inspect.words import number, size
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._copies import Copied

OPEN = "--write-plaintext"
SOURCE_OPTION = "--source-option"
Source = Annotated[str, typer.Argument(help="The table's directory, or a file.")]
Target = Annotated[str, typer.Argument(help="Where there is nothing yet, or an empty directory.")]
SourceOptions = Annotated[
    list[str] | None,
    typer.Option(
        SOURCE_OPTION,
        metavar="NAME=VALUE",
        help="An option to read the source with, if it is another than for the copy: its KMS, its aadPrefix.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (encrypt, rekey, decrypt):
        app.command()(command)


@grouped
def encrypt(
    source: Source,
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    target: Annotated[str | None, typer.Argument(help="Where there is nothing yet. Not with --in-place.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace each file of the source once its copy is verified.")
    ] = False,
    source_option: SourceOptions = None,
    as_json: Json = False,
) -> None:
    """Encrypt a plaintext table, page by page, without decoding it.

    `pme-parquet encrypt people people-encrypted --footer-key footer --column-key pii=ssn,name --options-file kms.json`

    Exit 1 if a file of the source is damaged; there is then no target. With --in-place the other files are encrypted,
    and the same command goes on where it was ended.
    """
    if in_place == (target is not None):
        raise typer.BadParameter("give a target, or --in-place, and not both.", param_hint="TARGET")
    enc = keys.encryption(given.options())
    options = pairs(source_option or [], SOURCE_OPTION) if in_place else _source_options(given, source_option)
    where = target or source
    before_spark(spark, merged(options, given.options()), source, target=target)
    try:
        with session(spark) as running:
            copy = functools.partial(_copies.encrypt, in_place=True) if in_place else _copies.encrypt
            done = copy(running, source, target, enc, options=options, progress=spark.progress)
    except PmeError as failed:
        if failed.report is None:
            raise
        partly.fail(failed, _text(where, failed.report), _document(where, failed.report), as_json=as_json)
    tell(_text(where, done), _document(where, done), as_json=as_json)


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
    """Copy an encrypted table under new data keys, and the keys and modes that are given.

    `pme-parquet rekey people people-2 --uniform-key new --options-file kms.json`

    Exit 1 if a file of the source is damaged or does not open; there is then no target.
    """
    enc = keys.encryption(given.options())
    options = _source_options(given, source_option)
    before_spark(spark, merged(options, given.options()), source, target=target)
    with session(spark) as running:
        done = _copies.rekey(running, source, target, enc, options=options, progress=spark.progress)
    tell(_text(target, done), _document(target, done), as_json=as_json)


@grouped
def decrypt(
    source: Source,
    target: Target,
    given: Given,
    spark: SparkChoice,
    write_plaintext: Annotated[
        bool, typer.Option(OPEN, help="Must be said: everybody who reaches the copy can read it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy an encrypted table to one that everybody can read.

    `pme-parquet decrypt people-encrypted people-open --write-plaintext --options-file kms.json`

    Exit 1 if a file of the source is damaged or does not open; there is then no target.
    """
    if not write_plaintext:
        raise typer.BadParameter("everybody who reaches the copy could read it, so it must be said.", param_hint=OPEN)
    options = given.options()
    before_spark(spark, options, source, target=target)
    with session(spark) as running:
        done = _copies.decrypt(
            running, source, target, TypedKms(options), write_plaintext=True, progress=spark.progress
        )
    tell(_text(target, done), _document(target, done), as_json=as_json)


def _source_options(given: Given, source: list[str] | None) -> dict[str, str]:
    """The KMS of the copy is that of the source, unless something else is said."""
    return merged(kms_options(given.options()), pairs(source or [], SOURCE_OPTION))


def _document(where: str, done: Copied) -> dict[str, Any]:
    return {"target": where} | asdict(done)


def _text(where: str, done: Copied) -> str:
    told = f"{number(done.files, 'file')}, {number(done.rows, 'row')}, {number(done.pages, 'page')}, {size(done.bytes)}"
    already = f"; {number(done.already, 'file')} had been encrypted before" if done.already else ""
    failed = by_cause(Told(file.condition, file.file, file.message) for file in done.failed)
    return "\n".join([f"{where}: {told}{already}", *failed])
