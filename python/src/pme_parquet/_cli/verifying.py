"""`pme-parquet verify`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli import exits
from pme_parquet._cli.beginning import checked_session
from pme_parquet._cli.given import Given
from pme_parquet._cli.looking import print_result
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._display.causes import Grouped, by_cause
from pme_parquet._display.words import number
from pme_parquet._operations.verify import Sample
from pme_parquet._operations.verify import verify as verify_table

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


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(verify)


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
        raise SystemExit(exits.of_findings(finding["condition"] for finding in findings))


def _text(path: str, opened: Opened, findings: list[dict[str, Any]]) -> str:
    count = number(len(findings), "finding") if findings else "no findings"
    return "\n".join([f"{path}: {opened}; {count}", *by_cause(map(_grouped, findings))])


def _grouped(finding: dict[str, Any]) -> Grouped:
    return Grouped(finding["condition"], finding["file"], finding["message"], finding["column"])
