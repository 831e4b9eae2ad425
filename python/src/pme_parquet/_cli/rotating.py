"""`pme-parquet rotate` and `key-usage`: the master keys of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli import exits, partly
from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.given import Given, TypedKms, kms_options
from pme_parquet._cli.looking import tell
from pme_parquet._cli.parsing import master_keys, merged, pairs
from pme_parquet._cli.sessions import SparkChoice, session
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._cli.verifying import Path_
from pme_parquet._inspect.words import number, printable, size
from pme_parquet._rotation import key_usage as usage_of
from pme_parquet._rotation import rotate as rotate_table
from pme_parquet._showable import Showable
from pme_parquet._shown import Shown, Table
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._rotation import RotationReport


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
            help="The new master key of an old one. Keys under others are left. A JSON object where names have =. "
            "Without it each goes under the newest version of its own.",
        ),
    ] = None,
    new_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the KMS that keys go to, if it is another; kms=… too."),
    ] = None,
    key_material: Annotated[
        str | None, typer.Option(help="internal or external: where key material is to stand, if not where it does.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look at every file, and write nothing.")] = False,
    allow_unused: Annotated[
        bool, typer.Option("--allow-unused", help="Do not fail if no key of the table is under one of the OLD names.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Wrap the keys of a table anew, and leave its data alone.

    `pme-parquet rotate people --master-key pii-2024=pii-2025 --options-file kms.json --dry-run`

    If it was ended, run it again: it goes on. Exit 1 if files failed, 3 if it was the KMS that failed them.
    """
    options = given.options()
    replaced = master_keys(master_key or [])
    new = pairs(new_option or [], "--new-option")
    new_kms = TypedKms(merged(_kept(options, new), new)) if new else None
    before_spark(spark, options, path)
    try:
        with session(spark) as running:
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
        partly.fail(failed, _printable(failed.report), _document(path, failed.report), as_json=as_json)
    tell(_printable(report), _document(path, report), as_json=as_json)


def _kept(options: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Of the KMS that keys are in, what holds for the new one too: if it is of the same kind."""
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
    """Tell which master keys protect what, and what nobody could read without them.

    `pme-parquet key-usage people --options-file kms.json`

    Exit 1 if of some files it cannot be told; 3 if that is for keys that are missing or refused, and nothing else.
    """
    options = given.options()
    before_spark(spark, options, path)
    with session(spark) as running:
        rows = [row.asDict() for row in usage_of(running, path, options=options, progress=spark.progress).collect()]
    tell(Usage(path, rows), {"path": path, "keys": rows}, as_json=as_json)
    if problems := [problem for row in rows for problem in row["problems"]]:
        raise SystemExit(exits.of_findings(problems))


@dataclass(frozen=True)
class Usage(Showable):
    """The rows of `pme.key_usage` in words."""

    path: str
    rows: list[dict[str, Any]]

    @property
    def _shown(self) -> Shown:
        header = ("master key", "kind", "files", "rows", "size", "problems", "unreadable without it", "columns")
        told = tuple(tuple(printable(cell) for cell in _cells(row)) for row in self.rows)
        uses = sum(row["master_key"] is not None for row in self.rows)
        return Shown(f"{self.path}: {number(uses, 'use')} of master keys", (Table(header, told),) if told else ())


def _columns(row: dict[str, Any]) -> str:
    partly = (f"{column} (not in all files)" for column in row["unreadable_in_some_files"])
    return ", ".join([*row["unreadable_columns"], *partly])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
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
    )
