"""`pme-parquet rotate` and `key-usage`: the master keys of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli import output
from pme_parquet._cli.checking import checked_session
from pme_parquet._cli.groups import Json, grouped
from pme_parquet._cli.options import Given, TypedKms, kms_options, master_keys, merged, pairs
from pme_parquet._cli.output import print_result
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.verifying import Path_
from pme_parquet._display.content import Showable, Shown, Table
from pme_parquet._display.words import number, printable, size
from pme_parquet._operations.rotation import rotate as rotate_table
from pme_parquet._operations.verify import key_usage as usage_of
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._operations.rotation import RotationReport


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(rotate)
    app.command("key-usage")(key_usage)


@grouped
def rotate(
    path: Path_,
    given: Given,
    spark: SparkChoice,
    master_key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help="New master key for an old one. Keys under other master keys stay unchanged. Use a JSON object if "
            "names contain =. Without this option, each key is wrapped with the newest version of its own master key.",
        ),
    ] = None,
    new_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help=("An option of the new KMS, including kms=…, if keys move to another KMS.")
        ),
    ] = None,
    key_material: Annotated[
        str | None, typer.Option(help="Move key material: internal (into files) or external (beside them).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every file, but write nothing.")] = False,
    allow_unused: Annotated[
        bool, typer.Option("--allow-unused", help="Do not fail if no key of the table uses one of the OLD names.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Rotate the master keys of a table without rewriting its data.

    `pme-parquet rotate people --master-key pii-2024=pii-2025 --options-file kms.json --dry-run`

    If it was interrupted, run it again to continue. Exit 1 if files failed, 3 if they failed because of the KMS.
    """
    options = given.options()
    replaced = master_keys(master_key or [])
    new = pairs(new_option or [], "--new-option")
    new_kms = TypedKms(merged(_kept(options, new), new)) if new else None
    try:
        with checked_session(spark, options, path) as running:
            report = rotate_table(
                running,
                path,
                new_kms=new_kms,
                master_keys=replaced,
                key_material=key_material,  # type: ignore[arg-type] # the connector says what it may be
                dry_run=dry_run,
                allow_unused=allow_unused,
                options=options,
                progress=spark.progress,
            )
    except PmeError as failed:
        if failed.report is None:
            raise
        output.fail_partly(failed, _printable(failed.report), _document(path, failed.report), as_json=as_json)
    print_result(_printable(report), _document(path, report), as_json=as_json)


def _kept(options: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """The options of the old KMS, which also apply to the new one unless options name another KMS for it."""
    return {} if "kms" in {name.lower() for name in new} else kms_options(options)


def _document(path: str, report: RotationReport) -> dict[str, Any]:
    files = [asdict(file) for file in report.files]
    return {"path": path, "dry_run": report.dry_run, "counts": report.counts, "files": files}


def _printable(report: RotationReport) -> str:
    return "\n".join(printable(line) for line in str(report).splitlines())


@grouped
def key_usage(
    path: Path_,
    given: Given,
    spark: SparkChoice,
    as_json: Json = False,
) -> None:
    """List the master keys of a table, what they protect, and what is unreadable without them.

    `pme-parquet key-usage people --options-file kms.json`

    Exit 1 if some files could not be read, 3 if the only reason is keys that are missing or refused.
    """
    options = given.options()
    with checked_session(spark, options, path) as running:
        rows = [row.asDict() for row in usage_of(running, path, options=options, progress=spark.progress).collect()]
    print_result(Usage(path, rows), {"path": path, "keys": rows}, as_json=as_json)
    if problems := [problem for row in rows for problem in row["problems"]]:
        raise SystemExit(output.of_findings(problems))


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
