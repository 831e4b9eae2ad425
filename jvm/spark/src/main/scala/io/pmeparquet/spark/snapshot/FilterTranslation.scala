package io.pmeparquet.spark.snapshot

import java.math.BigDecimal
import java.sql.Timestamp
import java.time.{Instant, LocalDateTime, ZoneOffset}
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.schema.{LogicalTypeAnnotation, MessageType, PrimitiveType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DecimalLogicalTypeAnnotation,
  TimeUnit,
  TimestampLogicalTypeAnnotation
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{INT32, INT64}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.parquet.{ParquetOptions, ParquetUtils}
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources
import org.apache.spark.sql.types.StructType

import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.SparkAccess

/**
 * Makes parquet-java's predicates of a query's filters, as Spark does for row groups. A filter without such a form is
 * left out, or replaced by one that lets more rows through. ''Driver only.''
 *
 * @param known the columns that predicates may name
 */
private[snapshot] final class FilterTranslation(conf: SQLConf, known: MessageType) {
  import FilterTranslation._

  /** Predicates that each row passes which passes all of the filters. */
  def of(filters: Seq[Expression]): Seq[FilterPredicate] =
    filters.filterNot(readsMetadata).flatMap(conjuncts).flatMap(weaker).flatMap(predicateOf)

  private val exact = conf.clone()
  exact.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)

  private val values = new FileValues(known, conf.caseSensitiveAnalysis)

  private lazy val spark = VectorizedLink.get.parquetFilters(
    values.columns,
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
    case other => pushed(other).orElse(CastBounds.of(other).flatMap(bounds)).flatMap(values.of)
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

private[snapshot] object FilterTranslation {

  /**
   * One schema of several columns; none without columns. Where one column lies in another, as after a struct took the
   * place of a number, neither is in it.
   */
  def union(columns: Seq[MessageType]): Option[MessageType] = {
    val paths = columns.flatMap(_.getPaths.asScala.map(_.toSeq)).distinct
    def clashes(path: Seq[String]) =
      paths.exists(other => other != path && (other.startsWith(path) || path.startsWith(other)))
    columns.filterNot(_.getPaths.asScala.exists(path => clashes(path.toSeq))).reduceOption(_.union(_))
  }

  /** What a file of this calendar says of itself. */
  private val ofThisSpark: String => String = name =>
    if (name == "org.apache.spark.version") "4.0.0" else null

  /**
   * Filters with values as files have them.
   *
   * The schema of a read can have more digits than that of a file, and Spark cuts a decimal that is too large for the
   * integers of the file to the lower bits: a filter with such a decimal is left out.
   *
   * Spark makes no predicates for timestamps without a zone; here they are compared as timestamps in UTC, whose order is
   * the same. It cuts values to the milliseconds of a column in milliseconds, which changes comparisons, so that such
   * filters are left out.
   *
   * @param known the columns that predicates may name
   */
  final class FileValues(known: MessageType, caseSensitive: Boolean) {

    /** The columns, with timestamps without a zone as timestamps in UTC. */
    val columns: MessageType =
      new MessageType(known.getName, known.getFields.asScala.map(inUtc).asJava)

    private val leaves: Map[Seq[String], PrimitiveType] =
      known.getColumns.asScala.map(column => named(column.getPath.toSeq) -> column.getPrimitiveType).toMap

    /** The same filter; none if it cannot be had. */
    def of(filter: sources.Filter): Option[sources.Filter] = filter match {
      case sources.And(left, right) => for (one <- of(left); other <- of(right)) yield sources.And(one, other)
      case sources.Or(left, right) => for (one <- of(left); other <- of(right)) yield sources.Or(one, other)
      case sources.Not(child) => of(child).map(sources.Not(_))
      case sources.EqualTo(name, value) => valueOf(filter, value).map(sources.EqualTo(name, _))
      case sources.EqualNullSafe(name, value) => valueOf(filter, value).map(sources.EqualNullSafe(name, _))
      case sources.LessThan(name, value) => valueOf(filter, value).map(sources.LessThan(name, _))
      case sources.LessThanOrEqual(name, value) =>
        valueOf(filter, value).map(sources.LessThanOrEqual(name, _))
      case sources.GreaterThan(name, value) => valueOf(filter, value).map(sources.GreaterThan(name, _))
      case sources.GreaterThanOrEqual(name, value) =>
        valueOf(filter, value).map(sources.GreaterThanOrEqual(name, _))
      case sources.In(name, values) =>
        val found = values.flatMap(valueOf(filter, _))
        if (found.length == values.length) Some(sources.In(name, found)) else None
      case other => Some(other)
    }

    private def valueOf(filter: sources.Filter, value: Any): Option[Any] = {
      val leaf = leaves.get(named(filter.v2references.head.toSeq))
      value match {
        case null => Some(null)
        case decimal: BigDecimal if !leaf.flatMap(bitsOf).forall(decimal.unscaledValue.bitLength < _) => None
        case _ => leaf.flatMap(timeOf).fold(Option(value))(timeIn(_, value))
      }
    }

    private def named(path: Seq[String]) =
      if (caseSensitive) path else path.map(_.toLowerCase(Locale.ROOT))
  }

  /** The bits of the integers that a decimal column is stored as; none for other columns. */
  private def bitsOf(leaf: PrimitiveType): Option[Int] =
    (leaf.getLogicalTypeAnnotation, leaf.getPrimitiveTypeName) match {
      case (_: DecimalLogicalTypeAnnotation, INT32) => Some(Integer.SIZE)
      case (_: DecimalLogicalTypeAnnotation, INT64) => Some(java.lang.Long.SIZE)
      case _ => None
    }

  private def timeOf(leaf: PrimitiveType): Option[TimestampLogicalTypeAnnotation] =
    (leaf.getPrimitiveTypeName, leaf.getLogicalTypeAnnotation) match {
      case (INT64, time: TimestampLogicalTypeAnnotation) => Some(time)
      case _ => None
    }

  private def timeIn(column: TimestampLogicalTypeAnnotation, value: Any): Option[Any] = {
    val isWhole = column.getUnit == TimeUnit.MICROS || nanos(value).exists(_ % 1000000 == 0)
    value match {
      case _: Timestamp | _: Instant if column.isAdjustedToUTC && isWhole => Some(value)
      case wall: LocalDateTime if !column.isAdjustedToUTC && isWhole => Some(wall.toInstant(ZoneOffset.UTC))
      case _ => None
    }
  }

  private def nanos(value: Any): Option[Int] = value match {
    case timestamp: Timestamp => Some(timestamp.getNanos)
    case instant: Instant => Some(instant.getNano)
    case wall: LocalDateTime => Some(wall.getNano)
    case _ => None
  }

  private def inUtc(field: Type): Type =
    if (field.isPrimitive) leafInUtc(field.asPrimitiveType)
    else field.asGroupType.withNewFields(field.asGroupType.getFields.asScala.map(inUtc).asJava)

  private def leafInUtc(leaf: PrimitiveType): Type =
    timeOf(leaf).filterNot(_.isAdjustedToUTC).fold[Type](leaf) { time =>
      Types
        .primitive(INT64, leaf.getRepetition)
        .as(LogicalTypeAnnotation.timestampType(true, time.getUnit))
        .named(leaf.getName)
    }
}

/**
 * The columns by which a read may skip files, and its filters as predicates of them. ''Driver only.''
 *
 * @param options of the read
 * @param schema of the relation's data columns
 * @param partitions the columns whose values are those of directories, whatever files say
 */
private[snapshot] final class ReadFilters(
    options: ResolvedOptions,
    schema: StructType,
    partitions: StructType
) {
  private val conf = SparkAccess.sqlConf(options.session)

  // How the read converts dates and times of unknown writers.
  private val isRebased =
    new ParquetOptions(options.spelled, conf).datetimeRebaseModeInRead.equalsIgnoreCase("LEGACY")

  // Filters name columns. If Spark finds columns by id, a name may belong to another column.
  private val isOn =
    conf.parquetFilterPushDown && !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(schema))

  /**
   * Whether the read gets the values of a column as they are stated of files.
   *
   * @param isTime whether it holds dates or timestamps
   */
  def reads(column: Seq[String], isTime: Boolean): Boolean =
    !partitions.exists(_.name.equalsIgnoreCase(column.head)) && !(isTime && isRebased)

  /** @param columns that predicates may name, each as a schema */
  def predicates(filters: Seq[Expression], columns: => Seq[MessageType]): Seq[FilterPredicate] =
    if (!isOn || filters.isEmpty) Nil
    else FilterTranslation.union(columns).toSeq.flatMap(new FilterTranslation(conf, _).of(filters))
}
