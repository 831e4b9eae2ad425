"""Runs cases: each round starts a new process per variant, in an order that moves on from round to round."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

from bench.process import WorkerFailedError, run_job

if TYPE_CHECKING:
    from bench.cases import Case, Query
    from bench.job import Job, Repetition, Result, Sink, Step, StepResult
    from bench.place import Place
    from bench.tables import Table
    from bench.variants import Variant

METRICS: tuple[Literal["wall", "cpu", "read", "allocated"], ...] = ("wall", "cpu", "read", "allocated")


class Effort(NamedTuple):
    """The number of rounds with new processes, of repetitions in each, and of the last ones that count as warm."""

    rounds: int
    long: int
    short: int
    keep: int


class Sample(NamedTuple):
    """One measurement: a variant's query in one round, cold or warm."""

    case: str
    query: str
    temperature: str
    variant: str
    round: int
    values: dict[str, float]


class Findings(NamedTuple):
    """The results of a case's rounds. A difference in rows, or a failure, fails the run."""

    samples: list[Sample]
    cannot: dict[str, str]
    wrong: list[str]
    versions: dict[str, str]


def run_case(place: Place, case: Case, variants: list[Variant], tables: dict[str, Table], effort: Effort) -> Findings:
    """Measure a case with every variant in every round."""
    found = Findings([], {}, [], {})
    answers: dict[str, dict[str, object]] = {}
    for number in range(effort.rounds):
        turned = variants[number % len(variants) :] + variants[: number % len(variants)]
        for variant in (variant for variant in turned if variant.name not in found.cannot):
            warm_page_cache(place, case, variant)
            try:
                result = run_job(job_of(place, case, variant, tables, effort, check=number == 0))
            except WorkerFailedError as error:
                found.wrong.append(f"{case.name}: {variant.name} failed: {error}")
                found.cannot[variant.name] = "failed"
                continue
            found.versions.update(result["versions"])
            if result["cannot"] is not None:
                found.cannot[variant.name] = result["cannot"]
                continue
            new = samples_of(case, variant, number, result, effort)
            found.samples.extend(new)
            for step in result["steps"]:
                remember(answers.setdefault(step["name"], {}), f"{variant.name}, round {number + 1}", step)
            place.say(f"  {case.name} {number + 1}/{effort.rounds}  {variant.name:12} {in_words(new)}")
    for query, given in answers.items():
        found.wrong.extend(differences(case.name, query, given))
    return found


def job_of(  # noqa: PLR0913  a job has all of them
    place: Place, case: Case, variant: Variant, tables: dict[str, Table], effort: Effort, *, check: bool
) -> Job:
    """Return the job of one process."""
    repetitions = effort.long if case.long else effort.short
    steps = [step_of(place, variant, query, tables, repetitions, check=check) for query in case.queries]
    return {"engine": variant.engine, "settings": place.settings(variant), "steps": steps}


def step_of(  # noqa: PLR0913  a step has all of them
    place: Place, variant: Variant, query: Query, tables: dict[str, Table], repetitions: int, *, check: bool
) -> Step:
    """Return one query as a step. A write reads the plaintext source, in every variant."""
    views = {name: place.view(variant, table, query.columns) for name, table in query.views}
    sink: Sink = {"kind": query.sink}
    if query.sink == "write":
        views = {name: place.sources[name] for name, _ in query.views}
        path = str(place.out / "scratch" / f"written-{variant.name}")
        options = variant.write_options(tables[query.views[0][1]].encrypted)
        sink["write"] = {"format": variant.format, "options": options, "path": path}
        sink["read"] = {"format": variant.format, "options": dict(variant.read), "path": path}
    return {
        "name": query.name,
        "views": views,
        "sql": query.sql,
        "sink": sink,
        "repetitions": repetitions,
        "check": check and query.sink != "collect",
    }


def warm_page_cache(place: Place, case: Case, variant: Variant) -> None:
    """Read every file once, so that no variant pays for the disk."""
    for table in case.tables():
        for file in (place.data / variant.copy / table).glob("*.parquet"):
            file.read_bytes()


def samples_of(case: Case, variant: Variant, number: int, result: Result, effort: Effort) -> list[Sample]:
    """Return the first repetition as cold, and the median of the last as warm."""
    samples = []
    for step in result["steps"]:
        repetitions = step["repetitions"]
        values = {"cold": mid(repetitions[:1]), "warm": mid(repetitions[-effort.keep :])}
        samples += [
            Sample(case.name, step["name"], kind, variant.name, number, values[kind] | {"peak": float(step["peak"])})
            for kind in case.temperatures
        ]
    return samples


def mid(repetitions: list[Repetition]) -> dict[str, float]:
    """Return the median of each metric."""
    return {metric: median(one[metric] for one in repetitions) for metric in METRICS}


def remember(answers: dict[str, object], who: str, step: StepResult) -> None:
    """Keep the answer of a step: its rows themselves, or their number and hash."""
    if step["answer"] is not None:
        answers[who] = step["answer"]
    elif step["rows"] is not None:
        answers[who] = step["rows"]


def differences(case: str, query: str, given: dict[str, object]) -> list[str]:
    """Return the differences to the first answer; an outsider has no hash, only a number of rows."""
    wrong = []
    (first, expected), *others = given.items()
    for who, answer in others:
        if not same(expected, answer):
            wrong.append(f"{case} {query}: {who} gave {answer}, but {first} gave {expected}")
    return wrong


def same(expected: object, answer: object) -> bool:
    """Compare answers as far as both contain the same fields."""
    if isinstance(expected, dict) and isinstance(answer, dict) and None in {expected["hash"], answer["hash"]}:
        return bool(expected["count"] == answer["count"])
    return expected == answer


def in_words(samples: list[Sample]) -> str:
    """Return the times of a process in words."""
    if len(samples) > 2:  # noqa: PLR2004  a sweep: one number for all
        return f"{sum(sample.values['wall'] for sample in samples):.2f} s for {len(samples)} queries"
    return ", ".join(f"{one.temperature} {one.values['wall']:.2f} s" for one in samples)
