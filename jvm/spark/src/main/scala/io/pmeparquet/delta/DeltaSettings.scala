package io.pmeparquet.delta

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.options.{OptionSpec, PmeOptions, SettingNames}
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.spark.rules.CryptoFactory
import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.PmeErrors

/**
 * What a session says of its Delta tables: their keys, and what their logs may show. ''Driver only.''
 *
 * @param conf the session's Hadoop configuration, which has its SQL settings as well
 */
private[delta] final class DeltaSettings(conf: Configuration) {
  import DeltaSettings._

  /** The class of the session's crypto factory. */
  val factory: Option[String] = CryptoFactory.of(conf)

  /** Whether the factory is ours. */
  val encrypts: Boolean = CryptoFactory.isOurs(conf)

  /** Whether the configuration has keys by the names that parquet-java's own factory reads. */
  lazy val namesKeysOfOthers: Boolean = SettingNames.OfKeys.exists(conf.get(_) != null)

  /** Whether Delta can write checkpoints: it gives their writer the session's keys, and not those of the table. */
  lazy val encryptsLogs: Boolean = ConfiguredKeys.forLogs(conf)

  /** The keys of every table of the session. */
  private lazy val keys: Map[String, String] = if (encrypts) keysIn(conf) else Map.empty

  /** The keys that the factory would use, by parquet-java's names. */
  private def keysIn(conf: Configuration) = {
    val named = ConfiguredKeys.of(conf)
    Seq(
      DeltaTable.FooterKeyName -> named.footer,
      DeltaTable.ColumnKeysName -> named.columns,
      DeltaTable.UniformKeyName -> named.uniform
    ).collect { case (name, Some(value)) => name -> value }.toMap
  }

  /** The keys of a write to the table: Delta adds the table's properties to the session's configuration. */
  private def keysOf(table: DeltaTable) =
    if (!encrypts) table.keys
    else if (table.keys.isEmpty) keys
    else {
      val both = new Configuration(conf)
      table.properties.foreach { case (name, value) =>
        if (DeltaTable.isOwn(name) && value != null) both.set(name, value)
      }
      keysIn(both)
    }

  /** Whether texts in the log may name protected columns. The strictest value of the setting counts. */
  lazy val allowsText: Boolean = {
    val valid = PmeOptions.DeltaPredicates.values
    val found = values(PmeOptions.DeltaPredicates)
    found.find(!valid.contains(_)).foreach { value =>
      throw PmeErrors.badOption(
        nameOf(PmeOptions.DeltaPredicates),
        value,
        valid.mkString("one of: ", ", ", "")
      )
    }
    found.nonEmpty && found.forall(_ == Allow)
  }

  /** @throws io.pmeparquet.PmeException if a setting for tables with keys has a wrong value */
  def requireValid(): Unit = if (allowsText || allowed.nonEmpty) ()

  /** The names that the setting allows: one set for each of its spellings. */
  private lazy val allowed: Seq[Seq[String]] = values(PmeOptions.DeltaProperties).map { text =>
    val names = text.split(",", -1).toSeq.map(_.trim)
    names.find(!_.matches(AllowedName)).foreach { name =>
      throw PmeErrors.badOption(
        nameOf(PmeOptions.DeltaProperties),
        name,
        "names of properties separated by commas; a name may end in .*"
      )
    }
    names
  }

  /** Whether a table of this session may have a property that Delta adds to the Hadoop configuration of a write. */
  def allowsProperty(name: String): Boolean =
    !DeltaTable.isGuarded(name) && allowed.nonEmpty && allowed.forall(_.exists { one =>
      if (one.endsWith("*")) name.startsWith(one.dropRight(1)) else name == one
    })

  /**
   * The names of the table's protected columns, in lower case: those that the table or the session names. A key that is
   * that of all columns protects all, unless the table or the session also names columns.
   */
  def protectedOf(table: DeltaTable): Set[String] = {
    val counts = keysOf(table)
    val both = Seq(table.keys, keys)
    val named = both.filter(_.contains(DeltaTable.ColumnKeysName))
    // A uniform key of the session overrides the columns that a table names.
    val all =
      if (named.isEmpty) both else if (counts.contains(DeltaTable.ColumnKeysName)) Nil else Seq(counts)
    (named ++ all).flatMap(table.protectedBy).toSet
  }

  /**
   * Whether somebody has named keys for the data of the table. A session needs a footer key for checkpoints, so that key
   * alone does not say that the values of a table are secret.
   */
  def namesKeys(table: DeltaTable): Boolean =
    table.keys.nonEmpty || keys.keys.exists(_ != DeltaTable.FooterKeyName)

  // Names of settings differ in case.
  private def values(option: OptionSpec): Seq[String] =
    conf.iterator.asScala.map(_.getKey).filter(_.equalsIgnoreCase(nameOf(option))).map(conf.get).toList
}

private[delta] object DeltaSettings {
  private val Allow = "allow"
  private val AllowedName = """[^\s*,.][^\s*,]*(\.\*)?"""

  private def nameOf(option: OptionSpec) = FormatName.SessionPrefix + option.name
}
