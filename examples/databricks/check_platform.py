"""What docs/compatibility.md says of Databricks, checked where this runs: one table of promises.

    python examples/databricks/check_platform.py --out target/platform

On Databricks run the notebook next to this file. Elsewhere this starts a local Spark.
"""

from __future__ import annotations

import argparse
import base64
import os
import secrets
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pme_parquet as pme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

FORMAT = "pme-parquet"
CANARY = "canary-4711"
ROWS = 200
# Which mode of access a cluster has, by a setting that Databricks does not document.
ACCESS_MODE = "spark.databricks.clusterUsageTags.dataSecurityMode"


class Place(NamedTuple):
    """Where this runs, and what it uses.

    Attributes:
        path: a directory of its own, as Spark names it.
        kms: two keys, named `footer` and `pii`.
        stranger: other keys with the same names.
    """

    spark: SparkSession
    path: str
    kms: pme.Static
    stranger: pme.Static

    @property
    def table(self) -> str:
        """The table that most checks use."""
        return f"{self.path}/people"

    @property
    def enc(self) -> pme.Encryption:
        """The keys of its columns."""
        return pme.Encryption(kms=self.kms, footer_key="footer", column_keys={"pii": ["name"]})

    def people(self) -> DataFrame:
        """Some rows; each name has a canary."""
        return self.spark.range(0, ROWS, 1, 2).selectExpr("id", f"concat('{CANARY}-', id) AS name")

    def names(self, **options: str) -> list[str]:
        """The names in the table, as a read with these options returns them."""
        return [row.name for row in pme.read(self.spark, self.table, kms=self.kms, options=options).collect()]


class Result(NamedTuple):
    """What was found of one promise.

    Attributes:
        found: `yes`, `no`, or `-` if this cannot be seen here.
    """

    promise: str
    found: str
    detail: str


class NotHere(Exception):  # noqa: N818 it is no fault
    """A promise cannot be seen here."""


class Failed(Exception):  # noqa: N818 it is what a promise did
    """A promise does not hold, and this is what happened instead."""


def write_and_read(place: Place) -> str:
    """Write a table and read it."""
    pme.write(place.people(), place.table, place.enc)
    return same(place)


def same(place: Place, **options: str) -> str:
    """Fail unless a read returns what was written."""
    found = sorted(place.names(**options))
    if found != sorted(f"{CANARY}-{number}" for number in range(ROWS)):
        message = f"{len(found)} rows, which are not those that were written"
        raise Failed(message)
    return f"{len(found)} rows"


def nothing_readable(place: Place) -> str:
    """Search each file, as bytes."""
    files = place.spark.read.format("binaryFile").load(f"{place.table}/part-*").select("path", "content").collect()
    for file in files:
        if CANARY.encode() in bytes(file.content):
            message = f"a value of a protected column is readable in {file.path}"
            raise Failed(message)
        if not bytes(file.content).endswith(b"PARE"):
            message = f"{file.path} does not end like an encrypted file"
            raise Failed(message)
    return f"{len(files)} files"


def own_pipeline(place: Place) -> str:
    """Look for the reader that `auto` takes."""
    try:
        return f"reader=pages: {same(place, reader='pages')}"
    except pme.PmeError as error:
        return f"reader=spark, which is slower ({error.condition}): {same(place, reader='spark')}"


def refusal(condition: str) -> Callable[[Callable[[Place], object]], Callable[[Place], str]]:
    """Turn a function into a check that it fails with this condition."""

    def made(act: Callable[[Place], object]) -> Callable[[Place], str]:
        def check(place: Place) -> str:
            try:
                act(place)
            except pme.PmeError as error:
                if error.condition == condition:
                    return f"{condition}"
                message = f"{error.condition} instead of {condition}"
                raise Failed(message) from error
            message = f"it was not refused with {condition}"
            raise Failed(message)

        return check

    return made


@refusal("PME_NO_KEY")
def without_keys(place: Place) -> None:
    """Write without a key."""
    place.people().write.format(FORMAT).options(**place.kms.options()).save(f"{place.path}/no-key")


@refusal("PME_NOT_AUTHENTIC")
def with_other_keys(place: Place) -> None:
    """Read with other keys."""
    pme.read(place.spark, place.table, kms=place.stranger).collect()


@refusal("PME_PLAINTEXT_FILE")
def plaintext(place: Place) -> None:
    """Read files without encryption."""
    place.people().write.mode("overwrite").parquet(f"{place.path}/plain")
    pme.read(place.spark, f"{place.path}/plain", kms=place.kms).collect()


@refusal("PME_SECRET_IN_OPTION")
def secret_written_out(place: Place) -> None:
    """Write a secret where everybody sees it."""
    options = {"kms": "static", "kms.static.keys": "footer=AAECAwQFBgcICQoLDA0ODw=="}
    place.spark.read.format(FORMAT).options(**options).load(place.table).collect()


def verified(place: Place) -> str:
    """Open every module."""
    findings = pme.verify(place.spark, place.table, kms=place.kms, progress=False)
    count = findings.count()
    if count:
        message = f"{count} findings"
        raise Failed(message)
    return str(findings.opened)


def rotated(place: Place) -> str:
    """Rotate master keys, where the file system replaces files in one step."""
    try:
        done = pme.rotate(place.spark, place.table, kms=place.kms, master_keys={"pii": "pii-2"}, progress=False)
    except pme.PmeError as error:
        if error.condition != "PME_UNSUPPORTED":
            raise
        return f"refused with {error.condition}: copy such a table"
    return f"{len(done.files)} files, {same(place)}"


def copied(place: Place) -> str:
    """Encrypt a copy."""
    place.people().write.mode("overwrite").parquet(f"{place.path}/source")
    done = pme.encrypt(place.spark, f"{place.path}/source", f"{place.path}/copy", place.enc, progress=False)
    count = pme.read(place.spark, f"{place.path}/copy", kms=place.kms).count()
    if count != ROWS:
        message = f"{count} rows of {ROWS}"
        raise Failed(message)
    return f"{done.files} files"


def in_sql(place: Place) -> str:
    """Use a function in SQL, for which the session needs the extension."""
    options = ", ".join(f"'{name}', '{value}'" for name, value in place.kms.options().items())
    query = f"SELECT * FROM pme_key_usage('{place.table}', options => map({options}))"  # noqa: S608 our own names
    found = place.spark.sql(query).collect()
    return ", ".join(sorted(row.master_key for row in found))


def in_another_session(place: Place) -> str:
    """Read in a second session of the application."""
    return same(place._replace(spark=place.spark.newSession()))


def of_delta(act: Callable[[Place], str]) -> Callable[[Place], str]:
    """Turn a function into a check that is left out where there is no Delta."""

    def check(place: Place) -> str:
        try:
            place.spark.range(0).write.format("delta").mode("overwrite").save(f"{place.path}/delta")
        except Exception as error:
            raise NotHere(first_line(error)) from error
        return act(place)

    return check


@of_delta
@refusal("PME_BAD_OPTION")
def delta_with_options(place: Place) -> None:
    """Give keys to a write by Delta, which would ignore them."""
    place.people().write.format("delta").options(**place.enc.options()).save(f"{place.path}/delta-options")


@of_delta
def delta_with_factory(place: Place) -> str:
    """Let Delta write in a session that has the crypto factory and keys, and search the files, as bytes."""
    session = place.spark.newSession()
    keys = {f"pme-parquet.{name}": value for name, value in place.kms.options().items()}
    factory = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory"}
    for name, value in (keys | factory | {"pme-parquet.uniformKey": "footer"}).items():
        session.conf.set(name, value)
    own = place._replace(spark=session)
    table = f"{place.path}/delta-keys"
    # Minimum and maximum would be in the log.
    own.people().write.format("delta").option("delta.dataSkippingNumIndexedCols", "0").save(table)
    files = session.read.format("binaryFile").load(f"{table}/*.parquet").select("path", "content").collect()
    readable = [file.path for file in files if not bytes(file.content).endswith(b"PARE")]
    if readable or not files:
        message = f"{len(readable)} of {len(files)} files are plaintext: the Delta of this platform has another writer"
        raise Failed(message)
    return f"{len(files)} files, {session.read.format('delta').load(table).count()} rows"


def diagnosed(place: Place) -> str:
    """Ask the doctor."""
    found = pme.doctor(place.spark, kms=place.kms)
    problems = [f"{check.name}: {check.found}" for check in found.checks if check.status == "problem"]
    if problems:
        raise Failed("; ".join(problems))
    warnings = [check.name for check in found.checks if check.status == "warning"]
    return f"no problem; warnings: {', '.join(warnings) or 'none'}"


CHECKS: dict[str, Callable[[Place], str]] = {
    "the cluster accepts the data source: a table is written and read": write_and_read,
    "no file shows a protected value": nothing_readable,
    "the page pipeline fits this Spark, or another reader takes its place": own_pipeline,
    "the same rows by scan=v2": lambda place: same(place, scan="v2"),
    "a write without a key is refused": without_keys,
    "a read with other keys is refused": with_other_keys,
    "a plaintext file is refused": plaintext,
    "a secret as an option is refused": secret_written_out,
    "verify opens every module": verified,
    "a copy is encrypted": copied,
    "rotate replaces files, or refuses this file system": rotated,
    "the session extension is loaded: it has SQL functions": in_sql,
    "a second session reads": in_another_session,
    "the doctor finds no problem": diagnosed,
    "a write by Delta with keys as options is refused": delta_with_options,
    "Delta encrypts in a session with the crypto factory": delta_with_factory,
}


def results(place: Place) -> Iterator[Result]:
    """What is found of each promise, one after the other."""
    for promise, check in CHECKS.items():
        try:
            yield Result(promise, "yes", check(place))
        except NotHere as reason:  # noqa: PERF203 each promise fails alone
            yield Result(promise, "-", str(reason))
        except Exception as error:  # noqa: BLE001 each platform fails in its own way, which the table shows
            yield Result(promise, "no", first_line(error))


def first_line(error: Exception) -> str:
    """What happened, without a stack trace: of an error in the JVM, its first cause."""
    cause: Any = getattr(error, "java_exception", None)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = str(error) if cause is None else str(cause.toString())
    return text.splitlines()[0] if text else type(error).__name__


def platform(spark: SparkSession) -> str:
    """Where this runs."""
    runtime = os.environ.get("DATABRICKS_RUNTIME_VERSION")
    where = f"Databricks Runtime {runtime}" if runtime else "not Databricks"
    mode = spark.conf.get(ACCESS_MODE, None)
    return f"Spark {spark.version}, {where}, access mode {mode or 'unknown'}"


def run(spark: SparkSession, directory: str) -> list[Result]:
    """Check every promise in a new directory of this one.

    Args:
        spark: the session to check.
        directory: as Spark names it: a Unity Catalog volume (`/Volumes/…`), cloud storage, or a local path.
    """
    with tempfile.TemporaryDirectory() as local:
        kms, stranger = (static(Path(local, name)) for name in ("keys", "other-keys"))
        place = Place(spark, f"{directory.rstrip('/')}/pme-check-{uuid.uuid4().hex[:8]}", kms, stranger)
        return list(results(place))


def static(file: Path) -> pme.Static:
    """Return new keys in a file that only this user may read, on the driver."""
    file.touch(mode=0o600)
    made = [f"{name}={base64.b64encode(secrets.token_bytes(16)).decode()}" for name in ("footer", "pii", "pii-2")]
    file.write_text("\n".join(made))
    return pme.Static(pme.file(str(file)))


def shown(found: list[Result]) -> str:
    """Return the table as text."""
    width = max(len(one.promise) for one in found)
    return "\n".join(f"{one.found:4}{one.promise:{width}}  {one.detail}" for one in found)


def main() -> int:
    """Check a local Spark; return 1 if a promise does not hold."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 on Databricks there is a session

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("target/platform"), help="directory for all output")
    out: Path = parser.parse_args().out.resolve()
    builder: Any = SparkSession.builder
    spark = pme.configure(builder.master("local[2]").appName("platform")).getOrCreate()
    print(platform(spark))
    found = run(spark, str(out))
    print(shown(found))
    spark.stop()
    return int(any(one.found == "no" for one in found))


if __name__ == "__main__":
    sys.exit(main())
