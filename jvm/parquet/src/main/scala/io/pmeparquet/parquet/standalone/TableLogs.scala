package io.pmeparquet.parquet.standalone

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.schema.MessageType

/**
 * Parquet files in a table's log: checkpoints of Delta, and the archived timeline of Hudi. They have none of the table's
 * columns but their statistics and partition values, and so are under the footer's key as a whole. Delta only logs a
 * warning if it cannot write one. A write of Hudi fails after its commit.
 *
 * Anybody can name a directory as a log's. So a file is a log's only at the exact place, by an exact name, and with the
 * columns of a log. Every other file is data, for which all keys of columns count.
 */
private[standalone] object TableLogs {

  // Delta may write under a hidden name first: `.<name>.<random>.tmp`.
  private val Checkpoint = """\.?\d{20}\.checkpoint(\.[0-9A-Za-z-]+)*\.parquet(\.[0-9A-Za-z-]+\.tmp)?"""
  private val Sidecar = """[0-9A-Za-z.-]+\.parquet"""
  private val Timeline = """\d+_\d+_\d+\.parquet"""

  /** What Delta calls its actions; each is a struct. */
  private val Actions =
    Set("txn", "add", "remove", "metaData", "protocol", "domainMetadata", "checkpointMetadata", "sidecar")

  private val Instants = Set("instantTime", "completionTime", "action", "metadata", "plan", "version")

  def contain(file: Path, schema: MessageType): Boolean =
    (isDeltas(file) && hasActions(schema)) || (isHudis(file) && hasInstants(schema))

  /** Whether the file is where a log would have it. */
  def mayContain(file: Path): Boolean = isDeltas(file) || isHudis(file)

  private def isDeltas(file: Path) = directories(file) match {
    case "_delta_log" +: _ => file.getName.matches(Checkpoint)
    case "_sidecars" +: "_delta_log" +: _ => file.getName.matches(Sidecar)
    case _ => false
  }

  private def isHudis(file: Path) = directories(file) match {
    case "history" +: "timeline" +: ".hoodie" +: _ => file.getName.matches(Timeline)
    case _ => false
  }

  private def hasActions(schema: MessageType) = {
    val fields = schema.getFields.asScala
    fields.nonEmpty && fields.forall(field => !field.isPrimitive && Actions.contains(field.getName))
  }

  private def hasInstants(schema: MessageType) = {
    val names = schema.getFields.asScala.map(_.getName).toSet
    names.subsetOf(Instants) && names.contains("instantTime") && names.contains("action") &&
    schema.getFields.asScala.forall(_.isPrimitive)
  }

  private def directories(file: Path): Seq[String] =
    Iterator.iterate(file.getParent)(_.getParent).takeWhile(_ != null).map(_.getName).take(3).toList

  /** Of a job whose other files may be under other keys. */
  def identityOf(job: String): String = s"$job log"
}
