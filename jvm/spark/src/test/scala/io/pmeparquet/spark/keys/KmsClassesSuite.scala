package io.pmeparquet.spark.keys

import org.apache.spark.sql.DataFrameReader

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{KeyNotFound, NotAuthentic}

/** Readers with one KMS class that differ only in the configuration that the class reads do not share keys. */
class KmsClassesSuite extends SparkSuite {
  private val own = Map("kms" -> classOf[RealmKms].getName)
  private val realm = RealmKms.Realm

  /** Writes a table under the keys of a realm, whose key caches no reader has filled yet. */
  private def writeNorth(): Unit = write(people, keys ++ own + (realm -> "north"))

  /** Ways in which the class gets its realm, around a block. */
  private val places: Seq[(String, (String, DataFrameReader => Any) => Any)] = Seq(
    "an option" -> ((value, run) => run(reader(own + (realm -> value)))),
    "the session" -> { (value, run) =>
      spark.conf.set(realm, value)
      try run(reader(own))
      finally spark.conf.unset(realm)
    },
    "Hadoop's configuration" -> ((value, run) => inHadoop(realm -> value)(run(reader(own))))
  )

  for ((place, in) <- places; scan <- Seq("v1", "v2"))
    test(s"a reader of another realm, or of none, is refused after the right one read: $place, $scan") {
      writeNorth()
      in("north", right => assertEquals(rows(right.option("scan", scan).load(target)), rows(people)))
      in(
        "south",
        wrong => {
          // Without a schema, the driver reads first.
          refused(NotAuthentic, "'footer'")(wrong.option("scan", scan).load(target).collect())
          refused(NotAuthentic, "'footer'") {
            wrong.option("scan", scan).schema(people.schema).load(target).collect()
          }
        }
      )
      refused(KeyNotFound, "'footer'", own("kms"))(reader(own + ("scan" -> scan)).load(target).collect())
      in("north", right => assertEquals(rows(right.option("scan", scan).load(target)), rows(people)))
    }

  for ((place, in) <- places)
    test(s"the right realm reads after another was refused: $place") {
      writeNorth()
      in("south", wrong => refused(NotAuthentic, "'footer'")(wrong.load(target).collect()))
      in("north", right => assertEquals(rows(right.load(target)), rows(people)))
    }

  test("a table written under another realm has other keys") {
    writeNorth()
    val byNorth = reader(own + (realm -> "north"))
    write(byNorth.load(target), keys ++ own + (realm -> "south"), s"$target-south")
    assertEquals(rows(reader(own + (realm -> "south")).load(s"$target-south")), rows(people))
    refused(NotAuthentic, "'footer'")(byNorth.load(s"$target-south").collect())
  }

  for (caller <- Seq("driver", "executor"))
    test(s"a class does not see the options of a table's definition: called by the $caller") {
      writeNorth()
      spark.sql(
        s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` OPTIONS ('$realm' 'south') " +
          s"LOCATION '$target'"
      )
      setOptions(own + ("kms.callFrom" -> caller))
      set(Map(realm -> "north"))
      assertEquals(rows(spark.table("t")), rows(people))
    }

  test("Spark's own source shares keys between such readers") {
    // This shows that the danger is real: parquet-java's key tools cache keys by access token only, here a new one.
    writeNorth()
    val settings = Map(
      "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
      "parquet.encryption.kms.client.class" -> own("kms"),
      "parquet.encryption.key.access.token" -> directory.toString
    )
    for (value <- Seq("north", "south"))
      assertEquals(rows(spark.read.options(settings + (realm -> value)).parquet(target)), rows(people))
  }
}
