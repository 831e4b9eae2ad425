package io.pmeparquet.spark.options

import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{OptionValues, PmeOptions, ReadSettings, StoredOptions}
import io.pmeparquet.spark.session.SparkAccess

/**
 * The options of one read or write that a stored definition may have set, and what such options may do. ''Driver
 * only.''
 *
 * @param origin where the options come from
 */
private[options] final class DefinitionOptions(session: SparkSession, origin: OptionOrigin) {

  /** Those of these options that somebody else may have written, and that the session does not trust. */
  def in(options: Map[String, String]): Map[String, String] = origin match {
    // Trust in a table does not cover a view of it.
    case table @ OptionOrigin.Stored(Some(name), _, _) if isTrusted(name) => table.beside(options)
    case _ => origin.stored(options)
  }

  /** The user's own options among these. */
  def without(options: Map[String, String]): Map[String, String] = {
    val stored = in(options)
    options.filterNot { case (name, _) => stored.contains(name) }
  }

  /**
   * What a stored definition may set.
   *
   * @param session the options of the session and of Hadoop's configuration
   */
  def rules(session: OptionValues): StoredOptions = {
    val table = origin match {
      // Errors tell the user to trust this table. If the session trusts it already, that does not help.
      case OptionOrigin.Stored(Some(name), _, _) if !isTrusted(name) => Some(TrustedTables.spelled(name))
      case _ => None
    }
    lazy val hadoop = SparkAccess.hadoopConf(this.session, Map.empty)
    new StoredOptions(table, session, name => Option(hadoop.get(name)))
  }

  /** Whether the options are those of a table that the session trusts. */
  def isOfTrustedTable: Boolean = origin match {
    case OptionOrigin.Stored(Some(name), _, _) => isTrusted(name)
    case _ => false
  }

  private def isTrusted(table: Seq[String]) = new TrustedTables(session).contains(table)
}

private[options] object DefinitionOptions {

  /**
   * The reader says which master key opens files that name none. A table cannot.
   *
   * @param stored our options in a definition, by their lower-case names
   */
  def withoutKeyOfTable(settings: ReadSettings, stored: OptionValues): ReadSettings = {
    val namesKey = Seq(PmeOptions.FooterKey, PmeOptions.UniformKey).exists(stored.find(_).isDefined)
    if (namesKey && !settings.directKeys) settings.copy(keyOfFilesWithoutMetadata = None) else settings
  }
}
