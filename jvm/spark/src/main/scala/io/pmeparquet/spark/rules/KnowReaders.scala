package io.pmeparquet.spark.rules

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.orc.OrcTable
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.SettingNames
import io.pmeparquet.spark.read.{EncryptedFileFormat, ReaderIdentity}
import io.pmeparquet.spark.session.SparkAccess

/**
 * Keeps sessions with different settings from sharing cached data ([[ReaderIdentity]]). It runs while Spark analyses a
 * query, before Spark looks for cached data. Spark keeps the relation of a catalog's table for later queries of the
 * session, whose settings may have changed since. Relations of Spark's own formats and of Hive get a mark, because Spark
 * takes them for equal whatever opens the files. Only sessions with [[PmeExtensions]] have this rule. ''Driver only.''
 *
 * A relation of Parquet gets the mark only if a name anywhere asks for encryption: parquet-java decrypts by a crypto
 * factory alone, and that setting is such a name. Other sessions go on sharing what they cache. ORC also decrypts by
 * settings of Hadoop that have many names, so each of its relations gets the mark.
 */
private[spark] final class KnowReaders(session: SparkSession) extends Rule[LogicalPlan] {
  import KnowReaders._

  // The relation that Spark keeps for a table of the catalog was analysed before, and rules pass over such a plan.
  override def apply(plan: LogicalPlan): LogicalPlan = AnalysisHelper.allowInvokingTransformsInAnalyzer {
    plan.transformUp {
      case relation @ FileRelation(files, _) if !relation.isStreaming => known(relation, files)
      case relation: DataSourceV2Relation =>
        relation.table match {
          case table: ParquetTable => marked(relation, table.sparkSession, isOrc = false)
          case table: OrcTable => marked(relation, table.sparkSession, isOrc = true)
          case _ => relation
        }
      case relation: HiveTableRelation => marked(relation)
    }
  }

  private def known(relation: LogicalPlan, files: HadoopFsRelation): LogicalPlan = {
    val reading = files.sparkSession
    def marked(isOrc: Boolean) =
      if (isOrc || mayDecrypt(reading, files.options.keys)) {
        val mark = Mark -> ReaderIdentity.digest(reading)
        if (files.options.get(Mark).contains(mark._2)) relation
        else PlanFields.withOptions(relation)(_ + mark)
      } else relation
    files.fileFormat match {
      case ours: EncryptedFileFormat =>
        val now = ReaderIdentity.of(reading)
        if (ours.reader.contains(now)) relation
        else {
          // What is cached of the plan so far is read now, too.
          ours.reader.foreach(_.readBy(reading))
          PlanFields.withOurs(relation)(_.withReader(now))
        }
      case _: ParquetFileFormat => marked(isOrc = false)
      case _: OrcFileFormat => marked(isOrc = true)
      case other if UseOrcKeys.isSparks(other) => marked(isOrc = true)
      case _ => relation
    }
  }

  private def marked(
      relation: DataSourceV2Relation,
      reading: SparkSession,
      isOrc: Boolean
  ): LogicalPlan = {
    val options = relation.options.asCaseSensitiveMap().asScala.toMap
    if (!isOrc && !mayDecrypt(reading, options.keys)) relation
    else {
      val mark = ReaderIdentity.digest(reading)
      if (options.get(Mark).contains(mark)) relation
      else
        PlanFields.replaced(relation) { case _: CaseInsensitiveStringMap =>
          new CaseInsensitiveStringMap((options + (Mark -> mark)).asJava)
        }
    }
  }

  /**
   * The session that runs the query reads a table of Hive. The mark is in a field that nothing else looks at: properties
   * would reach the configuration of the files, by which the driver knows who may ask it for keys.
   */
  private def marked(relation: HiveTableRelation): LogicalPlan = {
    val table = relation.tableMeta
    val names = table.properties.keys ++ table.storage.properties.keys
    if (!HiveTables.isOrc(table.storage) && !mayDecrypt(session, names)) relation
    else {
      val mark = s" $Mark=${ReaderIdentity.digest(session)}"
      if (table.createVersion.endsWith(mark)) relation
      else {
        val version = table.createVersion.split(s" $Mark=").headOption.getOrElse("") + mark
        PlanFields.replaced(relation) { case _: CatalogTable =>
          PlanFields.copied(table, "createVersion", version)
        }
      }
    }
  }

  private def mayDecrypt(reading: SparkSession, names: Iterable[String]): Boolean =
    (names.iterator ++ SparkAccess.hadoopNames(reading)).exists(SettingNames.concerns)
}

private object KnowReaders {

  /**
   * Has no meaning: options that differ make relations differ. It is in the configuration of the files as well, where
   * settings of Spark's do not count in what distinguishes one KMS from another.
   */
  private val Mark = "spark.sql.relation.reader"
}
