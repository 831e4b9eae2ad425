"""An export is read back by a reader made from the specification alone, and by reads of ours."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.source import FORMAT
from tests.xskipper.stores import opened, stated
from tests.xskipper.tables import FOOTER, KMS, files_read, id_of, load

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from tests.support.source import Conf

NAME = "part-00000-pme-parquet.snappy.parquet"
KEYS = {"columnKeys": "pii: name; pay: `sum#`"}
INDEXES: list[pme.MinMax | pme.ValueList | pme.Bloom | pme.IndexClass] = [
    pme.MinMax("id", "sum#", "day", "Inner.n", "ratio"),
    pme.ValueList("name"),
    pme.Bloom("id"),
]


def table(spark: SparkSession, path: Path, **options: str) -> dict[str, dict[str, Any]]:
    """Write and seal a table of two partitions, and return what its files hold, by their ids in a store."""
    frame = spark.sql(
        "SELECT id, concat('n', id % 2, IF(id < 10, '', 'ü🐢')) AS name, CAST(id AS DECIMAL(20, 2)) AS `sum#`, "
        "DATE'2020-01-01' + CAST(id AS INT) AS day, named_struct('n', CAST(id AS INT)) AS Inner, id / 2.0D AS ratio, "
        "CAST(id / 10 AS INT) AS part FROM range(20)"
    )
    writer = frame.repartition(1).write.format(FORMAT).options(**FOOTER | KEYS | options)
    writer.partitionBy("part").save(str(path))
    pme.seal(spark, path, options=KMS, index=INDEXES, expect="unsealed")
    return {id_of(file): {"part": int(file.parent.name[-1])} for file in data_files(path)}


def rows(file: pq.ParquetFile, *columns: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a store, by the ids of the files."""
    return {row["obj_name"]: row for row in file.read(["obj_name", *columns]).to_pylist()}


def test_an_export_says_what_the_files_hold_under_the_keys_that_it_states(spark: SparkSession, tmp_path: Path) -> None:
    ids = table(spark, tmp_path / "t")
    done = pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
    assert (done.files, done.left_out, done.indexes) == (2, 0, 6)
    assert done.not_exported == ("bloom(id)",)
    store = opened(tmp_path / "store" / NAME, "footer", "pii", "pay")
    fields = stated(store)
    said = fields["obj_name"]["metadata"]
    assert (said["version"], said["tableIdentifier"]) == (4, str(tmp_path / "t"))
    assert fields["obj_name"]["nullable"] is False
    encryption = said["encryption"]
    assert encryption["encryption.footer.key"] == "footer"
    assert "encryption.plaintext.footer" not in encryption
    under = {
        path: label
        for group in encryption["encryption.column.keys"].split(";")
        for label, paths in [group.split(":")]
        for path in paths.split(",")
    }
    leaves = {store.schema.column(at).path for at in range(len(store.schema.names))}
    assert set(under) == leaves
    labels = {
        name: field["metadata"]["index"]["key_metadata"]
        for name, field in fields.items()
        if "index" in field["metadata"]
    }
    assert labels == {
        "id_minmax_2": "footer",
        "sum##_minmax_5": "pay",
        "day_minmax_3": "footer",
        "inner$#$n_minmax_9": "footer",
        "ratio_minmax_5": "footer",
        "name_valuelist_4": "pii",
    }
    assert all(under[path] == labels[path.split(".")[0]] for path in leaves if path.split(".")[0] in labels)
    assert fields["virtual_part"]["type"] == "integer"
    assert fields["sum##_minmax_5"]["type"]["fields"][0]["type"] == "decimal(20,2)"
    found = rows(store, *(name for name in fields if name != "obj_name"))
    assert set(found) == set(ids)
    for name, row in found.items():
        part = ids[name]["part"]
        assert row["virtual_part"] == part
        assert row["id_minmax_2"] == {"min": part * 10, "max": part * 10 + 9}
        assert [int(one) for one in row["sum##_minmax_5"].values()] == [part * 10, part * 10 + 9]
        assert row["inner$#$n_minmax_9"] == {"min": part * 10, "max": part * 10 + 9}
        assert row["day_minmax_3"]["min"] == dt.date(2020, 1, 1) + dt.timedelta(part * 10)
        assert sorted(row["name_valuelist_4"]) == [f"n{at}{'ü🐢' * part}" for at in (0, 1)]
        # Bounds of footers may leave out NaN.
        assert row["ratio_minmax_5"]["min"] == part * 5
        assert math.isnan(row["ratio_minmax_5"]["max"])


def test_each_index_is_under_its_own_key_and_the_footer_is_plaintext_only_if_the_export_asks(
    spark: SparkSession, tmp_path: Path, conf: Conf
) -> None:
    table(spark, tmp_path / "t")
    keys = {"stats": ["id"], "pii": ["Inner.n"]}
    pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS, index_keys=keys, footer_key="other")
    file = tmp_path / "store" / NAME
    assert file.read_bytes()[:4] == b"PARE"
    assert len(rows(opened(file, "other", "stats"), "id_minmax_2")) == 2
    assert len(rows(opened(file, "other", "pii"), "inner$#$n_minmax_9", "name_valuelist_4")) == 2
    for column in ("sum##_minmax_5", "inner$#$n_minmax_9"):
        with pytest.raises(Exception, match=r"no key|access|decrypt"):
            rows(opened(file, "other", "stats"), column)
    with conf({"spark.datasource.pme-parquet.plaintextFooter": "true"}):
        pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
        assert file.read_bytes()[:4] == b"PARE"
    pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS, plaintext_footer=True)
    assert file.read_bytes()[:4] == b"PAR1"
    said = stated(opened(file, "footer", "pii", "pay"))["obj_name"]["metadata"]
    assert said["encryption"]["encryption.plaintext.footer"] == "true"
    assert [one.name for one in (tmp_path / "store").iterdir() if not one.name.startswith(".")] == [NAME]


def test_reads_skip_by_an_export(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    table(spark, tmp_path / "t")
    pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
    with conf({"spark.sql.adaptive.enabled": "false"}):
        for condition, number in {
            "id = 3": 1,
            "`sum#` > 12": 1,
            "inner.N >= 10": 1,
            "name = 'n1'": 1,
            "name LIKE 'n1ü%'": 1,
            "day < DATE'2020-01-05'": 1,
            "ratio < 2": 1,
            "ratio > 7": 2,
            "id = 30": 0,
            "id < 15": 2,
        }.items():
            frame = load(spark, tmp_path / "t", snapshot="off", xskipperStore=str(tmp_path / "store")).where(condition)
            expected = load(spark, tmp_path / "t", snapshot="off").where(condition).count()
            assert frame.count() == expected, condition
            assert len(files_read(frame)[0]) == number, condition


def test_bloom_filters_are_made_of_the_data_if_an_export_asks_and_reads_skip_by_them(
    spark: SparkSession, tmp_path: Path, conf: Conf
) -> None:
    frame = spark.sql(
        "SELECT id, concat('n', id) AS name, id / 2.0D AS ratio, CAST(id % 2 AS INT) AS part FROM range(40)"
    )
    writer = frame.repartition(1).write.format(FORMAT).options(**FOOTER | {"columnKeys": "pii: name"})
    writer.partitionBy("part").save(str(tmp_path / "t"))
    indexes = [pme.Bloom("id", fpp=0.001, ndv=50), pme.Bloom("name"), pme.Bloom("ratio")]
    pme.seal(spark, tmp_path / "t", options=KMS, index=indexes, expect="unsealed")
    done = pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
    assert (done.indexes, len(done.not_exported)) == (0, 3)
    done = pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS, bloom_filters=True)
    assert (done.files, done.left_out, done.indexes, done.not_exported) == (2, 0, 2, ("bloom(ratio)",))
    fields = stated(opened(tmp_path / "store" / NAME, "footer", "pii"))
    index = fields["id_bloomfilter_2"]["metadata"]["index"]
    assert index["params"] == {"io.xskipper.index.bloom.fpp": "0.001", "io.xskipper.index.bloom.ndv": "50"}
    assert fields["name_bloomfilter_4"]["metadata"]["index"]["key_metadata"] == "pii"
    with conf({"spark.sql.adaptive.enabled": "false"}):
        for condition, number in {"id = 3": 1, "name = 'n8'": 1, "id IN (2, 3)": 2, "name = 'n40'": 0}.items():
            frame = load(spark, tmp_path / "t", snapshot="off", xskipperStore=str(tmp_path / "store")).where(condition)
            assert frame.count() == load(spark, tmp_path / "t", snapshot="off").where(condition).count(), condition
            assert len(files_read(frame)[0]) == number, condition


def test_an_export_after_an_append_keeps_what_the_store_said_and_adds_the_new_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    table(spark, tmp_path / "t")
    columns = ("id_minmax_2", "name_valuelist_4", "virtual_part")

    def export() -> dict[str, dict[str, Any]]:
        pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
        return rows(opened(tmp_path / "store" / NAME, "footer", "pii", "pay"), *columns)

    before = export()
    more = load(spark, tmp_path / "t").withColumn("id", f.expr("id + 100")).repartition(1)
    more.write.mode("append").format(FORMAT).options(**FOOTER | KEYS).partitionBy("part").save(str(tmp_path / "t"))
    after = export()
    assert {name: after[name] for name in before} == before
    new = {name: after[name]["id_minmax_2"]["min"] for name in after.keys() - before.keys()}
    assert sorted(new.values()) == [100, 110]


def test_an_index_whose_name_in_a_store_begins_that_of_another_column_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(3).selectExpr("id AS a", "id AS a_minmax_1").write.format(FORMAT).options(**FOOTER).save(
        str(tmp_path / "t")
    )
    pme.seal(spark, tmp_path / "t", options=KMS, index=[pme.MinMax("a", "a_minmax_1")], expect="unsealed")
    with refused("PME_UNSUPPORTED", "a_minmax_1_minmax_10"):
        pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=KMS)
    assert not (tmp_path / "store").exists()


def test_a_plaintext_table_has_a_plaintext_store_and_what_cannot_be_a_store_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(5).repartition(1).write.parquet(str(tmp_path / "t"))
    options = {"plaintextFiles": "allow", "footerKey": "footer"} | KMS
    pme.seal(spark, tmp_path / "t", options=options, index=[pme.MinMax("id")], expect="unsealed")
    pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=options)
    (row,) = rows(opened(tmp_path / "store" / NAME), "id_minmax_2").values()
    assert row["id_minmax_2"] == {"min": 0, "max": 4}
    with refused("PME_BAD_OPTION", "footer_key"):
        pme.export_xskipper(spark, tmp_path / "t", tmp_path / "store", options=options, footer_key="footer")
    table_path = tmp_path / "encrypted"
    table(spark, table_path)

    def export(target: Path, **given: Any) -> None:
        pme.export_xskipper(spark, table_path, target, options=KMS, **given)

    with refused("PME_BAD_OPTION", "in the table"):
        export(table_path / "store")
    with refused("PME_BAD_OPTION", "in the table"):
        export(table_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-1.parquet").write_bytes(b"PAR1")
    with refused("PME_BAD_OPTION", "part-1.parquet"):
        export(tmp_path / "other")
    with refused("PME_UNSUPPORTED", "minMax(id)"):
        export(tmp_path / "new", index_keys={"a:b": ["id"]})
    assert not (tmp_path / "new").exists()
    spark.range(1).write.format(FORMAT).options(**FOOTER).save(str(tmp_path / "unsealed"))
    with refused("PME_BAD_OPTION", "snapshot"):
        pme.export_xskipper(spark, tmp_path / "unsealed", tmp_path / "new", options=KMS)
