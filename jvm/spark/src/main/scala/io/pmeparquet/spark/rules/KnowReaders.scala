package io.pmeparquet.spark.rules

import java.util.Locale

import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.read.{OurFormat, ReaderIdentity}
import io.pmeparquet.spark.session.SparkAccess

/**
 * Keeps sessions with different settings from sharing cached data ([[ReaderIdentity]]). It runs while Spark analyses a
 * query, before Spark looks for cached data. Spark keeps the relation of a catalog's table for later queries of the
 * session, whose settings may have changed since. Spark's own formats get an option, if the session has keys for them:
 * Spark takes their relations for equal whatever opens the files. Only sessions with [[PmeExtensions]] have this rule.
 * ''Driver only.''
 */
private[spark] object KnowReaders extends Rule[LogicalPlan] {

  // The relation that Spark keeps for a table of the catalog was analysed before, and rules pass over such a plan.
  override def apply(plan: LogicalPlan): LogicalPlan = AnalysisHelper.allowInvokingTransformsInAnalyzer {
    plan.transformUp {
      case relation: LogicalRelation if !relation.isStreaming =>
        relation.relation match {
          case files: HadoopFsRelation => known(relation, files)
          case _ => relation
        }
    }
  }

  private def known(relation: LogicalRelation, files: HadoopFsRelation): LogicalPlan =
    files.fileFormat match {
      case ours: OurFormat =>
        val now = ReaderIdentity.of(files.sparkSession)
        if (ours.reader.contains(now)) relation
        else {
          // What is cached of the plan so far is read now, too.
          ours.reader.foreach(_.readBy(files.sparkSession))
          PlanFields.withOurs(relation)(_.withReader(now))
        }
      case _: ParquetFileFormat | _: OrcFileFormat if hasKeys(files.sparkSession) =>
        PlanFields.withOptions(relation)(_ + (ReaderOption -> ReaderIdentity.digest(files.sparkSession)))
      case _ => relation
    }

  private def hasKeys(session: SparkSession): Boolean = {
    val named = SparkAccess.sqlConf(session).getAllConfs.keysIterator
    named.exists(isOfKeys) || Prefixes.exists(SparkAccess.hasHadoopValues(session, _))
  }

  private def isOfKeys(name: String) =
    Prefixes.exists(name.toLowerCase(Locale.ROOT).stripPrefix("spark.hadoop.").startsWith)

  private val Prefixes =
    Seq("pme-parquet.", "parquet.crypto.", "parquet.encryption.", "orc.key.", "orc.encrypt")

  /** Has no meaning: options that differ make relations differ. */
  private val ReaderOption = "relation.reader"
}
