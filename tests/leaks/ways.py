"""Every way to write a table with Spark, by name. Each leaves its files under ``source.path``."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING
from urllib.parse import urlparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from tests.support.source import Source

MINUTE = 60


def save(mode: str) -> Callable[[Source, DataFrame], None]:
    def way(source: Source, frame: DataFrame) -> None:
        source.writer(frame).mode(mode).save(source.path)

    return way


def overwrite_twice(source: Source, frame: DataFrame) -> None:
    for _ in range(2):
        source.writer(frame).mode("overwrite").save(source.path)


def partition_by(source: Source, frame: DataFrame) -> None:
    source.writer(frame).partitionBy("part").save(source.path)


def dynamic_overwrite(source: Source, frame: DataFrame) -> None:
    for _ in range(2):
        writer = source.writer(frame, partitionOverwriteMode="dynamic").partitionBy("part")
        writer.mode("overwrite").save(source.path)


def many_files(source: Source, frame: DataFrame) -> None:
    source.writer(frame.repartition(3), maxRecordsPerFile="15").save(source.path)


def bucket_by(source: Source, frame: DataFrame) -> None:
    source.writer(frame, path=source.path).bucketBy(2, "id").sortBy("id").saveAsTable(source.table)


def partition_and_bucket_by(source: Source, frame: DataFrame) -> None:
    writer = source.writer(frame, path=source.path).partitionBy("part").bucketBy(2, "id")
    writer.sortBy("id").saveAsTable(source.table)


def save_as_table(source: Source, frame: DataFrame) -> None:
    for mode in ("error", "append", "overwrite", "append"):
        source.writer(frame, path=source.path).mode(mode).saveAsTable(source.table)


def insert_into_by_writer(source: Source, frame: DataFrame) -> None:
    source.writer(frame, path=source.path).saveAsTable(source.table)
    frame.write.insertInto(source.table)
    frame.write.mode("overwrite").insertInto(source.table)


def sql(*statements: str) -> Callable[[Source, DataFrame], None]:
    def way(source: Source, frame: DataFrame) -> None:
        view = f"{source.table}_source"
        frame.createOrReplaceTempView(view)
        for statement in statements:
            names = {
                "table": source.table,
                "view": view,
                "using": source.clause(),
                "using_path": source.clause(path=source.path),
                "path": source.path,
                "columns": ", ".join(f"`{name}`" for name in frame.columns if name != "part"),
            }
            source.spark.sql(statement.format(**names))

    return way


def insert_into_view(source: Source, frame: DataFrame) -> None:
    source.write(frame)
    sql(
        "CREATE OR REPLACE TEMPORARY VIEW {table}_target {using_path}",
        "INSERT INTO {table}_target SELECT * FROM {view}",
        "INSERT OVERWRITE {table}_target SELECT * FROM {view}",
    )(source, frame)


def write_to_create(source: Source, frame: DataFrame) -> None:
    """Create a managed table, the only kind ``writeTo`` makes, and copy all its files to the searched directory."""
    frame.writeTo(source.table).using(source.format).options(**source.write_options).create()
    described = source.spark.sql(f"DESCRIBE EXTENDED {source.table}").where("col_name = 'Location'")
    shutil.copytree(urlparse(described.collect()[0].data_type).path, source.path)


def streaming(source: Source, frame: DataFrame) -> DataStreamWriter:
    inbox = f"{source.path}-inbox"
    source.writer(frame).mode("append").save(inbox)
    stream = source.spark.readStream.format(source.format).options(**source.read_options).schema(frame.schema)
    options = {**source.write_options, "checkpointLocation": f"{source.path}-checkpoint"}
    return stream.load(inbox).writeStream.format(source.format).options(**options).trigger(availableNow=True)


def stream_sink(source: Source, frame: DataFrame) -> None:
    for _ in range(2):
        assert streaming(source, frame).start(source.path).awaitTermination(MINUTE)


def stream_partitioned_sink(source: Source, frame: DataFrame) -> None:
    assert streaming(source, frame).partitionBy("part").start(source.path).awaitTermination(MINUTE)


def stream_to_table(source: Source, frame: DataFrame) -> None:
    writer = streaming(source, frame).option("path", source.path)
    assert writer.toTable(source.table).awaitTermination(MINUTE)


def stream_for_each_batch(source: Source, frame: DataFrame) -> None:
    inbox = f"{source.path}-inbox"
    source.writer(frame).save(inbox)
    stream = source.spark.readStream.format(source.format).options(**source.read_options).schema(frame.schema)
    query = stream.load(inbox).writeStream.foreachBatch(lambda batch, _: source.write(batch))
    assert query.trigger(availableNow=True).start().awaitTermination(MINUTE)


WAYS: dict[str, Callable[[Source, DataFrame], None]] = {
    "append": save("append"),
    "overwrite": overwrite_twice,
    "ignore": save("ignore"),
    "error": save("error"),
    "partition_by": partition_by,
    "dynamic_overwrite": dynamic_overwrite,
    "many_files": many_files,
    "bucket_by": bucket_by,
    "partition_and_bucket_by": partition_and_bucket_by,
    "save_as_table": save_as_table,
    "insert_into_by_writer": insert_into_by_writer,
    "insert_into_view": insert_into_view,
    "write_to_create": write_to_create,
    "stream_sink": stream_sink,
    "stream_partitioned_sink": stream_partitioned_sink,
    "stream_to_table": stream_to_table,
    "stream_for_each_batch": stream_for_each_batch,
    "create_table_as_select": sql("CREATE TABLE {table} {using} LOCATION '{path}' AS SELECT * FROM {view}"),
    "partitioned_create_table_as_select": sql(
        "CREATE TABLE {table} {using} PARTITIONED BY (part) LOCATION '{path}' AS SELECT * FROM {view}"
    ),
    "bucketed_create_table_as_select": sql(
        "CREATE TABLE {table} {using} CLUSTERED BY (id) INTO 2 BUCKETS LOCATION '{path}' AS SELECT * FROM {view}"
    ),
    "insert_into": sql(
        "CREATE TABLE {table} {using} LOCATION '{path}' AS SELECT * FROM {view}",
        "INSERT INTO {table} SELECT * FROM {view}",
    ),
    "insert_overwrite": sql(
        "CREATE TABLE {table} {using} LOCATION '{path}' AS SELECT * FROM {view}",
        "INSERT OVERWRITE {table} SELECT * FROM {view}",
    ),
    "insert_into_and_overwrite_partition": sql(
        "CREATE TABLE {table} {using} PARTITIONED BY (part) LOCATION '{path}' AS SELECT * FROM {view}",
        "INSERT INTO {table} PARTITION (part = 7) SELECT {columns} FROM {view}",
        "INSERT OVERWRITE {table} PARTITION (part = 0) SELECT {columns} FROM {view}",
    ),
    "insert_overwrite_directory": sql("INSERT OVERWRITE DIRECTORY '{path}' {using} SELECT * FROM {view}"),
}
