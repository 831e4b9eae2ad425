package io.pmeparquet.spark.admin

import org.apache.spark.sql.types.{ArrayType, IntegerType, StringType, StructField, StructType}
import org.apache.spark.sql.Row

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.spark.admin.job.FileFailure

/**
 * What a rotation did to one file.
 *
 * @param masterKeys the master keys that its keys are under now
 * @param rewrapped how many of its distinct keys the rotation rewrapped
 * @param left master keys that the rotation was not asked to replace
 * @param material where its key material is now
 * @param message why the rotation skipped the file, or why it failed
 */
private[admin] final case class FileReport(
    file: String,
    status: String,
    masterKeys: Seq[String] = Nil,
    rewrapped: Int = 0,
    left: Seq[String] = Nil,
    material: Option[String] = None,
    condition: Option[String] = None,
    message: Option[String] = None
) {
  def row: Row =
    Row(file, status, masterKeys, rewrapped, left, material.orNull, condition.orNull, message.orNull)
}

private[admin] object FileReport {
  val Rotated = "rotated"
  val Unchanged = "unchanged"

  val schema: StructType = {
    val names = ArrayType(StringType, containsNull = false)
    StructType(
      Seq(
        StructField("file", StringType, nullable = false),
        StructField("status", StringType, nullable = false),
        StructField("master_keys", names, nullable = false),
        StructField("rewrapped", IntegerType, nullable = false),
        StructField("left", names, nullable = false),
        StructField("material", StringType),
        StructField("condition", StringType),
        StructField("message", StringType)
      )
    )
  }

  def skipped(file: ListedFile, because: String): FileReport =
    FileReport(file.path, "skipped", message = Some(because))

  def failed(file: ListedFile, failure: FileFailure): FileReport =
    FileReport(file.path, "failed", condition = Some(failure.condition), message = Some(failure.message))
}
