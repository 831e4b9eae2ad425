package io.pmeparquet.parquet.summary

import scala.collection.mutable
import scala.collection.JavaConverters._
import scala.util.Random

import munit.FunSuite
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, LogicalInverseRewriter, Operators}
import org.apache.parquet.io.api.Binary
import RandomPredicates._

import io.pmeparquet.{PmeException, SampledSuite}
import io.pmeparquet.parquet.schema.{Comparison, PredicateColumns}

/** What the evaluation proves of random small files, against brute force. */
class FileEvaluationSuite extends FunSuite with SampledSuite {
  private val Files = if (isWhole) 400 else 100
  private val Trees = if (isWhole) 20000 else 2500
  private val list = SummaryKind.ValueList(64)
  private val bloom = SummaryKind.Bloom(0.01, None)
  private val kinds: Seq[(SummaryKind, SmallColumn => Option[ColumnSummary])] =
    Seq((SummaryKind.MinMax, _.range), (list, _.list), (bloom, _.bloom))

  private def holds(predicate: FilterPredicate, columns: Seq[SmallColumn]): Boolean =
    columns.head.rows.indices.exists { row =>
      mayMatch(predicate, columns.map(column => column.name -> (column.leaf -> column.rows(row))).toMap)
    }

  private def judged(predicate: FilterPredicate, rows: Int, known: (Seq[String], KnownColumn)*) =
    FileEvaluation.holdsNone(predicate, known.toMap, rows.toLong)

  ColumnKind.all.foreach { kind =>
    test(s"no summary of a column '$kind' loses a row, and each proves something") {
      val random = new Random(17)
      val proofs = mutable.Map.empty[SummaryKind, Int].withDefaultValue(0)
      (0 until Files).foreach { _ =>
        val column = SmallColumn.random(random, kind, "v", random.nextInt(6))
        for ((of, make) <- kinds; summary = make(column); _ <- 0 until 20) {
          val predicate = LogicalInverseRewriter.rewrite(comparison(random, kind, "v"))
          val proof = judged(predicate, column.rows.size, column.known(of -> summary))
          proof.foreach { found =>
            proofs(of) += 1
            assertEquals(found.uses, Set[(Seq[String], SummaryKind)](Seq("v") -> of))
            assert(!holds(predicate, Seq(column)), s"$predicate over ${column.rows} by $of")
          }
        }
      }
      kinds.map(_._1).filter(of => of != bloom || Leaves.isHashed(kind.leaf("v"))).foreach { of =>
        assert(proofs(of) > Files / 8, s"$of proves only ${proofs(of)}")
      }
    }
  }

  test("random trees of AND, OR and NOT over two columns lose no row, whatever is known of them") {
    val random = new Random(18)
    var proofs = 0
    (0 until Trees).foreach { _ =>
      val rows = random.nextInt(5)
      val columns = Seq("a", "b").map { name =>
        SmallColumn.random(random, ColumnKind.all(random.nextInt(ColumnKind.all.size)), name, rows)
      }
      val predicate = LogicalInverseRewriter.rewrite(tree(random, columns, 3))
      val known = columns.map { column =>
        column.known(kinds.filter(_ => random.nextBoolean()).map { case (of, make) =>
          of -> make(column)
        }: _*)
      }
      judged(predicate, rows, known: _*).foreach { proof =>
        proofs += 1
        assert(!holds(predicate, columns), s"$predicate over ${columns.map(_.rows)}")
        assert(proof.uses.forall { case (path, of) => known.toMap.apply(path).summaries.exists(_._1 == of) })
      }
    }
    assert(proofs > Trees * 3 / 20, s"only $proofs of $Trees")
  }

  test("a list of values proves all that its values show, but for zeros, NaN and null in lists") {
    val random = new Random(19)
    val exact = ColumnKind.all.filter(kind => Leaves.hasOneForm(kind.leaf("v")) && kind.text != "boolean v")
    def isExact(predicate: FilterPredicate) = predicate match {
      case notIn: Operators.NotIn[_] => !notIn.getValues.asScala.toSeq.exists((value: Any) => value == null)
      case user: Operators.UserDefined[_, _] => !user.getUserDefinedPredicate.acceptsNullValue()
      case in: Operators.In[_] => !in.getValues.asScala.toSeq.exists((value: Any) => value == null)
      case _ => true
    }
    for (kind <- exact; _ <- 0 until Files) {
      val column = SmallColumn.random(random, kind, "v", 1 + random.nextInt(5))
      val predicate = comparison(random, kind, "v")
      val comparesSpecial =
        PredicateColumns.comparesWithZero(predicate) || Comparison.of(predicate).exists(_.hasNaN)
      if (isExact(predicate) && !comparesSpecial && !column.rows.exists(Comparison.isNaN))
        assertEquals(
          judged(predicate, column.rows.size, column.known(list -> column.list)).isEmpty,
          holds(predicate, Seq(column)),
          s"$predicate over ${column.rows}"
        )
    }
  }

  private val int = FilterApi.intColumn("v")
  private def ints(rows: Integer*) = new SmallColumn(ColumnKind("int32 v", Nil), "v", rows)

  test("with IS NOT NULL in an AND, the other part counts only for the rows that are left") {
    val column = ints(5, null, 5)
    val other = FilterApi.notEq(int, Int.box(5))
    val filtered = FilterApi.and(FilterApi.notEq(int, null.asInstanceOf[Integer]), other)
    kinds.take(2).foreach { case (of, make) =>
      // In parquet-java null is not 5.
      assertEquals(judged(other, 3, column.known(of -> make(column))), None)
      assert(judged(filtered, 3, column.known(of -> make(column))).isDefined)
    }
  }

  test("OR needs a proof of each side, and names the summaries of both") {
    val (low, high) = (ints(1, 2), new SmallColumn(ColumnKind("int32 v", Nil), "w", Seq(Int.box(8))))
    val w = FilterApi.intColumn("w")
    def or(left: Int, right: Int) =
      FilterApi.or(FilterApi.eq(int, Int.box(left)), FilterApi.eq(w, Int.box(right)))
    val known = Seq(low.known(SummaryKind.MinMax -> low.range), high.known(list -> high.list))
    assertEquals(judged(or(1, 7), 2, known: _*), None)
    assertEquals(judged(or(3, 8), 2, known: _*), None)
    assertEquals(
      judged(or(3, 7), 2, known: _*).map(_.uses),
      Some(Set[(Seq[String], SummaryKind)](Seq("v") -> SummaryKind.MinMax, Seq("w") -> list))
    )
  }

  test(
    "what is not known proves nothing: a column, another type, a negation, NaN, a summary that does not fit"
  ) {
    val column = ints(1, 2)
    val known = column.known(SummaryKind.MinMax -> column.range)
    def none(predicate: FilterPredicate, rows: Int = 2, of: (Seq[String], KnownColumn) = known): Unit =
      assertEquals(judged(predicate, rows, of), None, predicate.toString)
    val missing = FilterApi.eq(int, Int.box(3))
    assert(judged(missing, 2, known).isDefined)
    none(FilterApi.eq(FilterApi.intColumn("w"), Int.box(3)))
    none(FilterApi.eq(FilterApi.longColumn("v"), Long.box(3)))
    none(FilterApi.eq(FilterApi.binaryColumn("v"), Binary.fromString("x")))
    none(FilterApi.not(FilterApi.eq(int, Int.box(1))))
    // More nulls than rows.
    none(missing, rows = -1)
    val cut = ColumnSummary.Range(Some(Array[Byte](1) -> Array[Byte](2)), 0)
    none(missing, of = column.known(SummaryKind.MinMax -> Some(cut)))
    none(missing, of = column.known(list -> Some(ColumnSummary.ValueList(List(Array[Byte](1)), 0))))
    none(missing, of = column.known(bloom -> Some(ColumnSummary.Bloom(new Array[Byte](33), 0))))
    none(missing, of = column.known(bloom -> Some(ColumnSummary.Bloom(new Array[Byte](0), 0))))
    val double = FilterApi.doubleColumn("v")
    val range = new SmallColumn(ColumnKind("double v", Nil), "v", Seq(Double.box(1)))
    // A writer that leaves NaN out of its bounds.
    none(FilterApi.eq(double, Double.box(Double.NaN)), 1, range.known(SummaryKind.MinMax -> range.range))
  }

  test("columns without an order are never evaluated: INT96 and intervals") {
    val int96 = new SmallColumn(ColumnKind.int96, "v", Seq(ColumnKind.int96.values.head))
    val predicate = FilterApi.eq(FilterApi.binaryColumn("v"), ColumnKind.int96.values(1).asInstanceOf[Binary])
    val summaries = Seq(
      SummaryKind.MinMax -> Some(ColumnSummary.Range(Some(new Array[Byte](12) -> new Array[Byte](12)), 0)),
      list -> Some(ColumnSummary.ValueList(List(new Array[Byte](12)), 0)),
      bloom -> Some(ColumnSummary.Bloom(new Array[Byte](32), 0))
    )
    assertEquals(judged(predicate, 1, int96.known(summaries: _*)), None)
    val interval = new SmallColumn(ColumnKind("fixed_len_byte_array(12) v (INTERVAL)", Nil), "v", Seq(null))
    assertEquals(judged(predicate, 1, interval.known(summaries: _*)), None)
  }

  private val byClass = SummaryKind.OfClass("acme.Greatest", Nil)
  private def asked(predicate: FilterPredicate, made: Option[SummaryClass]): Option[Proof] = {
    val column = ints(5, null)
    val known = column.known(byClass -> Some(ColumnSummary.OfClass(Array[Byte](5))))
    FileEvaluation.holdsNone(predicate, Map(known), 2, kind => made.filter(_ => kind == byClass))
  }

  test("a class of the user's is asked only for what null cannot fulfil, and only if it may be loaded") {
    val made = Some(new AlwaysNone(_ => true))
    assert(asked(FilterApi.gt(int, Int.box(5)), made).isDefined)
    assertEquals(asked(FilterApi.gt(int, Int.box(5)), None), None)
    Seq(
      FilterApi.notEq(int, Int.box(5)),
      FilterApi.eq(int, null.asInstanceOf[Integer]),
      FilterApi.notIn(int, java.util.Collections.singleton(Int.box(5)))
    ).foreach(predicate => assertEquals(asked(predicate, made), None, predicate.toString))
    val isNotNull = FilterApi.notEq(int, null.asInstanceOf[Integer])
    assert(asked(FilterApi.and(FilterApi.notEq(int, Int.box(5)), isNotNull), made).isDefined)
  }

  test("a class of the user's that fails ends the query") {
    val failed = intercept[PmeException] {
      asked(
        FilterApi.gt(int, Int.box(5)),
        Some(new AlwaysNone(_ => throw new IllegalStateException("broken")))
      )
    }
    assertEquals(failed.getCondition(), "PME_BAD_OPTION")
    Seq("acme.Greatest", "a query", "broken").foreach(word => assert(failed.getMessage.contains(word)))
  }
}

private final class AlwaysNone(answer: FilterPredicate => Boolean) extends SummaryClass {
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] = Array.empty
  override def holdsNone(summary: Array[Byte], comparison: FilterPredicate): Boolean = answer(comparison)
}
