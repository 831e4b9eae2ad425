"""`pme-parquet verify`, `doctor`, `plan` and `report`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pme_parquet import _doctor
from pme_parquet import _report as reports
from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.output import FINDING, of_findings, of_problems
from pme_parquet._display.words import Grouped, by_cause, number
from pme_parquet._operations import frames
from pme_parquet._operations import verify as verification
from pme_parquet._report.make import make, target_of


@command(verification.verify)
def verify(call: Call) -> Answer:
    """Open every module of every file with the keys, and list every problem.

    `pme-parquet verify people --keystore keys.p12`

    With `-o "columnKeys=pii: name"` and `-o footerKey=footer`, columns with other keys are findings, too.

    Exit 1 if something is wrong with the files, 3 if the only problem is keys that are missing or refused.
    """
    with call.session() as running:
        found = call.on(running)
        findings = [row.asDict() for row in found.collect()]
    count = number(len(findings), "finding") if findings else "no findings"
    text = "\n".join([f"{call['path']}: {found.opened}; {count}", *by_cause(map(_grouped, findings))])
    document = {"path": call["path"], "opened": asdict(found.opened), "findings": findings}
    return Answer(text, document, of_findings(finding["condition"] for finding in findings))


def _grouped(finding: dict[str, Any]) -> Grouped:
    return Grouped(finding["condition"], finding["file"], finding["message"], finding["column"])


@command(_doctor.doctor)
def doctor(call: Call) -> Answer:
    """Check that everything the format needs is installed, compatible and working.

    `pme-parquet doctor --footer-key footer --options-file kms.json` also wraps and unwraps a key.

    Exit 1 if there is a problem, 3 if the only problem is a key that is missing or refused.
    """
    diagnosis = call(options=None)
    problems = [check.found for check in diagnosis.checks if check.status == "problem"]
    return Answer(diagnosis, diagnosis.to_dict(), 0 if diagnosis.ok else of_problems(problems))


@command(frames.plan_of_table)
def plan(call: Call) -> Answer:
    """Show which key each column of a Parquet table would get, without writing anything.

    `pme-parquet plan people --footer-key footer --column-key pii=ssn,address.*`

    Exit 1 if the write would fail, for example because a pattern matches no column.
    """
    planned = call()
    return Answer(planned, planned.to_dict(), FINDING if planned.refusals else 0)


@command(reports.report, spark=True)
def report(
    call: Call,
    verified: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Start Spark and open every module with the keys.")
    ] = True,
) -> Answer:
    """Write an HTML report of what in a table is protected by which key, and what is not.

    `pme-parquet report people --out people.html --options-file kms.json`

    Exit 1 if the report has findings, 3 if all of them are keys that are missing or refused. The report is written in
    both cases.
    """
    path, out, reached = (call[name] for name in ("path", "out", "storage_options"))
    kms = call.options
    target_of(out, path)
    if verified:
        with call.session() as running:
            keyed = {"kms": kms, "sample": call["sample"], "progress": not call.choice.quiet}
            made = make(path, out, spark=running, storage_options=reached, **keyed)
    else:
        made = make(path, out, storage_options=reached)
    text = f"{made.page}: {number(made.findings, 'finding')}"
    return Answer(text, {"page": str(made.page), "findings": made.findings}, of_findings(made.conditions))
