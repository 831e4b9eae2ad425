package io.pmeparquet.spark.rules

import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses ORC tables of Hive that ask for our keys and that Spark has left to Hive's SerDe. The SerDe writes what is to be
 * encrypted in plaintext, and may show masks. ''Driver only.''
 */
private[spark] object HiveSerdes extends Rule[LogicalPlan] {
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

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    (plan +: plan.subqueriesAll).foreach(_.foreach(check))
    plan
  }

  private def check(node: LogicalPlan): Unit = node match {
    case read: HiveTableRelation => refuseRead(read.tableMeta)
    case HiveCommands(made @ _*) if node.getClass.getSimpleName != CreatesAndInserts =>
      made.foreach {
        case table: CatalogTable =>
          val options = optionsOf(table)
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

  private def optionsOf(table: CatalogTable) = table.properties ++ table.storage.properties

  private def refuseRead(table: CatalogTable): Unit =
    if (isOrc(table.storage) && UseOrcKeys.asksUs(optionsOf(table), Some(table)))
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

  private def isOrc(storage: CatalogStorageFormat): Boolean =
    Seq(storage.serde, storage.inputFormat, storage.outputFormat).flatten
      .exists(_.toLowerCase(Locale.ROOT).contains("orc"))

  private def isOff(setting: String): Boolean =
    SparkAccess.sqlConf(SparkSession.active).getConfString(setting, "true").equalsIgnoreCase("false")
}
