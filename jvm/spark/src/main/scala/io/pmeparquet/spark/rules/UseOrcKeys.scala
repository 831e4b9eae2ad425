package io.pmeparquet.spark.rules

import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{FileFormat, InsertIntoHadoopFsRelationCommand}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.SparkSession

import io.pmeparquet.orc.keys.PmeKeyProviderFactory
import io.pmeparquet.spark.options.{Asker, OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}

/**
 * Puts our format in the place of Spark's own `orc` where `orc.key.provider` is `pme`, or where a property of the table
 * has master keys for us: ORC's interface for keys gives a provider no way to know whose read it serves. It also hands
 * over these master keys.
 * ''Driver only.''
 */
private[spark] object UseOrcKeys extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case relation @ FileRelation(files, _) =>
      changed(relation, ResolvedOptions.spelled(files.options), relation.catalogTable, Asker.Other)
    case write: InsertIntoHadoopFsRelationCommand =>
      changed(write, ResolvedOptions.spelled(write.options), write.catalogTable, Asker.Other)
  }

  /** @param asker who asked for the relation or write, if it is Spark's own until now */
  def changed(
      node: LogicalPlan,
      options: Map[String, String],
      table: Option[CatalogTable],
      asker: => Asker
  ): LogicalPlan =
    PmeSparkException.translated {
      var isReplaced = false
      val result = PlanFields.withFormats(node) {
        case format: OrcFormat => withProperty(format, options, table)
        case format if isSparks(format) && asksUs(options, table) =>
          isReplaced = true
          withProperty(instead(asker), options, table)
      }
      // Spark's format takes every subclass for its equal, and Spark keeps a node that equals its replacement.
      if (isReplaced) PlanFields.withOptions(result)(_ + Replaced) else result
    }

  /** Has no meaning: options that differ make nodes differ. */
  private val Replaced = "orc.keys.in.place" -> PmeKeyProviderFactory.Kind

  // Rules do not know the class that Spark looks up.
  private def instead(asker: Asker): OrcFormat =
    FormatName.orcFormat.getDeclaredConstructor().newInstance().asInstanceOf[OrcFormat].insteadOfSparks(asker)

  /** Whether a format is `orc` as Spark has it, natively or for `spark.sql.orc.impl=hive`. Subclasses are other formats. */
  def isSparks(format: FileFormat): Boolean =
    format.getClass == classOf[OrcFileFormat] || format.getClass.getName == OfHive

  // In a jar that not every Spark has.
  private val OfHive = "org.apache.spark.sql.hive.orc.OrcFileFormat"

  /** Whether these options, or the session, make us the provider of keys of Spark's own `orc`. */
  def asksUs(options: Map[String, String]): Boolean = provider(options).contains(PmeKeyProviderFactory.Kind)

  /**
   * As the other, for a table: where nothing names a provider, master keys in its property are for us. Without us, ORC
   * would show masks.
   */
  def asksUs(options: Map[String, String], table: Option[CatalogTable]): Boolean =
    asksUs(options) || (provider(options).isEmpty && property(options, table).isDefined)

  /** Whether these options, or the session, name columns to encrypt. */
  def encrypts(options: Map[String, String]): Boolean =
    SparkAccess.valueOf(SparkSession.active, options, OrcConf.ENCRYPTION.getAttribute).exists(_.nonEmpty)

  private def provider(options: Map[String, String]): Option[String] =
    SparkAccess.valueOf(SparkSession.active, options, OrcConf.KEY_PROVIDER.getAttribute)

  private def withProperty(
      format: OrcFormat,
      options: Map[String, String],
      table: Option[CatalogTable]
  ): FileFormat = property(options, table).fold(format)(format.withProperty)

  /** The master keys in the property of a table that the session names. */
  private def property(options: Map[String, String], table: Option[CatalogTable]): Option[String] =
    for {
      known <- table
      name <- ResolvedOptions
        .of(SparkSession.active, OptionOrigin.of(known, hasMore = false), options)
        .orcKeyProperty
      keys <- known.properties.get(name)
    } yield keys
}

/**
 * Does the same, earlier, for what a DataFrame's reader or writer just made: while Spark analyzes that plan, the call
 * stack shows whose its options are, which may then name a KMS. The plan must be that relation or write and nothing else,
 * and must not have been made by the analyzer itself. Options of all others, and of sessions without [[PmeExtensions]], count
 * as a definition's. ''Driver only.''
 */
private[spark] object OrcOfFrames extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // Spark analyzes a command again when it runs it. The analyzer may have made that one, from a table's options.
    case _ if plan.analyzed => plan
    case relation @ FileRelation(files, _) if relation.catalogTable.isEmpty && !relation.isStreaming =>
      ofFrame(relation, files.options)
    case write: InsertIntoHadoopFsRelationCommand if write.catalogTable.isEmpty =>
      ofFrame(write, write.options)
    case _ => plan
  }

  private def ofFrame(node: LogicalPlan, options: Map[String, String]) =
    UseOrcKeys.changed(node, ResolvedOptions.spelled(options), None, Asker.ofAnalyzed())
}
