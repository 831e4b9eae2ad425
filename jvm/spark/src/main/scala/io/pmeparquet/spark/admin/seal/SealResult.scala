package io.pmeparquet.spark.admin.seal

import org.apache.spark.sql.types.{LongType, StringType}

import io.pmeparquet.spark.admin.job.ResultRows

/**
 * The version that a seal made.
 *
 * @param digest SHA-256 of its manifest, in hexadecimal digits
 * @param location the directory of the snapshots
 * @param bytes of all files
 * @param opened how many files were opened; the version before knew the others
 * @param added files that the version before does not list. Who seals a table vouches for all changes.
 * @param removed files that only the version before lists
 * @param replaced files that the version before lists with other bytes
 * @param algorithm of its seal
 * @param key id of the signing key, or of the master key of an HMAC
 * @param table the id that all versions of the table have
 */
final class SealResult(
    val version: Long,
    val digest: String,
    val location: String,
    val files: Long,
    val rows: Long,
    val bytes: Long,
    val opened: Long,
    val added: Long,
    val removed: Long,
    val replaced: Long,
    val algorithm: String,
    val key: String,
    val table: String
)

private[admin] object SealResult {
  val results: ResultRows[SealResult] = ResultRows
    .of[SealResult]
    .required("version", LongType)(_.version)
    .required("digest", StringType)(_.digest)
    .required("location", StringType)(_.location)
    .required("files", LongType)(_.files)
    .required("rows", LongType)(_.rows)
    .required("bytes", LongType)(_.bytes)
    .required("added", LongType)(_.added)
    .required("removed", LongType)(_.removed)
    .required("replaced", LongType)(_.replaced)
    .required("opened", LongType)(_.opened)
    .required("algorithm", StringType)(_.algorithm)
    .required("key", StringType)(_.key)
    .required("table", StringType)(_.table)
}
