package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, Spelling}

/**
 * Names of settings in a Hadoop configuration that ask for encryption: `pme-parquet.*` for our crypto factory,
 * `parquet.encryption.*` for any, and `parquet.crypto.*`, which chooses the factory. Whoever reads such settings looks for
 * exact names and ignores all others, so a name that is almost right is an error.
 */
object SettingNames {
  val CryptoPrefix = "parquet.crypto."
  val FactoryClass = "parquet.crypto.factory.class"

  /** What Spark takes away from settings before it starts, and only then. */
  private val SparkPrefix = "spark.hadoop."

  private val Prefixes = Seq(PmeOptions.FactoryPrefix, PmeOptions.ParquetPrefix, CryptoPrefix)
  private val ours: Seq[String] = PmeOptions.all.map(_.name)
  private val javas: Seq[String] = PmeOptions.all.flatMap(ParquetNames.of(_)).distinct :+ FactoryClass
  private val full: Seq[String] = ours.map(PmeOptions.FactoryPrefix + _) ++ javas

  /** The names by which parquet-java finds keys. */
  val OfKeys: Seq[String] =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey).flatMap(ParquetNames.of(_))

  /** The name without Spark's prefix. */
  def bare(name: String): String =
    if (hasSparkPrefix(name)) name.drop(SparkPrefix.length) else name

  def hasSparkPrefix(name: String): Boolean = name.regionMatches(true, 0, SparkPrefix, 0, SparkPrefix.length)

  /**
   * Whether a setting asks for encryption, in any letters, with or without Spark's prefix. A name that begins almost
   * right asks, too.
   */
  def concerns(name: String): Boolean = {
    val text = bare(name)
    Prefixes.exists(begins(text, _)) || meant(text).isDefined
  }

  /** Whether only our crypto factory reads the setting, or what the setting was meant to be. */
  def isFactorys(name: String): Boolean = begins(bare(name), PmeOptions.FactoryPrefix)

  /**
   * Settings of a KMS class have names that we do not know, so these pass. Spark gives the options of a read in lower case.
   *
   * @param name without Spark's prefix
   * @throws io.pmeparquet.PmeException for a name that nobody reads, and that is almost one that somebody reads
   */
  def check(name: String): Unit = Prefixes.find(begins(name, _)) match {
    case None => meant(name).foreach(right => throw misspelt(name, right))
    case Some(prefix) =>
      val rest = name.drop(prefix.length)
      val right = prefix + rest
      if (prefix == PmeOptions.FactoryPrefix) {
        if (!ParquetNames.isOption(rest)) throw misspelt(name, prefix + nearest(rest, ours))
        if (name != right) throw misspelt(name, right)
      } else
        javas.find(_.equalsIgnoreCase(name)) match {
          case Some(known) => if (name != known && name != lower(known)) throw misspelt(name, known)
          case None =>
            javas.find(isNear(name, _)).foreach(known => throw misspelt(name, known))
            if (name != right) throw misspelt(name, right)
        }
  }

  /**
   * The name that is meant by one that does not begin right: `pme_parquet.footerKey`, `parquet.encrypton.footer.key`,
   * `spark.sql.parquet.crypto.factory.class`. Other names that end so, such as Delta's defaults for properties, pass.
   */
  private def meant(name: String): Option[String] =
    if (!lower(name).contains("parquet")) None
    else {
      val text = name.trim.replaceFirst("^(?i)((spark|hadoop|sql)\\.)+", "")
      full.find(_.equalsIgnoreCase(text)).orElse(full.find(Spelling.isNear(text, _, MostSlips)))
    }

  private def misspelt(name: String, right: String) = PmeErrors.unknownOption("setting", name, right)

  private def nearest(name: String, names: Seq[String]) = Spelling.nearest(name, names).head

  private def isNear(name: String, known: String) = kindOf(known).forall(kindOf(name).contains(_)) &&
    (Spelling.isNear(name, known, MostSlips) || words(name) == words(known))

  /** Whose setting it is among the KMSs of ours. A KMS class of the user's has settings of the same form. */
  private def kindOf(name: String): Option[String] = lower(name).split('.') match {
    case Array("parquet", "encryption", "kms", kind, _, _*) if Kinds.contains(kind) => Some(kind)
    case _ => None
  }

  private val Kinds = ClientKind.all.map(_.name).toSet

  /** `column_key` and `columnKeys` are meant to be `column.keys`. */
  private def words(name: String) = lower(name).filter(_.isLetter).replace("s", "")

  private val MostSlips = 2

  private def begins(name: String, prefix: String) = name.regionMatches(true, 0, prefix, 0, prefix.length)

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

/** Names of settings of the formats in a session: `spark.datasource.pme-parquet.<option>`, for all formats of ours. */
object SessionNames {
  val Prefix = "spark.datasource.pme-parquet."

  // Spark gives each data source a prefix of its name, so people try these.
  private val Ours = "(?i)(spark\\.hadoop\\.)?spark\\.datasource\\.pme[-_]?(parquet|orc)\\.(.*)".r

  /** The option of a setting that was meant for a format of ours. */
  def optionOf(name: String): Option[String] = name match {
    // Each read asks for all names of Hadoop's configuration. Few begin so.
    case other if !other.regionMatches(true, 0, "spark.", 0, "spark.".length) => None
    case Ours(_, _, option) => Some(option)
    case _ => None
  }

  /** Whether it is the setting of the session's policy, in any letters. */
  def isPolicy(name: String): Boolean =
    isRead(name) && optionOf(name).exists(_.equalsIgnoreCase(PmeOptions.Policy.name))

  /** Whether a format of ours reads the setting, if the session has it. */
  def isRead(name: String): Boolean = name.regionMatches(true, 0, Prefix, 0, Prefix.length)
}

/**
 * The properties of Delta's draft for encryption (delta-io/delta, pull request 7470). Delta adds properties of a table to the
 * configuration of its writes. Those for keys mean what parquet-java's names mean. The others choose a KMS, which a table must
 * not do, or leave the footer readable.
 */
object DeltaNames {
  val Prefix = "delta.encryption."
  private val Javas =
    Seq("footer_key" -> PmeOptions.FooterKey, "column_keys" -> PmeOptions.ColumnKeys).flatMap {
      case (name, option) =>
        ParquetNames.of(option).map(Prefix + name -> _)
    }.toMap
  private val Harmless = Map(Prefix + "plaintext_footer" -> "false")

  /** parquet-java's name of a property, if it is one of the draft's for keys; Delta's names have these letters only. */
  def javas(name: String): Option[String] = Javas.get(name)

  def concerns(name: String): Boolean = name.toLowerCase(Locale.ROOT).startsWith(Prefix)

  /** Whether a property, which may be none of the draft's, leaves keys and the footer as they are. */
  def isSafe(name: String, value: String): Boolean =
    !concerns(name) || Javas.contains(name) || Harmless.get(name).contains(value)
}

/** Names of ORC's own settings that ask for encryption. ORC looks for exact names and ignores all others. */
object OrcNames {
  val Encrypt = "orc.encrypt"
  private val Mask = "orc.mask"
  private val Known = Seq(Encrypt, "orc.key.provider", Mask)

  /** Whether a setting asks for encryption, in any letters, with or without Spark's prefix. */
  def concerns(name: String): Boolean = meant(SettingNames.bare(name)).isDefined

  /** @throws io.pmeparquet.PmeException for a name that ORC does not read, and that is almost one that it reads */
  def check(name: String): Unit = if (!Known.contains(name))
    meant(name).foreach(right => throw PmeErrors.unknownOption("setting", name, right))

  private def meant(name: String): Option[String] = {
    val text = name.toLowerCase(Locale.ROOT)
    if (text.startsWith("orc.")) Known.find(known => text.startsWith(known) || isNear(text, known)) else None
  }

  // Short names are near too many others.
  private def isNear(text: String, known: String) =
    known != Mask && Spelling.isNear(text, known, 2)
}
