package io.pmeparquet.spark.admin

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}

import io.pmeparquet.snapshot.Version
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshots.SessionSnapshots

/** The versions of a sealed table, with verified seals: `pme_snapshots` in SQL. ''Driver only.'' */
private[admin] object SnapshotHistory {
  val schema: StructType = StructType(
    Seq(
      StructField("version", LongType, nullable = false),
      StructField("digest", StringType, nullable = false),
      StructField("created", StringType, nullable = false),
      StructField("creator", StringType, nullable = false),
      StructField("files", LongType, nullable = false),
      StructField("rows", LongType, nullable = false),
      StructField("bytes", LongType, nullable = false),
      StructField("algorithm", StringType, nullable = false),
      StructField("key", StringType, nullable = false)
    )
  )

  /** A row for each version, the newest first; none for a table that is not sealed, unless the options require it. */
  def rows(session: SparkSession, path: String, options: Map[String, String]): Seq[Row] = {
    val conf = SparkAccess.hadoopConf(session, options)
    val resolved = new ConfResolver(session).snapshots(options)
    val table = TableFiles.qualified(path, conf)
    SealedGuard.requireTable(table, conf)
    val directory = resolved.directory(table)
    val reader = resolved.snapshots(directory)
    val versions = reader.all()
    val seen = SessionSnapshots.of(session).seen
    versions.headOption.fold(seen.requireNone(directory))(
      seen.note(directory, _, reader.requireOwnHistory)(reader.continues)
    )
    versions.map(row)
  }

  private def row(version: Version) = {
    val manifest = version.manifest
    Row(
      version.number,
      version.digest,
      manifest.created,
      manifest.creator,
      manifest.files,
      manifest.rows,
      manifest.bytes,
      version.algorithm,
      version.key
    )
  }
}
