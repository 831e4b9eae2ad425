package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

/**
 * Options that stand in the definition of a table or view, as a catalog keeps it. Whoever defines a table must not send
 * the credentials of whoever reads it anywhere: so it names no KMS, credential, address, file or class, and nothing else
 * that it is not expressly allowed to. ''Driver only.''
 *
 * @param table its full name, where one is known
 * @param session what the session and the Hadoop configuration say
 * @param hadoop the session's Hadoop configuration
 */
final class StoredOptions(table: Option[String], session: OptionValues, hadoop: String => Option[String]) {

  /**
   * @param options as they are spelled there
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for the first that it may not say
   */
  def check(options: Map[String, String]): Unit =
    options.toSeq.sortBy(_._1).foreach { case (name, value) =>
      if (value != null)
        StoredOptions.specOf(name) match {
          case Some(option) => checkOurs(name, option, value)
          case None if StoredOptions.isForClients(name) && !hadoop(name).contains(value) =>
            throw PmeErrors.storedOption(name, table, s"spark.hadoop.$name")
          case None => ()
        }
    }

  private def checkOurs(name: String, option: OptionSpec, value: String): Unit = {
    val said = ParquetNames.ofName(name, option, value)
    val ofSession = session.textOfSession(option).map(_.trim)
    val allowed = option.ofTable match {
      case OfTable.Yes => true
      case OfTable.UnlessSessionSays => ofSession.forall(isSame(option, _, said)) || isFirst(option, said)
      case OfTable.No =>
        ofSession.orElse(option.default).orElse(option.values.headOption).exists(isSame(option, _, said))
    }
    if (!allowed) throw PmeErrors.storedOption(name, table, StoredOptions.SessionPrefix + option.name)
  }

  private def isSame(option: OptionSpec, one: String, other: String) =
    if (option.values.nonEmpty) one.equalsIgnoreCase(other) else one == other

  private def isFirst(option: OptionSpec, value: String) =
    option.values.headOption.exists(_.equalsIgnoreCase(value))
}

object StoredOptions {
  private val SessionPrefix = "spark.datasource.pme-parquet."

  /** Names that are not ours, and that KMS clients, crypto factories and file systems go by. */
  private val Prefixes =
    Seq(PmeOptions.ParquetPrefix, "parquet.crypto.", "hadoop.", "fs.", "dfs.", "ipc.", "io.", "ssl.")

  /** Names of classes, as Hadoop and Parquet call them. */
  private val OfClass = """.*[._-](class|classes|impl|provider|providers|factory)([._-].*)?""".r.pattern

  private def isForClients(name: String) = {
    val text = lower(name)
    Prefixes.exists(text.startsWith) || OfClass.matcher(text).matches()
  }

  private val byName: Map[String, OptionSpec] = PmeOptions.all
    .flatMap(option => (option.name +: PmeOptions.parquetNameOf(option).toSeq).map(lower(_) -> option))
    .toMap

  private def specOf(name: String): Option[OptionSpec] = byName.get(lower(name))

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
