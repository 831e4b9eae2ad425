package io.pmeparquet.spark.options

import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/** The tables whose definitions the session trusts: `spark.datasource.pme-parquet.trustedTables`. ''Driver only.'' */
private[spark] final class TrustedTables(session: SparkSession) {
  private val conf = SparkAccess.sqlConf(session)

  /** @param name catalog, database and table */
  def contains(name: Seq[String]): Boolean = listed.exists { trusted =>
    trusted.size == name.size && trusted.zip(name).forall { case (one, other) => isSame(one, other) }
  }

  private def isSame(one: String, other: String) =
    if (conf.caseSensitiveAnalysis) one == other else one.equalsIgnoreCase(other)

  private def listed: Seq[Seq[String]] =
    conf.getAllConfs
      .collect { case (name, value) if name.equalsIgnoreCase(TrustedTables.Setting) => value }
      .flatMap(_.split(","))
      .map(_.trim)
      .filter(_.nonEmpty)
      .map(parsed)
      .toSeq

  private def parsed(text: String): Seq[String] = {
    def bad = PmeErrors.badOption(
      PmeOptions.TrustedTables.name,
      text,
      "names of the form catalog.database.table, separated by commas"
    )
    val parts =
      try session.sessionState.sqlParser.parseMultipartIdentifier(text)
      catch { case _: ParseException => throw bad }
    if (parts.size != TrustedTables.Parts) throw bad
    parts
  }
}

private[spark] object TrustedTables {
  val Setting: String = FormatName.SessionPrefix + PmeOptions.TrustedTables.name
  private val Parts = 3

  /** The name as the setting takes it. */
  def spelled(name: Seq[String]): String =
    name.map(part => if (part.matches("\\w+")) part else s"`${part.replace("`", "``")}`").mkString(".")
}
