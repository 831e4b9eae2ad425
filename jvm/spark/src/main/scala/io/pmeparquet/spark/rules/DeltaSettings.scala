package io.pmeparquet.spark.rules

import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{OptionSpec, PmeOptions}
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/** What a session says of its Delta tables: their keys, and what their logs may show. ''Driver only.'' */
private[rules] final class DeltaSettings(session: SparkSession) {
  import DeltaSettings._

  /** The class of the session's crypto factory. */
  lazy val factory: Option[String] =
    SparkAccess.valueOf(session, Map.empty, Factory).filter(_.nonEmpty)

  /** Whether the factory is ours. */
  lazy val encrypts: Boolean = factory.contains(FormatName.CryptoFactoryClass)

  /** The keys of every table of the session. */
  private lazy val keys: Map[String, String] =
    if (!encrypts) Map.empty
    else {
      val conf = SparkAccess.hadoopConf(session, Map.empty)
      val names = Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
      names.flatMap { option =>
        val java = PmeOptions.ParquetPrefix + option.parquetName.get
        Option(conf.get(PmeOptions.FactoryPrefix + option.name)).orElse(Option(conf.get(java))).map(java -> _)
      }.toMap
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
    found.nonEmpty && found.forall(_ == "allow")
  }

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
   * The names of the table's protected columns, in lower case. A footer key alone protects all columns, unless the table or
   * the session names columns beside it.
   */
  def protectedOf(table: DeltaTable): Set[String] = {
    val both = Seq(table.keys, keys)
    val named = both.filter(DeltaTable.namesColumns)
    (if (named.isEmpty) both else named).flatMap(table.protectedBy).toSet
  }

  /**
   * Whether somebody has named keys for the data of the table. A session needs a footer key for checkpoints, so that key
   * alone does not say that the values of a table are secret.
   */
  def namesKeys(table: DeltaTable): Boolean =
    table.keys.nonEmpty || keys.keys.exists(_ != DeltaTable.FooterKeyName)

  /** What Delta adds to the properties of a new table. */
  def defaultProperties: Map[String, String] =
    SparkAccess.sqlConf(session).getAllConfs.collect {
      case (name, value) if name.startsWith(DefaultsPrefix) =>
        s"delta.${name.drop(DefaultsPrefix.length)}" -> value
    }

  // Names of settings differ in case.
  private def values(option: OptionSpec): Seq[String] =
    SparkAccess
      .sqlConf(session)
      .getAllConfs
      .collect { case (name, value) if name.equalsIgnoreCase(nameOf(option)) => value }
      .toSeq
}

private[rules] object DeltaSettings {
  val Factory = "parquet.crypto.factory.class"
  private val DefaultsPrefix = "spark.databricks.delta.properties.defaults."
  private val AllowedName = """[^\s*,.][^\s*,]*(\.\*)?"""

  private def nameOf(option: OptionSpec) = FormatName.SessionPrefix + option.name
}
