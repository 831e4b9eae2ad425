"""`pme-parquet rotate`, `key-usage` and `erase`: the master keys of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.options import kms_options, merged, pairs
from pme_parquet._cli.output import of_findings, printable_lines
from pme_parquet._display.content import Showable, Shown, Table
from pme_parquet._display.words import number, printable, size
from pme_parquet._operations import erasure, rotation, verify


@command(rotation.rotate)
def rotate(
    call: Call,
    new_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="An option of the new KMS, including kms=…, if keys move to another KMS."
        ),
    ] = None,
) -> Answer:
    """Rotate the master keys of a table without rewriting its data.

    `pme-parquet rotate people --master-key pii-2024=pii-2025 --options-file kms.json --dry-run`

    If it was interrupted, run it again to continue. Exit 1 if files failed, 3 if they failed because of the KMS.
    """
    new = pairs(new_option or [], "--new-option")
    # The options of the old KMS apply to the new one, too, unless options name another KMS for it.
    kept = {} if "kms" in {name.lower() for name in new} else kms_options(call.options)
    report = call(new_kms=merged(kept, new) if new else None)
    document = {"path": call["path"], "dry_run": report.dry_run, "counts": report.counts}
    return Answer(printable_lines(report), document | {"files": [asdict(file) for file in report.files]})


@command(erasure.erase)
def erase(
    call: Call,
    dry_run: Annotated[
        bool, typer.Option("--dry-run/--yes", help="Whether to say only what would be destroyed, or to destroy it.")
    ] = True,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="COLUMN=VALUE",
            help="The partition of the rows to erase: no file under the keys may be elsewhere. Repeat it for several.",
        ),
    ] = None,
) -> Answer:
    """Destroy master keys, so that nobody can read what they protect, and prove it.

    `pme-parquet erase orders t-acme --partition tenant=acme --options-file kms.json`

    Without --yes it says what the keys open. If it was killed, run it again. Exit 1 if rows of others are under the
    keys, or some are left.
    """
    done = call(dry_run=dry_run, partitions=pairs(partitions or [], "--partition"))
    return Answer(printable_lines(f"{call['path']}: {done}"), done.certificate, 1 if done.findings else 0)


@command(verify.key_usage)
def key_usage(call: Call) -> Answer:
    """List the master keys of a table, what they protect, and what is unreadable without them.

    `pme-parquet key-usage people --options-file kms.json`

    Exit 1 if some files could not be read, 3 if the only reason is keys that are missing or refused.
    """
    with call.session() as running:
        rows = [row.asDict() for row in call.on(running).collect()]
    problems = [problem for row in rows for problem in row["problems"]]
    return Answer(Usage(call["path"], rows), {"path": call["path"], "keys": rows}, of_findings(problems))


@dataclass(frozen=True)
class Usage(Showable):
    """The rows of `pme.key_usage` in words."""

    path: str
    rows: list[dict[str, Any]]

    @property
    def _shown(self) -> Shown:
        header = ("master key", "kind", "files", "rows", "size", "problems", "unreadable without it", "columns")
        parts = any(row["part"] for row in self.rows)
        rows = tuple(tuple(printable(cell) for cell in _cells(row, parts=parts)) for row in self.rows)
        uses = sum(row["master_key"] is not None for row in self.rows)
        return Shown(
            f"{self.path}: {number(uses, 'use')} of master keys",
            (Table((*header, *(("part",) if parts else ())), rows),) if rows else (),
        )


def _columns(row: dict[str, Any]) -> str:
    partly = (f"{column} (not in all files)" for column in row["unreadable_in_some_files"])
    return ", ".join([*row["unreadable_columns"], *partly])


def _cells(row: dict[str, Any], *, parts: bool) -> tuple[str, ...]:
    version = "" if row["version"] is None else f" version {row['version']}"
    lost = number(row["unreadable_files"], "file") if row["unreadable_files"] else _columns(row)
    return (
        f"{row['master_key'] or ''}{version}",
        row["kind"],
        f"{row['files']:,}",
        "" if row["rows"] is None else f"{row['rows']:,}",
        "" if row["bytes"] is None else size(row["bytes"]),
        ", ".join(row["problems"]),
        lost,
        ", ".join(row["columns"]),
        *((row["part"] or "",) if parts else ()),
    )
