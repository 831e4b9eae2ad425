package io.pmeparquet.delta

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.types.{LongType, MapType, StringType}

import io.pmeparquet.spark.admin.job.ResultRows

/**
 * What [[DeltaEncryption]] did with a table, and what is left to do.
 *
 * @param path the table's directory
 * @param version_before its newest version before
 * @param version its newest version now; the same if there was nothing to do
 * @param files_rewritten number of files that were replaced
 * @param files_written number of files that replaced them
 * @param files number of live files; each footer was opened, and each column has the key that it is to have
 * @param rows number of rows that were compared before and after; none if nothing was rewritten
 * @param columns the master key of each leaf column; null for one whose statistics stay readable. In files, it may be under
 *   the footer key of the session that wrote them
 * @param properties the table properties that name the keys and the columns with statistics
 * @param named the columns that nothing in the log may show
 * @param readable what stays readable in the newest version
 * @param left what older versions leave readable
 * @param statements how to remove that; older versions cannot be read then
 */
final case class EncryptedDeltaTable(
    path: String,
    version_before: Long,
    version: Long,
    files_rewritten: Long,
    files_written: Long,
    files: Long,
    rows: Option[Long],
    columns: Map[String, String],
    properties: Map[String, String],
    named: Seq[String],
    readable: Seq[String],
    left: Seq[String],
    statements: Seq[String]
) {

  /** For Python. */
  def json: String = EncryptedDeltaTable.mapper.writeValueAsString(this)
}

object EncryptedDeltaTable {
  private val mapper = new ObjectMapper().registerModule(DefaultScalaModule)

  private[pmeparquet] val results: ResultRows[EncryptedDeltaTable] = {
    val texts = MapType(StringType, StringType)
    ResultRows
      .of[EncryptedDeltaTable]
      .required("path", StringType)(_.path)
      .required("version_before", LongType)(_.version_before)
      .required("version", LongType)(_.version)
      .required("files_rewritten", LongType)(_.files_rewritten)
      .required("files_written", LongType)(_.files_written)
      .required("files", LongType)(_.files)
      .optional("rows", LongType)(_.rows)
      .required("columns", texts)(_.columns)
      .required("properties", texts)(_.properties)
      .required("named", ResultRows.Names)(_.named)
      .required("readable", ResultRows.Names)(_.readable)
      .required("left", ResultRows.Names)(_.left)
      .required("statements", ResultRows.Names)(_.statements)
  }

  private val Check = "spark.databricks.delta.retentionDurationCheck.enabled"
  // Delta 4 demands that commits are kept at least as long as deleted files, and compares only what one statement sets.
  private val Compatible =
    "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"
  private val Expiring =
    Seq("delta.logRetentionDuration" -> "interval 0 days", "delta.checkpointInterval" -> "1")

  /** What older versions leave readable. */
  private[delta] def left(removed: Long): Seq[String] = Seq(
    s"$removed ${if (removed == 1) "file" else "files"} that the log lists as removed, and files of failed writes, until VACUUM",
    "commits, .crc files and checkpoints from before: statistics, conditions, and properties",
    "change data and deletion vectors from before, until VACUUM deletes them"
  )

  /**
   * The statements that remove what older versions leave, and leave the table with the properties that it has now.
   *
   * @param name the table in SQL
   */
  private[delta] def statements(name: String, properties: Map[String, String]): Seq[String] = {
    val now = properties.map { case (one, value) => DeltaTable.lower(one) -> value }
    val own =
      Expiring.flatMap { case (one, _) => now.get(DeltaTable.lower(one)).map(one -> _) }
    val absent = Expiring.map(_._1).filterNot(own.map(_._1).toSet)
    def alter(what: String) = s"ALTER TABLE $name $what"
    Seq(
      s"SET $Check=false",
      "-- stop all queries and writes of the table first, in every session: VACUUM deletes the files that they use, and " +
        "time travel to older versions ends:",
      s"VACUUM $name RETAIN 0 HOURS",
      s"RESET $Check",
      "-- after the next midnight in UTC, as Delta deletes only commits from before a day began:",
      s"SET $Compatible=false",
      alter(s"SET TBLPROPERTIES (${listed(Expiring)})")
    ) ++ Some(own).filter(_.nonEmpty).map(set => alter(s"SET TBLPROPERTIES (${listed(set)})")) ++
      Some(absent)
        .filter(_.nonEmpty)
        .map(names => alter(s"UNSET TBLPROPERTIES (${names.map(quoted).mkString(", ")})")) :+
      s"RESET $Compatible"
  }

  private def listed(properties: Seq[(String, String)]) =
    properties.map { case (name, value) => s"${quoted(name)} = ${quoted(value)}" }.mkString(", ")

  private def quoted(text: String) = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
}
