"""`pme-parquet doctor`, `plan` and `report`: checks before a table is written, and a report for auditors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pme_parquet as pme
from pme_parquet._cli.beginning import checked_session
from pme_parquet._cli.exits import FINDING, of_findings, of_problems
from pme_parquet._cli.given import Given, TypedKms, WriteKeys
from pme_parquet._cli.looking import print_result
from pme_parquet._cli.reaching import StorageOptions, storage_options
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._cli.verifying import Part, Path_
from pme_parquet._display.words import number
from pme_parquet._operations.plan import frame_to_plan
from pme_parquet._report.make import make
from pme_parquet._report.write import target_of


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (doctor, plan, report):
        app.command()(command)


@grouped
def doctor(
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    as_json: Json = False,
) -> None:
    """Check that everything the format needs is installed, compatible and working.

    `pme-parquet doctor --footer-key footer --options-file kms.json` also wraps and unwraps a key.

    Exit 1 if there is a problem, 3 if the only problem is a key that is missing or refused.
    """
    options = given.options()
    enc = keys.encryption(options)
    with checked_session(spark, options) as running:
        diagnosis = pme.doctor(running, enc)
    print_result(diagnosis, diagnosis.to_dict(), as_json=as_json)
    if not diagnosis.ok:
        raise SystemExit(of_problems(check.found for check in diagnosis.checks if check.status == "problem"))


@grouped
def plan(
    path: Path_,
    keys: WriteKeys,
    given: Given,
    spark: SparkChoice,
    partition_by: Annotated[
        list[str] | None, typer.Option(help="A column to partition the table by. Repeat it for several columns.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show which key each column of a Parquet table would get, without writing anything.

    `pme-parquet plan people --footer-key footer --column-key pii=ssn,address.*`

    Exit 1 if the write would fail, for example because a pattern matches no column.
    """
    options = given.options()
    enc = keys.encryption(options)
    with checked_session(spark, options, path) as running:
        planned = pme.plan(frame_to_plan(running, path), enc, partition_by=tuple(partition_by or ()))
    print_result(planned, planned.to_dict(), as_json=as_json)
    if planned.refusals:
        raise SystemExit(FINDING)


@grouped
def report(
    path: Path_,
    given: Given,
    part: Part,
    spark: SparkChoice,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    verified: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Start Spark and open every module with the keys.")
    ] = True,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Write an HTML report of what in a table is protected by which key, and what is not.

    `pme-parquet report people --out people.html --options-file kms.json`

    Exit 1 if the report has findings, 3 if all of them are keys that are missing or refused. The report is written in
    both cases.
    """
    options = given.options()
    reached = storage_options(storage_option)
    target_of(out, path)
    if verified:
        with checked_session(spark, options, path) as running:
            made = make(
                path,
                out,
                spark=running,
                kms=TypedKms(options),
                sample=part.sample,
                storage_options=reached,
                progress=spark.progress,
            )
    else:
        made = make(path, out, storage_options=reached)
    text = f"{made.page}: {number(made.findings, 'finding')}"
    print_result(text, {"page": str(made.page), "findings": made.findings}, as_json=as_json)
    if made.conditions:
        raise SystemExit(of_findings(made.conditions))
