package io.pmeparquet.spark.snapshots

import org.apache.parquet.filter2.predicate.{FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources

import io.pmeparquet.spark.decode.VectorizedLink

/**
 * Makes parquet-java's predicates of a query's filters, as Spark does for row groups. A filter without such a form is
 * left out, or replaced by one that lets more rows through. ''Driver only.''
 *
 * @param known the columns that predicates may name
 */
private[snapshots] final class FilterTranslation(conf: SQLConf, known: MessageType) {
  import FilterTranslation._

  /** Predicates that each row passes which passes all of the filters. */
  def of(filters: Seq[Expression]): Seq[FilterPredicate] =
    filters.filterNot(readsMetadata).flatMap(conjuncts).flatMap(weaker).flatMap(predicateOf)

  private val exact = conf.clone()
  exact.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)

  private val times = new TimeFilters(known, conf.caseSensitiveAnalysis)

  private lazy val spark = VectorizedLink.get.parquetFilters(
    times.columns,
    conf.parquetFilterPushDownDate,
    conf.parquetFilterPushDownTimestamp,
    conf.parquetFilterPushDownDecimal,
    conf.parquetFilterPushDownStringPredicate,
    conf.parquetFilterPushDownInFilterThreshold,
    conf.caseSensitiveAnalysis,
    // Indexes are of files in the calendar of today.
    DataSourceUtils.datetimeRebaseSpec(ofThisSpark, "CORRECTED")
  )

  private def predicateOf(filter: sources.Filter): Option[FilterPredicate] =
    spark.createFilter(filter).map(LogicalInverseRewriter.rewrite)

  private def readsMetadata(filter: Expression) = filter.references.exists {
    case FileSourceConstantMetadataAttribute(_) => true
    case _ => false
  }

  private def conjuncts(filter: Expression): Seq[Expression] = filter match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
  }

  /** A filter that lets through each row that the expression lets through; none if Spark has no form for it. */
  private def weaker(filter: Expression): Option[sources.Filter] = filter match {
    case And(left, right) =>
      (weaker(left), weaker(right)) match {
        case (Some(one), Some(other)) => Some(sources.And(one, other))
        case (one, other) => one.orElse(other)
      }
    case Or(left, right) =>
      for (one <- weaker(left); other <- weaker(right)) yield sources.Or(one, other)
    // No value equals null, but Spark's predicate of a list with null lets rows with null through.
    case In(value, listed) if listed.exists(isNull) && !listed.forall(isNull) =>
      weaker(In(value, listed.filterNot(isNull)))
    case InSet(value, listed) if listed.exists(_ == null) && listed.size > 1 =>
      weaker(InSet(value, listed.filterNot(_ == null)))
    case other => pushed(other).orElse(CastBounds.of(other).flatMap(bounds)).flatMap(times.of)
  }

  /** As in Spark, but with exact dates and times: its other classes lack the ten days that the calendar left out in 1582. */
  private def pushed(filter: Expression): Option[sources.Filter] =
    SQLConf.withExistingConf(exact)(PushedFilters.of(filter))

  private def isNull(expression: Expression) = expression match {
    case Literal(null, _) => true
    case _ => false
  }

  private def bounds(of: CastBounds): Option[sources.Filter] =
    pushed(IsNotNull(of.value)).collect { case sources.IsNotNull(name) =>
      val all = of.least.map(sources.GreaterThanOrEqual(name, _)).toSeq ++
        of.greatest.map(sources.LessThanOrEqual(name, _))
      all.reduceOption[sources.Filter](sources.And(_, _)).getOrElse(sources.IsNotNull(name))
    }
}

private object FilterTranslation {

  /** What a file of this calendar says of itself. */
  val ofThisSpark: String => String = name => if (name == "org.apache.spark.version") "4.0.0" else null
}
