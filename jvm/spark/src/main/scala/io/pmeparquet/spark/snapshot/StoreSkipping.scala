package io.pmeparquet.spark.snapshot

import java.io.ByteArrayInputStream
import java.util.Locale

import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{GroupType, MessageType, Type}
import org.apache.spark.sql.catalyst.expressions.{Expression, In, InSet, IsNotNull, Not}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.util.sketch.BloomFilter
import org.slf4j.LoggerFactory

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary.Proof
import io.pmeparquet.snapshot.xskipper.{
  FileId,
  SketchLookup,
  StoreContent,
  StoreEvaluation,
  StoreIndex,
  StoreRow,
  StoredType
}
import io.pmeparquet.spark.options.{ResolvedOptions, StoreResolver}

/**
 * Evaluates a query's filters for files by a store of Xskipper's. A row of the store counts for a file only if it states
 * the path and the modification time that Spark lists now, and a file is left out only if every row that counts for it
 * proves that it holds no row. ''Driver only.''
 *
 * @param schema of the relation's data columns
 */
private[spark] final class StoreSkipping private (
    read: ReadFilters,
    schema: StructType,
    store: StoreResolver
) {
  import StoreSkipping._

  /** The columns that a store can tell of, by their names in it: lower case, with dots. One that is meant twice is none. */
  private lazy val columns: Map[String, Column] = leaves(schema, Nil)
    .groupBy(_.path.mkString(".").toLowerCase(Locale.ROOT))
    .collect { case (name, Seq(one)) => name -> one }
    .filter { case (_, one) => read.reads(one.path, isTime(one.of)) }

  /** What the store proves for these filters. */
  private[snapshot] def of(filters: Seq[Expression]): Proofs = {
    val names = filters.flatMap(_.references).map(_.name.toLowerCase(Locale.ROOT)).toSet
    val named = columns.values.filter(one => names(one.path.head.toLowerCase(Locale.ROOT))).toSeq
    val conditions = read.predicates(filters ++ filters.flatMap(notNull), named.map(_.schema))
    if (conditions.isEmpty) NoProofs else proofs(conditions, named)
  }

  /** Spark does not add it to NOT IN, which no row with null passes. Stores do not count nulls. */
  private def notNull(filter: Expression): Option[Expression] = filter match {
    case Not(In(value, listed)) if listed.nonEmpty => Some(IsNotNull(value))
    case Not(InSet(value, listed)) if listed.nonEmpty => Some(IsNotNull(value))
    case _ => None
  }

  private def proofs(conditions: Seq[FilterPredicate], named: Seq[Column]): Proofs = {
    val used = conditions.flatMap(PredicateColumns.of(_).map(_.toArray.toSeq)).toSet
    val types = named.map(one => one.path -> one.of).toMap
    val evaluation = new StoreEvaluation(conditions, types, Sketches)
    val proofs = mutable.HashMap.empty[FileId, Option[Proof]]
    val problems = store.store.foreach(isWanted(_, used)) { row =>
      // One row that proves nothing is enough to read the file.
      val proof =
        if (proofs.get(row.id).exists(_.isEmpty)) None else evaluation.holdsNone(summariesOf(row))
      proofs.update(row.id, proof)
    }
    warn(problems)
    (path, modified) =>
      FileId.of(path, modified, store.directory).flatMap(proofs.get(_)) match {
        case found if found.nonEmpty && found.forall(_.isDefined) => found.head
        case _ => None
      }
  }

  private def isWanted(index: StoreIndex, used: Set[Seq[String]]): Boolean = columnOf(index).exists { column =>
    used(column.path) && (index.content match {
      case StoreContent.MinMax(of) => of == column.of
      case StoreContent.ValueList(of) => of == column.of
      case StoreContent.Serialized(_) => true
      case StoreContent.Unknown(_) => false
    })
  }

  private def columnOf(index: StoreIndex): Option[Column] = index.columns match {
    case Seq(one) => columns.get(one.toLowerCase(Locale.ROOT))
    case _ => None
  }

  private def summariesOf(row: StoreRow) = row.summaries
    .flatMap { case (index, summary) => columnOf(index).map(_.path -> summary) }
    .groupBy(_._1)
    .map { case (path, found) => path -> found.map(_._2) }

  private def warn(problems: Seq[String]): Unit = if (problems.nonEmpty) {
    val more = problems.size - MostProblems
    log.warn(
      s"${store.directory}: fewer files are skipped than the store allows: " +
        problems.take(MostProblems).mkString("; ") + (if (more > 0) s"; and $more more problems" else "")
    )
  }

  override def toString: String = store.directory.toString
}

private[spark] object StoreSkipping {

  /** The proof that a file holds no row, by its path and modification time. */
  type Proofs = (Path, Long) => Option[Proof]

  val NoProofs: Proofs = (_, _) => None

  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val MostProblems = 5

  /**
   * What the options of a read say; none if they name no store. A read that shows NULL in columns whose keys it is refused
   * uses none, because the values of a store are not what it shows.
   */
  def of(options: ResolvedOptions, schema: StructType, partitions: StructType): Option[StoreSkipping] =
    StoreResolver.of(options).filter(_ => options.masking.isEmpty).map { store =>
      new StoreSkipping(new ReadFilters(options, schema, partitions), schema, store)
    }

  private def isTime(of: StoredType) = of == StoredType.Date || of == StoredType.Timestamp

  private final class Column(val path: Seq[String], val of: StoredType) {
    def schema: MessageType = {
      val leaf: Type = of.leaf(path.last)
      val column = path.dropRight(1).foldRight(leaf) { (name, inner) =>
        new GroupType(Type.Repetition.OPTIONAL, name, inner)
      }
      new MessageType("file", column)
    }
  }

  private def leaves(of: StructType, above: Seq[String]): Seq[Column] = of.fields.toSeq.flatMap { field =>
    val path = above :+ field.name
    field.dataType match {
      case inner: StructType => leaves(inner, path)
      case other => storedType(other).map(new Column(path, _)).toSeq
    }
  }

  private def storedType(of: DataType): Option[StoredType] = StoredType.of(of.typeName)

  /** Spark's own sketches: the code that made a filter answers for it, so a value that was put in is found. */
  private object Sketches extends SketchLookup {
    override def open(filter: Array[Byte]): Any => Boolean = {
      val sketch = BloomFilter.readFrom(new ByteArrayInputStream(filter))

      {
        // By their bytes in UTF-8, as of strings.
        case text: Binary => sketch.mightContainBinary(text.getBytes)
        case number: Long => sketch.mightContainLong(number)
        case _ => true
      }
    }
  }
}
