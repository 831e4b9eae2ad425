package io.pmeparquet.snapshot.xskipper

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Path => LocalPath}
import java.nio.ByteBuffer

import scala.collection.mutable

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.io.api.Binary

import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.{TableSnapshots, TableSuite}

/** Reads stores, and evaluates data files by them as a query does. */
abstract class StoreSuite extends TableSuite {
  protected def accepting(names: String*): ReadScope = {
    val settings = Settings.forRead(new OptionValues(Map(Level.Option -> Map.empty[String, String])))
    Scopes.forRead(
      kms(names: _*),
      TableSnapshots.acceptingParts(settings).copy(allowPlaintextFiles = true),
      conf
    )
  }

  /** All rows of a store, and what could not be read. */
  protected def rowsOf(store: LocalPath, masterKeys: String*): (Seq[StoreRow], Seq[String]) = {
    val rows = mutable.ArrayBuffer.empty[StoreRow]
    val scope = accepting(("none" +: masterKeys): _*)
    val problems = new XskipperStore(hadoop(store), scope, conf).foreach(_ => true)(rows += _)
    (rows.toVector, problems)
  }

  /** What a summary says, as values that can be compared. */
  protected def shown(row: StoreRow): Seq[(String, Any)] = row.summaries.map { case (index, summary) =>
    val of = index.kind + " " + index.columns.mkString(",")
    of -> shown(summary)
  }

  protected def shown(summary: StoredSummary): Any = summary match {
    case StoredSummary.Known(of, ColumnSummary.Range(Some((min, max)), nulls)) =>
      assertEquals(nulls, StoredSummary.UnknownNulls)
      (text(of, min), text(of, max))
    case StoredSummary.Known(of, ColumnSummary.ValueList(values, _)) => values.map(text(of, _)).toSet
    case StoredSummary.Sketch(filter) => ByteBuffer.wrap(filter).getInt(8)
    case other => fail(s"a store has no $other")
  }

  private def text(of: StoredType, value: Array[Byte]): String = {
    val bytes = ByteBuffer.wrap(value).order(java.nio.ByteOrder.LITTLE_ENDIAN)
    of match {
      case StoredType.Text => new String(value, UTF_8)
      case StoredType.Double => bytes.getDouble.toString
      case StoredType.Float => bytes.getFloat.toString
      case StoredType.Long => bytes.getLong.toString
      case StoredType.Boolean => (value(0) != 0).toString
      case StoredType.Timestamp => java.time.Instant.EPOCH.plusNanos(bytes.getLong * 1000).toString
      case StoredType.Date => java.time.LocalDate.ofEpochDay(bytes.getInt.toLong).toString
      case _: StoredType.Whole => bytes.getInt.toString
      case _ => value.toSeq.toString
    }
  }

  /** The names of the data files that hold no row for a query, by all rows of a store. */
  protected def skipped(
      rows: Seq[StoreRow],
      types: Map[String, StoredType],
      conditions: FilterPredicate*
  ): Set[String] = {
    val judge =
      new StoreEvaluation(conditions, types.map { case (name, of) => Seq(name) -> of }, TestSketches)
    rows
      .filter { row =>
        val summaries = row.summaries
          .groupBy(_._1.columns)
          .map { case (columns, found) => columns -> found.map(_._2) }
        judge.holdsNone(summaries).isDefined
      }
      .map(_.id.path.split('/').last)
      .toSet
  }

  protected object where {
    def text(name: String): FilterApiText = new FilterApiText(name)
    def double(name: String) = FilterApi.doubleColumn(name)
    def int(name: String) = FilterApi.intColumn(name)
    def long(name: String) = FilterApi.longColumn(name)
  }

  protected final class FilterApiText(name: String) {
    val column = FilterApi.binaryColumn(name)
    def in(values: String*): FilterPredicate =
      FilterApi.in(column, new java.util.HashSet(java.util.Arrays.asList(values.map(Binary.fromString): _*)))
    def is(value: String): FilterPredicate = FilterApi.eq(column, Binary.fromString(value))
    def isNot(value: String): FilterPredicate = FilterApi.notEq(column, Binary.fromString(value))
    def isNotNull: FilterPredicate = FilterApi.notEq(column, null.asInstanceOf[Binary])
    def above(value: String): FilterPredicate = FilterApi.gt(column, Binary.fromString(value))
    def below(value: String): FilterPredicate = FilterApi.lt(column, Binary.fromString(value))
  }
}
