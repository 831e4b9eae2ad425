"""Rotation and key usage as table functions: only a query that runs does anything, once and completely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import udtf

import pme_parquet as pme
from tests.rotation import extension_job
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, save, untouched
from tests.support.frames import people
from tests.support.processes import result_of
from tests.support.session import PASSWORD
from tests.support.sql import call, literal
from tests.support.tables import NEW, OLD, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.rotation.conftest import Made

EXPLAINED = ["", "FORMATTED", "COST", "EXTENDED"]
# Each asks Spark for the function's rows in several places, or several times.
TWICE = {
    "collected twice": lambda report: (report.collect(), report.collect()),
    "counted, then shown": lambda report: (report.count(), report.show()),
    "sorted by ranges": lambda report: report.orderBy("file").collect(),
    "joined with itself": lambda report: report.alias("a").join(report.alias("b"), "file").collect(),
    "united with itself": lambda report: report.union(report).repartition("status").collect(),
    "cached": lambda report: (report.cache().count(), report.collect(), report.unpersist(blocking=True)),
}


def rotation(table: Made, **arguments: Any) -> str:
    """Return a call that rotates the table, by default from ``OLD`` to ``NEW`` master keys."""
    return call("pme_rotate", table.path, **({"master_keys": NEW, "options": table.kms.options()} | arguments))


@pytest.fixture
def view(spark: SparkSession) -> Iterator[str]:
    name = "rotation_report"
    yield name
    spark.catalog.dropTempView(name)


@pytest.fixture
def functions(spark: SparkSession, tmp_path: Path) -> None:
    """Let the session use the format once."""
    spark.read.format("pme-parquet").schema("a int").load(str(tmp_path))


@pytest.mark.parametrize("material", ["internal", "external"])
def test_all_keys_are_wrapped_with_new_master_keys(
    spark: SparkSession, made: Callable[..., Made], material: str
) -> None:
    table = made("country", key_material=material)

    rows = spark.sql(f"SELECT * FROM {rotation(table)}").collect()

    assert {(row.status, *row.master_keys) for row in rows} == {("rotated", *sorted(NEW.values()))}
    assert {row.file.rpartition("/")[2] for row in rows} == {path.name for path in data_files(table.path)}
    assert tables.pages(table.path) == table.pages
    assert tables.found(table.path, table.wrapped) == []
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_the_rows_are_those_of_rotate(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    report = pme.rotate(spark, table.path, kms=table.kms, master_keys={"pii": "pii-2"}, dry_run=True)
    rows = spark.sql(f"SELECT * FROM {rotation(table, master_keys={'pii': 'pii-2'}, dry_run=True)}").collect()
    assert [pme.RotatedFile(**row.asDict()) for row in rows] == report.files


def test_a_dry_run_changes_nothing(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    with untouched(table.path):
        rows = spark.sql(f"SELECT * FROM {rotation(table, dry_run=True)}").collect()
    assert {row.status for row in rows} == {"rotated"}
    assert table.client.count("wrap") == {}


def test_keys_and_key_material_move(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    other = pme.PythonKms(Remembering(realm="elsewhere"))
    moved = call(
        "pme_rotate", table.path, options=table.kms.options(), new_kms=other.options(), key_material="external"
    )
    assert {row.material for row in spark.sql(f"SELECT * FROM {moved}").collect()} == {"external"}
    assert tables.rows(spark, table.path, other) == table.rows


def test_an_empty_map_of_master_keys_changes_none(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    spark.sql(f"SELECT * FROM {rotation(table, master_keys={}, key_material='external')}").collect()
    assert table.client.count("wrap") == {}
    assert all(tables.material(path).is_file() for path in data_files(table.path))


@pytest.mark.parametrize("mode", EXPLAINED)
def test_explaining_changes_nothing_and_shows_no_option(
    spark: SparkSession, made: Callable[..., Made], mode: str
) -> None:
    table = made()
    with untouched(table.path):
        [[text]] = spark.sql(f"EXPLAIN {mode} SELECT * FROM {rotation(table)}").collect()
    assert table.client.calls == []
    assert f"pme_rotate {table.path}" in text
    # The first section of an extended plan is the statement as written.
    shown = text.partition("== Analyzed Logical Plan ==")[2] if mode == "EXTENDED" else text
    assert not [value for value in (*table.kms.options().values(), *NEW.values()) if value in shown]


def test_a_plan_as_json_holds_no_option(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    execution = spark.sql(f"SELECT * FROM {rotation(table)}")._jdf.queryExecution()
    for plan in (execution.analyzed(), execution.optimizedPlan(), execution.executedPlan()):
        assert not [value for value in (*table.kms.options().values(), *NEW.values()) if value in plan.toJSON()]


def test_a_view_changes_nothing_until_its_rows_are_read(
    spark: SparkSession, made: Callable[..., Made], view: str
) -> None:
    table = made()
    with untouched(table.path):
        spark.sql(f"CREATE TEMPORARY VIEW {view} AS SELECT * FROM {rotation(table)}")
        assert spark.table(view).columns[:2] == ["file", "status"]
    assert table.client.calls == []
    assert {row.status for row in spark.table(view).collect()} == {"rotated"}
    assert {row.status for row in spark.table(view).collect()} == {"unchanged"}
    assert tables.found(table.path, table.wrapped) == []


@pytest.mark.parametrize("after", ["WHERE status = 'failed' LIMIT 1", "LIMIT 1", "WHERE file = 'none'", ""])
def test_all_files_are_rotated_whichever_rows_are_selected(
    spark: SparkSession, made: Callable[..., Made], after: str
) -> None:
    table = made("country")
    assert len(table.pages) > 1
    columns = "*" if after else "count(*)"
    spark.sql(f"SELECT {columns} FROM {rotation(table)} {after}").collect()
    assert tables.found(table.path, table.wrapped) == []
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


# Without names of master keys, a second rotation would wrap keys again.
@pytest.mark.parametrize("use", TWICE.values(), ids=TWICE)
def test_a_statement_rotates_once(
    spark: SparkSession, made: Callable[..., Made], use: Callable[[DataFrame], object]
) -> None:
    table = made("country")
    use(spark.sql(f"SELECT * FROM {call('pme_rotate', table.path, options=table.kms.options())}"))
    assert table.client.count("wrap") == dict.fromkeys(OLD, 1)


def test_a_report_stored_in_a_table_is_of_one_rotation(
    spark: SparkSession, made: Callable[..., Made], tmp_path: Path
) -> None:
    table, kept = made("country"), tmp_path / "report"
    function = call("pme_rotate", table.path, options=table.kms.options())
    spark.sql(f"CREATE TABLE kept_report USING parquet LOCATION '{kept}' AS SELECT * FROM {function}")
    try:
        assert {row.status for row in spark.table("kept_report").collect()} == {"rotated"}
        assert spark.table("kept_report").count() == len(table.pages)
    finally:
        spark.sql("DROP TABLE kept_report")
    assert table.client.count("wrap") == dict.fromkeys(OLD, 1)


def test_a_report_that_a_query_uses_twice_is_of_one_rotation(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    function = call("pme_rotate", table.path, options=table.kms.options())
    query = f"WITH report AS (SELECT * FROM {function}) SELECT * FROM report UNION ALL SELECT * FROM report"
    assert len(spark.sql(query).collect()) == 2 * len(table.pages)
    assert table.client.count("wrap") == dict.fromkeys(OLD, 1)


def test_each_statement_rotates(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    statement = f"SELECT * FROM {call('pme_rotate', table.path, options=table.kms.options())}"
    # Not even a cached result of one statement is used for another.
    first = spark.sql(statement).cache()
    first.collect()
    spark.sql(statement).collect()
    first.unpersist(blocking=True)
    assert table.client.count("wrap") == dict.fromkeys(OLD, 2)


def test_files_that_fail_are_rows(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    lacks = pme.PythonKms(Remembering(lacks=["pii"]))
    with untouched(table.path):
        rows = spark.sql(f"SELECT * FROM {rotation(table, options=lacks.options())} WHERE status = 'failed'").collect()
    assert [row.condition for row in rows] == ["PME_KEY_NOT_FOUND"] * len(table.pages)
    assert "pii" in rows[0].message


def test_a_failed_rotation_fails_the_query_and_the_next_try_works(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    table = made()
    report = spark.sql(f"SELECT * FROM {rotation(table)}")
    elsewhere = Path(table.path).rename(f"{table.path}-elsewhere")
    with pytest.raises(Exception, match="table"):
        report.collect()
    elsewhere.rename(table.path)
    # Spark remembers that a plan failed; a new plan is tried again.
    assert {row.status for row in report.select("status").collect()} == {"rotated"}


def test_arguments_can_be_parameters_of_the_query(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    options = literal(table.kms.options())
    query = f"SELECT * FROM pme_rotate(:path, master_keys => map(:old, concat(:old, '-2')), options => {options})"
    rows = spark.sql(query, args={"path": table.path, "old": "pii"}).collect()
    assert {(*row.master_keys,) for row in rows} == {("footer", "pay", "pii-2")}


WRONG = {
    "no path": ("", "PME_BAD_OPTION", ["path", "missing"]),
    "an empty path": ("''", "PME_BAD_OPTION", ["path", "missing"]),
    "no such argument": ("'t', master_key => map()", "PME_UNKNOWN_OPTION", ["Did you mean 'master_keys'"]),
    "the KMS as Python names it": ("'t', kms => map('kms', 'vault')", "PME_UNKNOWN_OPTION", ["options"]),
    "a path twice": ("'t', path => 't'", "PME_BAD_OPTION", ["path", "twice"]),
    "no name": ("'t', map('a', 'b')", "PME_BAD_OPTION", ["argument 2", "no name"]),
    "a path that is a number": ("1", "PME_BAD_OPTION", ["path", "INT", "a string"]),
    "a map of numbers": ("'t', master_keys => map('a', 1)", "PME_BAD_OPTION", ["master_keys", "a map of strings"]),
    "a text for a map": ("'t', options => 'kms=vault'", "PME_BAD_OPTION", ["options", "a map of strings"]),
    "a text for a flag": ("'t', dry_run => 'true'", "PME_BAD_OPTION", ["dry_run", "true or false"]),
    "NULL": ("'t', dry_run => CAST(NULL AS BOOLEAN)", "PME_BAD_OPTION", ["dry_run", "NULL"]),
    "NULL in a map": ("'t', options => map('kms', NULL, 'a', 'b')", "PME_BAD_OPTION", ["options", "'kms'", "NULL"]),
    "no constant": ("'t', dry_run => rand() < 0.5", "PME_BAD_OPTION", ["dry_run", "not a constant"]),
    "a user": ("current_user()", "PME_BAD_OPTION", ["path", "not a constant"]),
    "no such place": ("'t', key_material => 'beside'", "PME_BAD_OPTION", ["key_material", "internal or external"]),
    "a chain": ("'t', master_keys => map('a', 'b', 'b', 'c')", "PME_BAD_OPTION", ["master_keys", "'a'", "'b'"]),
    "a misspelt option": ("'t', options => map('kms.vault.ulr', 'x')", "PME_UNKNOWN_OPTION", ["kms.vault.url"]),
    "a misspelt new one": ("'t', new_kms => map('kmss', 'x')", "PME_UNKNOWN_OPTION", ["'kms'"]),
    "a secret": (
        f"'t', options => map('kms.keystore.password', '{PASSWORD}')",
        "PME_SECRET_IN_OPTION",
        ["kms.keystore.password"],
    ),
}


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(("arguments", "condition", "mentions"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_before_the_query_runs(
    spark: SparkSession, arguments: str, condition: str, mentions: list[str]
) -> None:
    with refused(condition, *mentions):
        spark.sql(f"SELECT * FROM pme_rotate({arguments})")


@pytest.mark.usefixtures("functions")
def test_an_argument_that_depends_on_a_row_is_refused(spark: SparkSession) -> None:
    with refused("PME_BAD_OPTION", "path", "not a constant"):
        spark.sql("SELECT * FROM VALUES ('t') AS tables(path), LATERAL pme_rotate(path)")


def test_key_usage_shows_the_same_as_in_python(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    function = call("pme_key_usage", table.path, options=table.kms.options())
    told = spark.sql(f"SELECT * FROM {function}")
    python = pme.key_usage(spark, table.path, kms=table.kms)
    assert told.schema == python.schema
    assert told.collect() == python.collect() != []
    without = spark.sql(f"SELECT * FROM {call('pme_key_usage', table.path)}")
    assert without.collect() == pme.key_usage(spark, table.path).collect()


@pytest.mark.usefixtures("functions")
def test_key_usage_refuses_arguments_of_rotation(spark: SparkSession) -> None:
    with refused("PME_UNKNOWN_OPTION", "pme_key_usage", "master_keys"):
        spark.sql("SELECT * FROM pme_key_usage('t', master_keys => map())")


def test_a_function_of_the_user_keeps_its_name(spark: SparkSession, target: str) -> None:
    session = spark.newSession()
    Path(target).mkdir()

    class Mine:
        def eval(self, path: str) -> Iterator[tuple[str]]:
            yield (path,)

    mine: Any = udtf(Mine, returnType="mine: string")
    session.udtf.register("pme_rotate", mine)
    session.sql(f"CREATE TEMPORARY VIEW ours (a INT) USING `pme-parquet` OPTIONS (path '{target}')")
    assert session.sql("SELECT * FROM pme_rotate('t')").columns == ["mine"]
    assert "master_key" in session.sql("SELECT * FROM pme_key_usage('t')").columns


def test_a_session_with_nothing_but_the_extension_rotates(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str, tmp_path: Path
) -> None:
    save(people(spark), target, enc.options())
    rotate = call("pme_rotate", target, master_keys={"footer": "other"}, options=keys.options())
    rows = result_of(extension_job, str(tmp_path), f"SELECT status, master_keys FROM {rotate}")
    assert rows == [{"status": "rotated", "master_keys": ["other"]}] * len(data_files(target))
