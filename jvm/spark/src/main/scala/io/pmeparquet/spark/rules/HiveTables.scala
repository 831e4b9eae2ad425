package io.pmeparquet.spark.rules

import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand
}
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{OrcNames, ParquetNames, PmeOptions, SessionNames, SettingNames, TellingOptions}
import io.pmeparquet.spark.options.{OptionOrigin, TrustedTables}
import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * What tables of Hive must not do to encryption.
 *
 * The check looks at properties of tables that are written for parquet-java's crypto factory. Hive's SerDe adds all
 * properties of a table to the Hadoop configuration, where the session does not set them: they could choose the KMS, or
 * let plaintext files pass. Spark's own reader and writer of Hive tables adds those that begin with `parquet.`, and leaves
 * out the others: a key that they name would be no key. Of tables `USING parquet` it adds the options.
 *
 * The optimizer rule refuses ORC tables of Hive that ask for our keys and that Spark has left to Hive's SerDe. The SerDe
 * writes what is to be encrypted in plaintext, and may show masks. ''Driver only.''
 */
private[spark] object HiveTables extends Rule[LogicalPlan] {
  private val Hive = "hive"
  private val KeyNames = SettingNames.OfKeys.toSet
  // Where Hadoop's KMS and its files of credentials are.
  private val OfHadoop = Seq("hadoop.", "dfs.")

  private val Convert = "spark.sql.hive.convertMetastoreOrc"
  private val InsertingSettings = Seq(
    Convert,
    "spark.sql.hive.convertInsertingPartitionedTable",
    "spark.sql.hive.convertInsertingUnpartitionedTable",
    "spark.sql.hive.convertMetastoreCtas"
  )
  private val DirectorySettings = Seq(Convert, "spark.sql.hive.convertMetastoreInsertDir")

  /** It creates the table and runs an insert, and this rule sees that one by itself. */
  private val CreatesAndInserts = "CreateHiveTableAsSelectCommand"

  def check(session: => SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    PlanFields.nodes(plan).foreach { node =>
      writtenBy(node).foreach(requireNoNames)
      checkProperties(session, node)
    }
  }

  private def writtenBy(node: LogicalPlan): Seq[CatalogTable] = node match {
    case write: InsertIntoHadoopFsRelationCommand => write.catalogTable.toSeq
    case create: CreateDataSourceTableAsSelectCommand => Seq(create.table)
    case create: CreateDataSourceTableCommand => Seq(create.table)
    case HiveCommands(made @ _*) => made.collect { case table: CatalogTable => table }
    case _ => Nil
  }

  /**
   * Refuses properties of a table that are meant as its options. Properties have any names, so for another format only
   * names of keys show what was meant. For Spark's ORC it is ORC's own names: Spark hands over options and no properties.
   */
  private def requireNoNames(table: CatalogTable): Unit = {
    val isOurs = table.provider.exists(FormatName.names)
    val isOrc = table.provider.exists(_.equalsIgnoreCase("orc"))
    val keys = TellingOptions.ofKeys(table.properties.keys).toSet
    val names = table.properties.keys.filter { name =>
      keys.contains(name) || (isOrc && OrcNames.concerns(name) && !table.storage.properties.contains(name)) ||
      (isOurs && (ParquetNames.isOption(name) || isTelling(name) || SessionNames.optionOf(name).isDefined))
    }
    if (names.nonEmpty)
      throw PmeErrors.propertiesNotHeard(table.identifier.unquotedString, names.toSeq.sorted)
  }

  private def checkProperties(session: => SparkSession, node: LogicalPlan): Unit = node match {
    case read: HiveTableRelation => requireOwn(session, read.tableMeta, ofSerde(read.tableMeta))
    case HiveCommands(made @ _*) =>
      made.foreach {
        case table: CatalogTable =>
          requireOwn(session, table, ofSerde(table))
          requireHeard(session, table, Hive)(isTelling)
        case _ => ()
      }
    case relation: LogicalRelation =>
      relation.catalogTable.filter(isSparks).foreach(table => requireOwn(session, table, ofSpark(table)))
    case write: InsertIntoHadoopFsRelationCommand if !write.fileFormat.isInstanceOf[EncryptedFileFormat] =>
      write.catalogTable.foreach(checkSparks(session, _))
    case create: CreateDataSourceTableAsSelectCommand if !create.table.provider.exists(FormatName.names) =>
      checkSparks(session, create.table)
    case _ => ()
  }

  private def checkSparks(session: => SparkSession, table: CatalogTable): Unit = {
    if (isSparks(table)) requireOwn(session, table, ofSpark(table))
    val format = table.provider.filterNot(_ => isHives(table)).getOrElse("parquet")
    requireHeard(session, table, format, always = true)(if (isHives(table)) isFactorys else isTelling)
  }

  private def isHives(table: CatalogTable) = table.provider.forall(_.equalsIgnoreCase(Hive))

  /** Whether Spark's own reader and writer of Parquet get the table's options. */
  private def isSparks(table: CatalogTable) = isHives(table) || table.provider.exists { name =>
    name.equalsIgnoreCase("parquet") || name == classOf[ParquetFileFormat].getName
  }

  private def ofSerde(table: CatalogTable) = table.storage.properties ++ table.properties

  private def ofSpark(table: CatalogTable) =
    table.properties.filter { case (name, _) => isHives(table) && name.startsWith("parquet.") } ++
      table.storage.properties

  /** Names of keys may come from a table, and nothing else that the factory or a KMS looks at. */
  private def requireOwn(
      session: => SparkSession,
      table: CatalogTable,
      properties: Map[String, String]
  ): Unit = {
    val (chosen, others) =
      properties.filter { case (name, _) => isForeign(name) }.toSeq.sorted.partition { case (name, _) =>
        name.equalsIgnoreCase(FormatName.CryptoFactorySetting)
      }
    if (chosen.nonEmpty || others.nonEmpty) {
      lazy val conf = SparkAccess.hadoopConf(session, Map.empty)
      val full = OptionOrigin.nameOf(table)
      (chosen ++ (if (CryptoFactory.isOurs(conf)) others else Nil))
        .find { case (name, value) => conf.getRaw(name) != value }
        .filterNot(_ => new TrustedTables(session).contains(full))
        .foreach { case (name, _) =>
          throw PmeErrors.storedOption(name, Some(TrustedTables.spelled(full)), s"spark.hadoop.$name")
        }
    }
  }

  /**
   * Refuses a write where properties ask for encryption, and nothing reads them.
   *
   * @param always whether nothing reads them with our factory either
   */
  private def requireHeard(
      session: => SparkSession,
      table: CatalogTable,
      format: String,
      always: Boolean = false
  )(isMeant: String => Boolean): Unit = {
    val names = table.properties.keys.filter(isMeant).toSeq.sorted
    if (names.nonEmpty) {
      val conf = SparkAccess.hadoopConf(session, Map.empty)
      val unread =
        if (always) names.filter(name => conf.getRaw(name) != table.properties(name))
        else if (CryptoFactory.isOurs(conf)) Nil
        else if (CryptoFactory.of(conf).isDefined) names.filter(isFactorys)
        else names
      if (unread.nonEmpty) throw PmeErrors.optionsOfOurs(unread, format)
    }
  }

  private def isForeign(name: String) = {
    val letters = lower(name)
    isFactorys(name) || letters == FormatName.CryptoFactorySetting || OfHadoop.exists(letters.startsWith) ||
    (letters.startsWith(PmeOptions.ParquetPrefix) && !KeyNames.contains(name))
  }

  private def isTelling(name: String) = SettingNames.concerns(name)

  private def isFactorys(name: String) = TellingOptions.ofFactory(Seq(name)).nonEmpty

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    PlanFields.nodes(plan).foreach(checkSerde)
    plan
  }

  private def checkSerde(node: LogicalPlan): Unit = node match {
    case read: HiveTableRelation => refuseRead(read.tableMeta)
    case HiveCommands(made @ _*) if node.getClass.getSimpleName != CreatesAndInserts =>
      made.foreach {
        case table: CatalogTable =>
          val options = ofTable(table)
          if (UseOrcKeys.asksUs(options, Some(table)))
            refuseWrite(table.identifier.unquotedString, options, table.storage, InsertingSettings)
        case storage: CatalogStorageFormat =>
          val place = storage.locationUri.fold("INSERT OVERWRITE DIRECTORY")(_.toString)
          if (UseOrcKeys.asksUs(storage.properties))
            refuseWrite(place, storage.properties, storage, DirectorySettings)
        case _ => ()
      }
    case _ => ()
  }

  private def ofTable(table: CatalogTable) = table.properties ++ table.storage.properties

  private def refuseRead(table: CatalogTable): Unit =
    if (isOrc(table.storage) && UseOrcKeys.asksUs(ofTable(table), Some(table)))
      throw PmeErrors.orcReadByHive(table.identifier.unquotedString, Convert)

  /** A write that asks for no encryption is Spark's own affair, as it is without the SerDe. */
  private def refuseWrite(
      where: String,
      options: Map[String, String],
      storage: CatalogStorageFormat,
      settings: Seq[String]
  ): Unit =
    if (isOrc(storage) && UseOrcKeys.encrypts(options))
      throw PmeErrors.orcWrittenByHive(where, settings.filter(isOff))

  def isOrc(storage: CatalogStorageFormat): Boolean =
    Seq(storage.serde, storage.inputFormat, storage.outputFormat).flatten.exists(lower(_).contains("orc"))

  private def isOff(setting: String): Boolean =
    SparkAccess.sqlConf(SparkSession.active).getConfString(setting, "true").equalsIgnoreCase("false")
}
