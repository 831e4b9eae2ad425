package io.pmeparquet.spark.rules

import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand
}
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, LogicalRelation}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{
  OrcNames,
  PmeOptions,
  SessionNames,
  SettingNames,
  TellingOptions,
  UnknownOptions
}
import io.pmeparquet.spark.options.TrustedTables
import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Judges properties of tables that are written for parquet-java's crypto factory. Hive's SerDe adds all properties of a
 * table to the Hadoop configuration, where the session does not set them: they could choose the KMS, or let plaintext
 * files pass. Spark's own reader and writer of Hive tables adds those that begin with `parquet.`, and leaves out the
 * others: a key that they name would be no key. Of tables `USING parquet` it adds the options. ''Driver only.''
 */
private[spark] object HiveTables {
  private val Hive = "hive"
  private val KeyNames = SettingNames.OfKeys.toSet
  // Where Hadoop's KMS and its files of credentials are.
  private val OfHadoop = Seq("hadoop.", "dfs.")

  def check(session: => SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    (plan +: plan.subqueriesAll).foreach(_.foreach { node =>
      writtenBy(node).foreach(requireNoNames)
      judge(session, node)
    })
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
      (isOurs && (UnknownOptions.isKnown(name) || SettingNames
        .concerns(name) || SessionNames.optionOf(name).isDefined))
    }
    if (names.nonEmpty)
      throw PmeErrors.propertiesNotHeard(table.identifier.unquotedString, names.toSeq.sorted)
  }

  private def judge(session: => SparkSession, node: LogicalPlan): Unit = node match {
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
      write.catalogTable.foreach(judgeSparks(session, _))
    case create: CreateDataSourceTableAsSelectCommand if !create.table.provider.exists(FormatName.names) =>
      judgeSparks(session, create.table)
    case _ => ()
  }

  private def judgeSparks(session: => SparkSession, table: CatalogTable): Unit = {
    if (isSparks(table)) requireOwn(session, table, ofSpark(table))
    val unread: String => Boolean = if (isHives(table)) isFactorys else isTelling
    requireHeard(
      session,
      table,
      table.provider.filterNot(_ => isHives(table)).getOrElse("parquet"),
      always = true
    )(
      unread
    )
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
      val full = nameOf(table)
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

  private def nameOf(table: CatalogTable) = {
    val name = table.identifier
    Seq(name.catalog.getOrElse("spark_catalog"), name.database.getOrElse("default"), name.table)
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
