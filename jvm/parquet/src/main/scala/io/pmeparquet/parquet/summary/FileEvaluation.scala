package io.pmeparquet.parquet.summary

import java.io.ByteArrayOutputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.util.Collections

import scala.util.control.NonFatal

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.{ColumnDescriptor, Encoding, EncodingStats}
import org.apache.parquet.column.page.{DictionaryPage, DictionaryPageReadStore}
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.values.bloomfilter.{BlockSplitBloomFilter, BloomFilter}
import org.apache.parquet.filter2.bloomfilterlevel.BloomFilterImpl
import org.apache.parquet.filter2.dictionarylevel.DictionaryFilter
import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.{
  BlockMetaData,
  ColumnChunkMetaData,
  ColumnPath,
  CompressionCodecName
}
import org.apache.parquet.hadoop.BloomFilterReader
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.parquet.schema.Comparison
import io.pmeparquet.PmeErrors

/**
 * A column of one file, as far as its summaries tell.
 *
 * @param leaf the type that the summaries are of
 * @param summaries in the order in which they are asked
 */
final class KnownColumn(val leaf: PrimitiveType, val summaries: Seq[(SummaryKind, ColumnSummary)])

/**
 * That no row of a file matches.
 *
 * @param uses the columns and the kinds of summaries that prove it
 */
final case class Proof(uses: Set[(Seq[String], SummaryKind)])

/**
 * Decides whether a file can hold a row for a predicate. It recurses over AND/OR, and has parquet-java's filters
 * evaluate each comparison, from what the summaries of its column say, as they do for a row group. What is not proved may match:
 * unknown columns, other types, NaN, NOT. For one thread.
 *
 * @param predicate without NOT (`LogicalInverseRewriter`)
 * @param classes the classes of the user's that this query may use
 */
final class FileEvaluation(
    predicate: FilterPredicate,
    classes: SummaryKind.OfClass => Option[SummaryClass] = FileEvaluation.NoClasses
) {
  import FileEvaluation._

  private val tree = Node.of(predicate)

  /**
   * @param columns of the file, by their paths
   * @param rows of the file
   * @return none if a row may match
   * @throws io.pmeparquet.PmeException if a class of the user's fails
   */
  def holdsNone(columns: Map[Seq[String], KnownColumn], rows: Long): Option[Proof] =
    new OneFile(columns, rows).proof(tree, Set.empty)

  private final class OneFile(columns: Map[Seq[String], KnownColumn], rows: Long) {
    private val prepared = scala.collection.mutable.Map.empty[Seq[String], Seq[KnownSummary]]

    private def summaries(path: Seq[String]): Seq[KnownSummary] = prepared.getOrElseUpdate(
      path,
      columns.get(path).toSeq.flatMap { column =>
        column.summaries.map { case (kind, summary) =>
          new KnownSummary(path, column.leaf, kind, summary, rows)
        }
      }
    )

    /** @param notNull columns that are null in no row which counts: another part of an AND rejects those rows */
    def proof(node: Node, notNull: Set[Seq[String]]): Option[Proof] = node match {
      case Node.All(parts) =>
        val rejected = notNull ++ parts.collect { case Node.One(one) if !one.acceptsNull => one.path }
        first(parts)(proof(_, rejected))
      case Node.Any(parts) =>
        val proofs = parts.iterator.map(proof(_, notNull)).takeWhile(_.isDefined).flatten.toList
        if (proofs.size == parts.size) Some(Proof(proofs.flatMap(_.uses).toSet)) else None
      case Node.One(comparison) if comparison.hasNaN => None
      case Node.One(comparison) =>
        first(summaries(comparison.path)) { summary =>
          if (proves(summary, comparison, notNull(comparison.path)))
            Some(Proof(Set(comparison.path -> summary.kind)))
          else None
        }
      case Node.Unknown => None
    }

    private def proves(summary: KnownSummary, comparison: Comparison, isNotNull: Boolean): Boolean = {
      // What follows only knows of values that are not null.
      val mayBeNull = !isNotNull && !summary.nulls.contains(0L)
      !(comparison.acceptsNull && mayBeNull) && comparison.isOf(summary.leaf) && (summary.ofClass match {
        case Some((kind, content)) => classes(kind).exists(asked(kind, _, content, comparison.predicate))
        case None => summary.holdsNone(comparison)
      })
    }
  }
}

object FileEvaluation {
  private[summary] val NoClasses: SummaryKind.OfClass => Option[SummaryClass] = _ => None

  /** As [[FileEvaluation.holdsNone]], for one file. */
  def holdsNone(
      predicate: FilterPredicate,
      columns: Map[Seq[String], KnownColumn],
      rows: Long,
      classes: SummaryKind.OfClass => Option[SummaryClass] = NoClasses
  ): Option[Proof] = new FileEvaluation(predicate, classes).holdsNone(columns, rows)

  private def asked(
      kind: SummaryKind.OfClass,
      instance: SummaryClass,
      content: Array[Byte],
      comparison: FilterPredicate
  ): Boolean =
    try instance.holdsNone(content.clone(), comparison)
    catch {
      case NonFatal(failed) =>
        throw PmeErrors.summaryClassFailed(kind.className, "a query", failed.toString, failed)
    }

  private def first[A](parts: Seq[A])(proof: A => Option[Proof]): Option[Proof] =
    parts.iterator.map(proof).collectFirst { case Some(found) => found }

  private sealed trait Node
  private object Node {
    final case class All(parts: Seq[Node]) extends Node
    final case class Any(parts: Seq[Node]) extends Node
    final case class One(comparison: Comparison) extends Node
    case object Unknown extends Node

    def of(predicate: FilterPredicate): Node = predicate match {
      case and: Operators.And => All(conjuncts(and).map(of))
      case or: Operators.Or => Any(disjuncts(or).map(of))
      case other => Comparison.of(other).fold[Node](Unknown)(One(_))
    }

    private def conjuncts(predicate: FilterPredicate): Seq[FilterPredicate] = predicate match {
      case and: Operators.And => conjuncts(and.getLeft) ++ conjuncts(and.getRight)
      case other => Seq(other)
    }

    private def disjuncts(predicate: FilterPredicate): Seq[FilterPredicate] = predicate match {
      case or: Operators.Or => disjuncts(or.getLeft) ++ disjuncts(or.getRight)
      case other => Seq(other)
    }
  }
}

/**
 * A summary in the forms that parquet-java's filters take: as metadata of a column chunk that holds those values of the
 * file which are not null, with statistics, a dictionary or a Bloom filter.
 *
 * @param rows of the file
 */
private[summary] final class KnownSummary(
    path: Seq[String],
    val leaf: PrimitiveType,
    val kind: SummaryKind,
    summary: ColumnSummary,
    rows: Long
) {
  import KnownSummary._

  /** The number of rows in which the column is null; none if unknown. */
  val nulls: Option[Long] = summary match {
    case ColumnSummary.Range(_, nulls) => Some(nulls)
    case ColumnSummary.ValueList(_, nulls) => Some(nulls)
    case ColumnSummary.Bloom(_, nulls) => Some(nulls)
    case ColumnSummary.OfClass(_) => None
  }

  /** What only a class of the user's can evaluate. */
  def ofClass: Option[(SummaryKind.OfClass, Array[Byte])] = (kind, summary) match {
    case (kind: SummaryKind.OfClass, ColumnSummary.OfClass(content)) => Some(kind -> content)
    case _ => None
  }

  /**
   * Whether no value that is not null fulfils a comparison.
   *
   * @param comparison with values of this column's type, without NaN
   */
  def holdsNone(comparison: Comparison): Boolean =
    isUsable && (byStatistics(comparison) || (hasOneForm && comparison.hasLengthOf(leaf) &&
      !comparison.hasZero &&
      (byDictionary(comparison) || byBloomFilter(comparison))))

  /** Whether the summary says of a type with an order what it can say; a summary that does not says nothing. */
  private val isUsable = Leaves.hasOrder(leaf) && nulls.exists(some => some >= 0 && some <= rows) &&
    (summary match {
      case ColumnSummary.Range(bounds, _) =>
        bounds.forall { case (min, max) => Leaves.canBound(leaf, min) && Leaves.canBound(leaf, max) }
      case ColumnSummary.ValueList(values, _) => values.forall(Leaves.isValue(leaf, _))
      case ColumnSummary.Bloom(bits, _) =>
        bits.length >= SplitBlocks.BlockBytes && bits.length % SplitBlocks.BlockBytes == 0
      case ColumnSummary.OfClass(_) => false
    })

  /** Whether equal values have equal bytes, so that bytes can be compared or hashed instead. */
  private val hasOneForm = Leaves.hasOneForm(leaf)

  private def byStatistics(comparison: Comparison) =
    StatisticsFilter.canDrop(comparison.predicate, chunks)

  private def byDictionary(comparison: Comparison) = dictionary.exists { page =>
    val store = new DictionaryPageReadStore {
      override def readDictionaryPage(column: ColumnDescriptor): DictionaryPage = page
    }
    DictionaryFilter.canDrop(comparison.predicate, chunks, store)
  }

  private def byBloomFilter(comparison: Comparison) = bloomFilter.exists { filter =>
    val reader = new BloomFilterReader(null, new BlockMetaData) {
      override def readBloomFilter(meta: ColumnChunkMetaData): BloomFilter = filter
    }
    BloomFilterImpl.canDrop(comparison.predicate, chunks, reader)
  }

  private lazy val chunks = Collections.singletonList(
    ColumnChunkMetaData.get(
      ColumnPath.get(path: _*),
      leaf,
      CompressionCodecName.UNCOMPRESSED,
      AllInDictionary,
      Collections.emptySet[Encoding],
      statistics,
      0L,
      0L,
      rows - nulls.getOrElse(0L),
      0L,
      0L
    )
  )

  private def statistics: Statistics[_] = summary match {
    case ColumnSummary.Range(Some((min, max)), _) => statisticsOf(min, max)
    // Dictionaries of booleans are not evaluated, nor are comparisons with zero.
    case ColumnSummary.ValueList(values, _) if values.nonEmpty && Leaves.needsBounds(leaf) =>
      values.map(value => statisticsOf(value, value)).reduceLeft { (all, more) =>
        all.asInstanceOf[Statistics[Integer]].mergeStatistics(more)
        all
      }
    case _ => Statistics.getBuilderForReading(leaf).withNumNulls(0).build()
  }

  private def statisticsOf(min: Array[Byte], max: Array[Byte]): Statistics[_] =
    Statistics.getBuilderForReading(leaf).withMin(min).withMax(max).withNumNulls(0).build()

  private lazy val dictionary: Option[DictionaryPage] = summary match {
    case ColumnSummary.ValueList(values, _) if leaf.getPrimitiveTypeName != BOOLEAN =>
      Some(new DictionaryPage(BytesInput.from(plain(values)), values.size, Encoding.PLAIN))
    case _ => None
  }

  /** The values in the encoding `PLAIN`. */
  private def plain(values: Seq[Array[Byte]]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val length = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN)
    values.foreach { value =>
      if (leaf.getPrimitiveTypeName == BINARY) out.write(length.putInt(0, value.length).array)
      out.write(value)
    }
    out.toByteArray
  }

  private lazy val bloomFilter: Option[BloomFilter] = summary match {
    case ColumnSummary.Bloom(bits, _) if Leaves.isHashed(leaf) =>
      Some(new BlockSplitBloomFilter(bits))
    case _ => None
  }
}

private object KnownSummary {
  private val AllInDictionary =
    new EncodingStats.Builder()
      .addDictEncoding(Encoding.PLAIN)
      .addDataEncoding(Encoding.RLE_DICTIONARY)
      .build()
}
