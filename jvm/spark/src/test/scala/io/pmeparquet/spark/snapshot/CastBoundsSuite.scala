package io.pmeparquet.spark.snapshot

import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types._

class CastBoundsSuite extends munit.FunSuite {
  private val random = new Random(17)

  /** Clocks that went back over midnight, whole days that were skipped or repeated, and offsets with seconds. */
  private val zones = Seq(
    "UTC",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Asia/Manila",
    "Europe/Warsaw",
    "+18:00",
    "-18:00"
  )

  private val casts = Seq(
    TimestampType -> DateType,
    TimestampNTZType -> DateType,
    DateType -> TimestampType,
    DateType -> TimestampNTZType,
    TimestampNTZType -> TimestampType,
    TimestampType -> TimestampNTZType
  )

  private val comparisons: Seq[(Expression, Expression) => Expression] = Seq(
    EqualTo(_, _),
    EqualNullSafe(_, _),
    LessThan(_, _),
    LessThanOrEqual(_, _),
    GreaterThan(_, _),
    GreaterThanOrEqual(_, _),
    (left, right) => LessThan(right, left),
    (left, right) => GreaterThanOrEqual(right, left),
    (left, right) => In(left, Seq(right, Literal(null, right.dataType))),
    (left, right) => InSet(left, Set(right.eval(), null))
  )

  for ((from, to) <- casts)
    test(s"a $from whose cast to $to passes a comparison is within the bounds") {
      var passed = 0
      for (_ <- 1 to 4000) {
        val zone = Some(zones(random.nextInt(zones.size)))
        val (value, other) = near(from, to)
        val column = AttributeReference("c", from)()
        val compared = comparisons(random.nextInt(comparisons.size))
        val bounds = CastBounds.of(compared(Cast(column, to, zone), Literal(other, to)))
        assert(bounds.isDefined)
        val passes = compared(Cast(Literal(value, from), to, zone), Literal(other, to)).eval()
        if (passes == true) {
          passed += 1
          val found = micros(value)
          assert(bounds.get.least.forall(micros(_) <= found), s"$value $bounds")
          assert(bounds.get.greatest.forall(micros(_) >= found), s"$value $bounds")
        }
      }
      assert(passed > 500)
    }

  test("bounds are not wider than the offsets of the zone") {
    val at = AttributeReference("at", TimestampType)()
    def of(zone: String) =
      CastBounds.of(EqualNullSafe(Cast(at, DateType, Some(zone)), Literal(10, DateType))).get
    val utc = of("UTC")
    assertEquals(utc.least, Some[Any](Instant.parse("1970-01-11T00:00:00Z")))
    assertEquals(utc.greatest, Some[Any](Instant.parse("1970-01-11T23:59:59.999999Z")))
    val warsaw = of("Europe/Warsaw")
    assertEquals(warsaw.least, Some[Any](Instant.parse("1970-01-10T21:00:00Z")))
    assertEquals(warsaw.greatest, Some[Any](Instant.parse("1970-01-11T22:59:59.999999Z")))
  }

  test("other casts, nulls and values at the end of time have no bounds") {
    val day = AttributeReference("day", DateType)()
    def least(literal: Literal) =
      CastBounds.of(GreaterThan(Cast(day, TimestampType, Some("-18:00")), literal))
    assertEquals(least(Literal(null, TimestampType)), None)
    assertEquals(least(Literal(Long.MinValue, TimestampType)), None)
    assertEquals(CastBounds.of(EqualTo(Cast(day, StringType, Some("UTC")), Literal("1970-01-01"))), None)
    assertEquals(
      CastBounds.of(Not(EqualTo(Cast(day, TimestampType, Some("UTC")), Literal(0L, TimestampType)))),
      None
    )
  }

  /** Two values that are close to one another, so that comparisons of them often pass, of any time since 1800. */
  private def near(from: DataType, to: DataType): (Any, Any) = {
    val seconds = -5364662400L + (random.nextDouble() * 9e9).toLong
    val apart = random.nextInt(400000) - 200000
    (valueOf(from, seconds), valueOf(to, if (random.nextInt(4) == 0) seconds else seconds + apart))
  }

  private def valueOf(of: DataType, seconds: Long): Any =
    if (of == DateType) Math.floorDiv(seconds, 86400L).toInt else seconds * 1000000

  private def micros(value: Any): Long = value match {
    case day: Int => day * 86400000000L
    case micros: Long => micros
    case day: LocalDate => day.toEpochDay * 86400000000L
    case at: Instant => DateTimeUtils.instantToMicros(at)
    case wall: LocalDateTime => DateTimeUtils.instantToMicros(wall.toInstant(ZoneOffset.UTC))
    case other => fail(s"$other is no date or timestamp")
  }
}
