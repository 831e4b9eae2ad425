package io.pmeparquet.spark.admin

import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.spark.sql.Row

/**
 * The version that a seal made.
 *
 * @param digest SHA-256 of its manifest, in hexadecimal digits
 * @param location the directory of the snapshots
 * @param bytes of all files
 * @param opened how many files were opened; the version before knew the others
 * @param algorithm of its seal
 * @param key id of the signing key, or of the master key of an HMAC
 */
final class SealedSnapshot(
    val version: Long,
    val digest: String,
    val location: String,
    val files: Long,
    val rows: Long,
    val bytes: Long,
    val opened: Long,
    val algorithm: String,
    val key: String
) {
  private[admin] def row: Row = Row(version, digest, location, files, rows, bytes, opened, algorithm, key)
}

private[admin] object SealedSnapshot {
  val schema: StructType = StructType(
    Seq(
      StructField("version", LongType, nullable = false),
      StructField("digest", StringType, nullable = false),
      StructField("location", StringType, nullable = false),
      StructField("files", LongType, nullable = false),
      StructField("rows", LongType, nullable = false),
      StructField("bytes", LongType, nullable = false),
      StructField("opened", LongType, nullable = false),
      StructField("algorithm", StringType, nullable = false),
      StructField("key", StringType, nullable = false)
    )
  )
}
