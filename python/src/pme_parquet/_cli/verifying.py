"""`pme-parquet verify`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import pme_parquet as pme
from pme_parquet._cli import output
from pme_parquet._cli.checking import checked_session
from pme_parquet._cli.groups import Json, grouped
from pme_parquet._cli.options import Given, StorageOptions, TypedKms, WriteKeys, storage_options
from pme_parquet._cli.output import FINDING, of_findings, of_problems, print_result
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._display.words import Grouped, by_cause, number
from pme_parquet._operations.frames import frame_to_plan
from pme_parquet._operations.verify import Sample
from pme_parquet._operations.verify import verify as verify_table
from pme_parquet._report.make import make, target_of

if TYPE_CHECKING:
    from pme_parquet._operations.verify import Opened

Path_ = Annotated[
    str, typer.Argument(metavar="PATH", help=("Directory of the table, or a file, as a path or URL for Spark."))
]


@dataclass(frozen=True)
class Part:
    """Which part of a table to verify."""

    sample_files: Annotated[float, typer.Option(min=0, max=1, help="Fraction of files to open.")] = 1.0
    sample_pages: Annotated[
        float, typer.Option(min=0, max=1, help=("Fraction of data pages to open in these files."))
    ] = 1.0
    sample_seed: Annotated[int, typer.Option(help="Random seed of the sample.")] = 0

    @property
    def sample(self) -> Sample | None:
        """The sample; None for the whole table."""
        is_all = self.sample_files == self.sample_pages == 1
        return None if is_all else Sample(self.sample_files, self.sample_pages, self.sample_seed)


@grouped
def verify(
    path: Path_,
    given: Given,
    part: Part,
    spark: SparkChoice,
    all_files: Annotated[
        bool, typer.Option("--all-files", help="Of a Delta table, open files that are not live, and change data, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Open every module of every file with the keys, and list every problem.

    `pme-parquet verify people --keystore keys.p12`

    With `-o "columnKeys=pii: name"` and `-o footerKey=footer`, columns with other keys are findings, too.

    Exit 1 if something is wrong with the files, 3 if the only problem is keys that are missing or refused.
    """
    options = given.options()
    with checked_session(spark, options, path) as running:
        found = verify_table(
            running, path, options=options, sample=part.sample, all_files=all_files, progress=spark.progress
        )
        findings = [row.asDict() for row in found.collect()]
        opened = found.opened
    document = {"path": path, "opened": asdict(opened), "findings": findings}
    print_result(_text(path, opened, findings), document, as_json=as_json)
    if findings:
        raise SystemExit(output.of_findings(finding["condition"] for finding in findings))


def _text(path: str, opened: Opened, findings: list[dict[str, Any]]) -> str:
    count = number(len(findings), "finding") if findings else "no findings"
    return "\n".join([f"{path}: {opened}; {count}", *by_cause(map(_grouped, findings))])


def _grouped(finding: dict[str, Any]) -> Grouped:
    return Grouped(finding["condition"], finding["file"], finding["message"], finding["column"])


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (verify, doctor, plan, report):
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
