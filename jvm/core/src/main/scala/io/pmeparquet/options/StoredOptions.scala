package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.columns.{ColumnPolicy, KeyBinding}
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

  /**
   * A definition says how its own files are protected, and replaces nothing that is asked of them without it. For reads.
   *
   * @param options as they are spelled there
   * @param own what holds without them
   * @param all what holds with them
   */
  def checkPolicy(
      options: Map[String, String],
      own: OptionValues,
      all: OptionValues,
      caseSensitive: Boolean
  ): Unit = {
    for (option <- firstOf(StoredOptions.OfColumns, options, own)) {
      val left = Settings.columnPolicy(all, caseSensitive)
      if (
        Settings.columnPolicy(own, caseSensitive).exists(asked => !left.exists(StoredOptions.keeps(asked, _)))
      )
        throw refusal(option)
    }
    for (option <- firstOf(Seq(PmeOptions.AadPrefix), options, own))
      if (own.text(PmeOptions.AadPrefix).exists(prefix => !all.text(PmeOptions.AadPrefix).contains(prefix)))
        throw refusal(option)
  }

  /** One of these that a definition says, with its name there; rather one of which something else holds without it. */
  private def firstOf(
      wanted: Seq[OptionSpec],
      options: Map[String, String],
      own: OptionValues
  ): Option[(String, OptionSpec)] = {
    val said = for {
      (name, value) <- options.toSeq.sortBy(_._1) if value != null
      option <- StoredOptions.specOf(name) if wanted.contains(option)
    } yield (name, option, own.text(option).map(_.trim).contains(ParquetNames.ofName(name, option, value)))
    said.sortBy(_._3).headOption.map { case (name, option, _) => name -> option }
  }

  private def refusal(option: (String, OptionSpec)) =
    PmeErrors.storedOption(option._1, table, StoredOptions.SessionPrefix + option._2.name)

  private def checkOurs(name: String, option: OptionSpec, value: String): Unit = {
    val said = ParquetNames.ofName(name, option, value)
    val ofSession = session.textOfSession(option).map(_.trim)
    val allowed = option.ofTable match {
      case OfTable.Yes => true
      case OfTable.UnlessSessionSays => ofSession.forall(isSame(option, _, said)) || isFirst(option, said)
      case OfTable.No =>
        ofSession.orElse(option.default).orElse(option.values.headOption).exists(isSame(option, _, said))
    }
    if (!allowed) throw refusal(name -> option)
  }

  private def isSame(option: OptionSpec, one: String, other: String) =
    if (option.values.nonEmpty) one.equalsIgnoreCase(other) else one == other

  private def isFirst(option: OptionSpec, value: String) =
    option.values.headOption.exists(_.equalsIgnoreCase(value))
}

object StoredOptions {
  private val SessionPrefix = "spark.datasource.pme-parquet."

  /** Names that are not ours, and that KMS clients, crypto factories and file systems go by. */
  private val Prefixes = Seq(
    PmeOptions.ParquetPrefix,
    "parquet.crypto.",
    "hadoop.",
    "fs.",
    "dfs.",
    "ipc.",
    "io.",
    "ssl.",
    "google.",
    "yarn.",
    "mapreduce.",
    "javax.",
    "net."
  )

  /** By which a read asks how columns are protected. */
  private val OfColumns =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey, PmeOptions.Unlisted)

  /** Whether the second asks all that the first does. */
  private def keeps(asked: ColumnPolicy, left: ColumnPolicy): Boolean = (asked, left) match {
    // Any footer key would do: a certain one is not less.
    case (KeyBinding(None, _, _, _), binding: KeyBinding) => binding.copy(footerKey = None) == asked
    case _ => asked == left
  }

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
