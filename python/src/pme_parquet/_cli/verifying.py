"""`pme-parquet verify`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli import exits
from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.given import Given
from pme_parquet._cli.looking import tell
from pme_parquet._cli.sessions import SparkChoice, session
from pme_parquet._cli.shared import Json, grouped
from pme_parquet._inspect.causes import Told, by_cause
from pme_parquet._inspect.words import number
from pme_parquet._verify import Sample
from pme_parquet._verify import verify as verify_table

if TYPE_CHECKING:
    from pme_parquet._verify import Opened

Path_ = Annotated[str, typer.Argument(metavar="PATH", help="A table's directory or a file, as Spark takes it.")]


@dataclass(frozen=True)
class Part:
    """Which part of a table is opened."""

    sample_files: Annotated[float, typer.Option(min=0, max=1, help="The fraction of files to open.")] = 1.0
    sample_pages: Annotated[float, typer.Option(min=0, max=1, help="The fraction of data pages in them.")] = 1.0
    sample_seed: Annotated[int, typer.Option(help="Another one chooses others.")] = 0

    @property
    def sample(self) -> Sample | None:
        """None for all of it."""
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
    as_json: Json = False,
) -> None:
    """Open every module of every file with the keys, and tell all that does not open.

    `pme-parquet verify people --kms keystore -o kms.keystore.path=keys.p12 -o kms.keystore.password=env:PASSWORD`

    With `-o "columnKeys=pii: name"` and `-o footerKey=footer`, columns that are not under these keys are told, too.

    Exit 1 if something is wrong with the files, 3 if all that is wrong is keys that are missing or refused.
    """
    options = given.options()
    before_spark(spark, options, path)
    with session(spark) as running:
        found = verify_table(running, path, options=options, sample=part.sample, progress=spark.progress)
        findings = [row.asDict() for row in found.collect()]
        opened = found.opened
    document = {"path": path, "opened": asdict(opened), "findings": findings}
    tell(_text(path, opened, findings), document, as_json=as_json)
    if findings:
        raise SystemExit(exits.of_findings(finding["condition"] for finding in findings))


def _text(path: str, opened: Opened, findings: list[dict[str, Any]]) -> str:
    part = opened.plaintext_files or opened.readable_columns
    told = number(len(findings), "finding") if findings else f"all {'that is encrypted' if part else 'of it'} opens"
    return "\n".join([f"{path}: {opened}; {told}", *by_cause(map(_told, findings))])


def _told(finding: dict[str, Any]) -> Told:
    return Told(finding["condition"], finding["file"], finding["message"], finding["column"])
