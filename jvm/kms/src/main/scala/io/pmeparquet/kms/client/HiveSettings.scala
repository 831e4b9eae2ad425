package io.pmeparquet.kms.client

/**
 * What Hive's SerDe adds to the configuration of each read and write: what the metastore says of the table, and what is
 * read of it. Other properties of a table count, since a client could look at them.
 */
private[pmeparquet] object HiveSettings {
  private val OfTables = Set(
    "EXTERNAL",
    "__hive_compatible_bucketed_table_insertion__",
    "bucket_count",
    "bucket_field_name",
    "bucketing_version",
    "column.name.delimiter",
    "columns",
    "columns.comments",
    "columns.types",
    "comment",
    "file.inputformat",
    "file.outputformat",
    "hive.parquet.timestamp.skip.conversion",
    "last_modified_by",
    "last_modified_time",
    "location",
    "name",
    "numFiles",
    "numPartitions",
    "numRows",
    "partition_columns",
    "partition_columns.types",
    "rawDataSize",
    "serialization.ddl",
    "serialization.format",
    "serialization.lib",
    "totalSize",
    "transient_lastDdlTime"
  )
  private val OfReads = "hive.io."

  /** Whether a setting is one of these, in just these letters. */
  def areTables(name: String): Boolean = OfTables.contains(name) || name.startsWith(OfReads)
}
