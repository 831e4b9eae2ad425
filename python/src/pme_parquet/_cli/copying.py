"""`pme-parquet encrypt`, `rekey`, `decrypt`, `migrate-orc`, `recover` and `compact`: tables that are written again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.options import kms_options, merged, pairs
from pme_parquet._cli.output import of_findings, printable_lines
from pme_parquet._display.words import Grouped, by_cause, number, size
from pme_parquet._operations import compaction, copies, migration, recovery

if TYPE_CHECKING:
    from pme_parquet._operations.copies import Copied

OPEN = "--write-plaintext"
SOURCE_OPTION = "--source-option"
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


@command(copies.encrypt)
def encrypt(call: Call, source_option: SourceOptions = None) -> Answer:
    """Encrypt a plaintext table without decoding its pages.

    `pme-parquet encrypt people people-encrypted --footer-key footer --column-key pii=ssn,name --options-file kms.json`

    Exit 1 if a file of the source is damaged; no target is written then. With --in-place the other files are
    encrypted, and the same command continues an interrupted run.
    """
    if call["in_place"] == (call["target"] is not None):
        raise typer.BadParameter("give either a target or --in-place.", param_hint="TARGET")
    own = pairs(source_option or [], SOURCE_OPTION)
    return _copied(call, own if call["in_place"] else merged(kms_options(call.options), own))


@command(copies.rekey)
def rekey(call: Call, source_option: SourceOptions = None) -> Answer:
    """Copy an encrypted table with new data keys, and with other master keys or options.

    `pme-parquet rekey people people-2 --uniform-key new --options-file kms.json`

    Exit 1 if a file of the source is damaged or cannot be authenticated; no target is written then.
    """
    return _copied(call, _source_options(call, source_option))


@command(copies.decrypt)
def decrypt(
    call: Call,
    write_plaintext: Annotated[
        bool, typer.Option(OPEN, help="Required, because everybody with access to the copy can read it.")
    ] = False,
    source_option: SourceOptions = None,
) -> Answer:
    """Copy an encrypted table to a plaintext table.

    `pme-parquet decrypt people-encrypted people-open --write-plaintext --options-file kms.json`

    Exit 1 if a file of the source is damaged or cannot be authenticated; no target is written then.
    """
    if not write_plaintext:
        raise typer.BadParameter(
            "it is required, because everybody with access to the copy can read it.", param_hint=OPEN
        )
    options = merged(call.options, pairs(source_option or [], SOURCE_OPTION))
    return _answer(call, call(checked=options, kms=options, options=None))


def _source_options(call: Call, source: list[str] | None) -> dict[str, str]:
    """The options for the source of a copy: its KMS is that of the copy, unless options name another."""
    return merged(kms_options(call.options), pairs(source or [], SOURCE_OPTION))


def _copied(call: Call, options: dict[str, str]) -> Answer:
    return _answer(call, call(checked=merged(options, call.options), options=options))


def _answer(call: Call, done: Copied) -> Answer:
    where = call["target"] or call["source"]
    counts = (
        f"{number(done.files, 'file')}, {number(done.rows, 'row')}, {number(done.pages, 'page')}, {size(done.bytes)}"
    )
    already = f"; {number(done.already, 'file')} already encrypted" if done.already else ""
    failed = by_cause(Grouped(file.condition, file.file, file.message) for file in done.failed)
    return Answer("\n".join([f"{where}: {counts}{already}", *failed]), {"target": where} | asdict(done))


@command(migration.migrate_orc)
def migrate_orc(
    call: Call,
    source: Annotated[  # noqa: ARG001 the command takes no table's name, as the function does
        str, typer.Argument(metavar="SOURCE", help="Directory of the ORC table, or a file.")
    ],
    source_option: SourceOptions = None,
) -> Answer:
    """Move a table of encrypted ORC files to encrypted Parquet.

    `pme-parquet migrate-orc people-orc people --footer-key footer --options-file kms.json`

    Without --column-key, encrypted columns keep the names of their keys. The same command continues an interrupted
    run. Exit 1 if a file of the source is damaged, or with --dry-run if it would fail; no target is written then.
    """
    options = _source_options(call, source_option)
    unsealed: dict[str, Any] = {"seal": False, "signing": None} if call["dry_run"] else {}
    done = call(checked=merged(options, call.options), options=options, **unsealed)
    if call["dry_run"]:
        return Answer(printable_lines(done), done.to_dict(), of_findings(one.condition for one in done.refusals))
    text = f"{call['target']}: {number(done.files, 'file')}, {number(done.rows, 'row')}, {size(done.bytes)}"
    text += f"; {number(done.already, 'file')} of an earlier run" if done.already else ""
    text += "" if done.sealed is None else f"\n{printable_lines(done.sealed)}"
    return Answer(text, {"target": call["target"]} | asdict(done))


@command(recovery.recover)
def recover(call: Call, source_option: SourceOptions = None) -> Answer:
    """Write what is sound in a damaged table as a new table, and list what is lost.

    `pme-parquet recover people people-sound --lost rows --footer-key footer --options-file kms.json`

    Exit 1 if something is lost, 3 if only keys are missing or refused. The target is written in both cases, unless
    nothing came back.
    """
    options = _source_options(call, source_option)
    with call.session(checked=merged(options, call.options)) as running:
        found = call.on(running, options=options)
        lost = [row.asDict() for row in found.collect()]
    groups = by_cause(Grouped(one["condition"], one["file"], one["message"], one["column"]) for one in lost)
    sealed = found.recovered.sealed
    text = "\n".join(
        [f"{call['target']}: {found.recovered}", *groups, *([] if sealed is None else [printable_lines(sealed)])]
    )
    document = {"target": call["target"]} | asdict(found.recovered) | {"lost": lost}
    return Answer(text, document, of_findings(one["condition"] for one in lost))


@command(compaction.compact)
def compact(call: Call) -> Answer:
    """Merge small files of a table, under the same keys.

    `pme-parquet compact people --options-file kms.json --dry-run`

    If it was killed, run it again, which puts the table right. Exit 1 if a file is damaged; the table is then as it
    was.
    """
    done = call()
    text = printable_lines(f"{call['path']}: {done}")
    text += "" if done.sealed is None else f"\n{printable_lines(done.sealed)}"
    return Answer(text, {"path": call["path"], "dry_run": call["dry_run"]} | asdict(done))
