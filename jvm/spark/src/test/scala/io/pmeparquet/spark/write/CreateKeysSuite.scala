package io.pmeparquet.spark.write

import java.nio.file.{Files, Paths}

import io.pmeparquet.spark.admin.erase.Erasure
import io.pmeparquet.spark.KeystoreSuite
import io.pmeparquet.Condition

/** With `createKeys`, a write makes the keys that its templates name. */
class CreateKeysSuite extends KeystoreSuite {
  private val creating = "createKeys" -> "true"

  private def count(): Long = reader(keystoreOptions).load(target).count()

  test("missing keys are made, and existing ones are used") {
    makeKeys("t-acme")
    addTo(target, creating)
    assertEquals(count(), 30L)
    addTo(target)
    assertEquals(count(), 60L)
  }

  test("those of a column of the data are made, too") {
    makeKeys("t-acme")
    tenantRows.options(Map(creating)).save(target)
    assertEquals(count(), 30L)
  }

  test("without the option nothing is made, and the write fails before it begins") {
    makeKeys("t-acme")
    untouched(keystore.toString)(refused(Condition.KeyNotFound, "t-bolt", "t-cafe")(addTo(target)))
    assert(!Files.exists(Paths.get(target)))
  }

  test("executors that call the KMS themselves have the new keys") {
    makeKeys("t-acme")
    addTo(target, creating, "kms.callFrom" -> "executor", "doubleWrapping" -> "false")
    assertEquals(count(), 30L)
  }

  test("a key of a plain name is not made, and then neither are the others") {
    makeKeys("t-acme")
    untouched(keystore.toString) {
      refused(Condition.KeyNotFound, "'pii'")(addTo(target, creating, "columnKeys" -> "pii: name"))
    }
  }

  test("a key that was destroyed is not made again") {
    makeKeys("t-acme", "t-bolt", "t-cafe")
    addTo(target)
    Erasure.run(spark, target, keystoreOptions, Seq("t-acme"), Map("tenant" -> "acme"), dryRun = false)
    untouched(keystore.toString)(refused(Condition.KeyDestroyed, "t-acme")(addTo(target, creating)))
  }

  test("a KMS that makes no keys is refused") {
    makeKeys("t-acme")
    refused(Condition.Unsupported, "createKeys")(addTo(target, (holding("t-acme").toSeq :+ creating): _*))
  }

  test("EXPLAIN makes no keys") {
    makeKeys("t-acme", "t-bolt", "t-cafe")
    spark.sql(
      s"CREATE TABLE tenants (id BIGINT, tenant STRING) USING pme_parquet PARTITIONED BY (tenant) LOCATION '$target' " +
        "OPTIONS (footerKey 't-{tenant}')"
    )
    setOptions(keystoreOptions + creating)
    untouched(keystore.toString)(spark.sql("EXPLAIN INSERT INTO tenants VALUES (1, 'new')").collect())
    spark.sql("INSERT INTO tenants VALUES (1, 'new')")
    assertEquals(count(), 1L)
  }

  test("a table's definition makes no keys") {
    makeKeys("t-acme", "t-bolt", "t-cafe")
    spark.sql(
      s"CREATE TABLE tenants (id BIGINT, tenant STRING) USING pme_parquet PARTITIONED BY (tenant) LOCATION '$target' " +
        "OPTIONS (createKeys 'true', footerKey 't-{tenant}')"
    )
    setOptions(keystoreOptions)
    refused(Condition.BadOption, "createKeys")(spark.sql("INSERT INTO tenants VALUES (1, 'new')"))
  }
}
