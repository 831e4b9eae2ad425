package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.columns.{ColumnPolicy, KeyBinding}
import io.pmeparquet.PmeErrors

/**
 * Options in the definition of a table or view in a catalog. The author of a table must not determine where the credentials
 * of its readers go, so a definition must not name a KMS, credential, address, file or class, or anything else that is not
 * explicitly allowed. ''Driver only.''
 *
 * @param table its full name, if known
 * @param session the settings of the session and the Hadoop configuration
 * @param hadoop the Hadoop configuration of the session
 */
final class StoredOptions(table: Option[String], session: OptionValues, hadoop: String => Option[String]) {

  /**
   * @param options with the names of the definition
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for the first that it must not set
   */
  def check(options: Map[String, String]): Unit =
    options.toSeq.sortBy(_._1).foreach { case (name, value) =>
      if (value != null)
        StoredOptions.specOf(name) match {
          case Some(option) => checkOurs(name, option, value)
          case None
              if StoredOptions.isForClients(name) && !hadoop(name)
                .contains(value) && !StoredOptions.isOurs(name, value) =>
            throw PmeErrors.storedOption(name, table, s"spark.hadoop.$name")
          case None => ()
        }
    }

  /**
   * A definition may describe how its files are protected, but must not replace a requirement of the reader. For reads.
   *
   * @param options with the names of the definition
   * @param own the effective values without them
   * @param all the effective values with them
   */
  def checkPolicy(
      options: Map[String, String],
      own: OptionValues,
      all: OptionValues,
      caseSensitive: Boolean
  ): Unit = {
    for (option <- firstOf(StoredOptions.OfColumns, options, own)) {
      val left = Settings.columnPolicy(all, caseSensitive)
      val isBound = own.ofRead.policies.exists(_.bindsKeys)
      def keeps(asked: ColumnPolicy) = left.exists(StoredOptions.keeps(asked, _, isBound))
      if (Settings.columnPolicy(own, caseSensitive).exists(!keeps(_)))
        throw refusal(option)
    }
    for (option <- firstOf(Seq(PmeOptions.AadPrefix), options, own))
      if (own.text(PmeOptions.AadPrefix).exists(prefix => !all.text(PmeOptions.AadPrefix).contains(prefix)))
        throw refusal(option)
  }

  /** One of these that the definition sets, with its name there; preferably one with another value without it. */
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
    def isAsWithout =
      ofSession.orElse(option.default).orElse(option.values.headOption).exists(isSame(option, _, said))
    val allowed = option.ofTable match {
      case OfTable.Yes => true
      case OfTable.UnlessSessionSays => ofSession.forall(isSame(option, _, said)) || isFirst(option, said)
      case OfTable.Only(value, beside) =>
        (value.equalsIgnoreCase(said) && ofSession.forall(own =>
          beside.exists(own.equalsIgnoreCase)
        )) || isAsWithout
      case OfTable.No => isAsWithout
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

  /** Names that are not ours, but that KMS clients, crypto factories and file systems use. */
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

  /** Options with which a read requires a protection of columns. */
  private val OfColumns =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey, PmeOptions.Unlisted)

  /**
   * Whether the second requires everything that the first requires.
   *
   * @param isBound whether a policy binds keys
   */
  private def keeps(asked: ColumnPolicy, left: ColumnPolicy, isBound: Boolean): Boolean =
    (asked, left) match {
      // The first accepts any footer key, so a certain one requires no less.
      case (KeyBinding(None, _, _, _, _), binding: KeyBinding) if binding.copy(footerKey = None) == asked =>
        true
      // Beside a policy, options may name more columns. It refuses what is weaker.
      case (asked: KeyBinding, binding: KeyBinding) if isBound && asked.keys.entries.forall(_.isOfPolicy) =>
        asked.footerKey == binding.footerKey && asked.unlisted == binding.unlisted && asked.ofTags == binding.ofTags &&
        asked.keys.entries == binding.keys.entries.filter(_.isOfPolicy)
      case _ => asked == left
    }

  /** Option names of classes in Hadoop and Parquet. */
  private val OfClass = """.*[._-](class|classes|impl|provider|providers|factory)([._-].*)?""".r.pattern

  /** ORC's option that makes this project the provider of keys: the session says where its KMS is. */
  private def isOurs(name: String, value: String) = lower(name) == "orc.key.provider" && value == "pme"

  private def isForClients(name: String) = {
    val text = lower(name)
    Prefixes.exists(text.startsWith) || OfClass.matcher(text).matches()
  }

  private val byName: Map[String, OptionSpec] = PmeOptions.all
    .flatMap(option => (option.name +: ParquetNames.of(option).toSeq).map(lower(_) -> option))
    .toMap

  private def specOf(name: String): Option[OptionSpec] = byName.get(lower(name))

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
