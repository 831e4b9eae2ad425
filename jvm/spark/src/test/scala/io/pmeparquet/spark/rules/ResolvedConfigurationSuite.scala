package io.pmeparquet.spark.rules

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.Condition.{BadOption, UnknownOption, Unsupported}

/** Spark's own Parquet and ORC in a session that asks for encryption: the resolved configuration decides what runs. */
class ResolvedConfigurationSuite extends SparkSuite with EachSpark {
  private val name = "parquet.crypto.factory.class"
  private val factory = Map(name -> "io.pmeparquet.parquet.PmeCryptoFactory")
  private val javas = Map(name -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory")
  private val named = Map("pme-parquet.footerKey" -> "footer", "pme-parquet.columnKeys" -> "pii: ssn")
  private val namedByJava =
    Map("parquet.encryption.footer.key" -> "footer", "parquet.encryption.column.keys" -> "pii: ssn")
  private val whole = forFactory(kms + ("footerKey" -> "footer"))

  /** As a user sets them in a running session, where Spark does not take the prefix away. */
  private def late(settings: Map[String, String]) =
    settings.map { case (name, value) => s"spark.hadoop.$name" -> value }

  private def forFactory(options: Map[String, String]) =
    factory ++ options.map { case (name, value) => s"pme-parquet.$name" -> value }

  private def unset(settings: Map[String, String]): Unit = settings.keys.foreach(spark.conf.unset)

  private def magic(path: String) =
    files(path).map(file => new String(Files.readAllBytes(file).take(4), UTF_8))

  /** A plaintext table. */
  private def plain(path: String = target): Unit = copied("plain", path)(people.write.parquet(_))

  private def load(path: String): DataFrame = spark.read.schema(people.schema).parquet(path)

  for (
    (half, settings) <- Seq(
      "set late" -> late(factory ++ named),
      "factory set late" -> (late(factory) ++ named),
      "keys set late" -> (factory ++ late(named)),
      "no factory" -> named,
      "no factory for parquet-java's names" -> namedByJava,
      "factory in other letters" -> (Map("Parquet.Crypto.Factory.Class" -> factory(name)) ++ named),
      "factory of no class" -> (Map(name -> "io.pmeparquet.parquet.PmeCryptFactory") ++ named),
      "factory that is none" -> (Map(name -> "java.lang.String") ++ namedByJava),
      "factory of no class, and no key" -> Map(name -> "io.pmeparquet.parquet.PmeCryptFactory"),
      "another factory" -> (javas ++ named),
      "prefix in other letters" -> (factory + ("PME-parquet.footerKey" -> "footer")),
      "prefix of Spark in other letters" -> Map("Spark.Hadoop.pme-parquet.footerKey" -> "footer")
    )
  )
    test(s"half a configuration is refused before anything is written or read: $half") {
      plain(s"$target-plain")
      set(settings)
      for (
        run <- Seq[() => Any](() => people.write.parquet(target), () => load(s"$target-plain").collect())
      ) {
        val found = intercept[Exception](run())
        val condition = PmeException.find(found).map(_.condition)
        assert(condition.exists(Set[Condition](BadOption, UnknownOption)), found)
      }
      assert(!Files.exists(Paths.get(target)))
    }

  private val statements: Map[String, () => Any] = Map(
    "overwrite" -> (() => people.write.mode("overwrite").parquet(target)),
    "orc" -> (() => people.write.orc(s"$target-orc")),
    "saveAsTable" -> (() => people.write.saveAsTable("t_new")),
    "insertInto" -> (() => people.write.insertInto("t")),
    "INSERT" -> (() => spark.sql("INSERT INTO t VALUES ('x', 1, 1)")),
    "CTAS" -> (() => spark.sql("CREATE TABLE t_new USING parquet AS SELECT 1 AS id")),
    "directory" -> (() => spark.sql(s"INSERT OVERWRITE DIRECTORY '$target' USING parquet SELECT 1 AS id")),
    "SELECT" -> (() => spark.table("t").collect()),
    "path" -> (() => spark.sql(s"SELECT * FROM parquet.`$target`").collect()),
    "subquery" -> (() => spark.sql("SELECT (SELECT max(id) FROM t)").collect()),
    "stream" -> (() =>
      spark.readStream.schema(people.schema).parquet(target).writeStream.format("noop").start().stop()
    )
  )

  for ((statement, run) <- statements)
    test(s"every statement on Parquet and ORC is checked: $statement") {
      plain()
      people.write.saveAsTable("t")
      set(late(factory ++ named))
      untouched(directory.toString)(refused(BadOption, "pme-parquet.footerKey", "spark.hadoop.")(run()))
      unset(late(factory ++ named))
      assertEquals(spark.table("t").count(), 40L)
      assert(!spark.catalog.tableExists("t_new"))
    }

  test("a read through Spark's V2 source is checked") {
    plain()
    set(late(factory ++ named) + ("spark.sql.sources.useV1SourceList" -> ""))
    refused(BadOption, "pme-parquet.footerKey")(load(target).collect())
  }

  test("settings of Hadoop's own configuration are checked") {
    inHadoop(named.toSeq: _*)(
      refused(BadOption, "pme-parquet.columnKeys", name)(people.write.parquet(target))
    )
    assert(!Files.exists(Paths.get(target)))
  }

  private def stream(options: Map[String, String]) = spark.readStream
    .schema(people.schema)
    .parquet(s"$target-in")
    .writeStream
    .format("parquet")
    .options(options)
    .option("checkpointLocation", s"$target-c")
    .trigger(Trigger.AvailableNow())

  test("options of a stream's file sink do not reach its files, and are refused") {
    people.write.parquet(s"$target-in")
    refused(BadOption, "pme-parquet.footerKey", "stream")(stream(whole).start(target).awaitTermination())
    assertEquals(files(), Nil)
  }

  test("a stream writes with the factory of the session") {
    set(whole)
    people.write.parquet(s"$target-in")
    stream(Map.empty).start(target).awaitTermination()
    assertEquals(magic(target).distinct, Seq("PARE"))
  }

  test("a factory only in the properties of a new table is refused") {
    val create =
      s"CREATE TABLE t USING parquet TBLPROPERTIES ('$name' '${factory(name)}') AS SELECT 'x' AS ssn"
    refused(BadOption, name)(spark.sql(create))
    set(whole - name)
    refused(BadOption, name)(spark.sql(create))
    assert(!spark.catalog.tableExists("t"))
  }

  test("options of saveAsTable, which Spark drops if the table exists, are refused") {
    people.write.saveAsTable("t")
    refused(BadOption, "pme-parquet.footerKey", "saveAsTable") {
      people.write.options(whole).mode("append").saveAsTable("t")
    }
    assertEquals(spark.table("t").count(), 40L)
  }

  test("a whole configuration encrypts in every statement") {
    set(whole)
    people.write.parquet(target)
    people.write.saveAsTable("t")
    people.write.options(whole).mode("append").saveAsTable("t")
    spark.sql("INSERT INTO t VALUES ('x', 1, 1)")
    assertEquals(spark.table("t").count(), 81L)
    assertEquals(load(target).count(), 40L)
    assertEquals(magic(target), Seq("PARE"))
  }

  for (skips <- Seq("ignoreCorruptFiles", "ignoreMissingFiles"))
    test(s"a read that would skip refused files fails on the driver: $skips") {
      people.write.options(whole).parquet(target)
      val byOption = forFactory(kms)
      def read(options: Map[String, String]) =
        spark.read.schema(people.schema).options(options).parquet(target)
      refused(Unsupported, skips)(read(byOption + (skips.toUpperCase -> "true")).queryExecution.optimizedPlan)
      set(byOption)
      refused(Unsupported, skips)(read(Map(skips -> "true")).queryExecution.optimizedPlan)
      unset(byOption)
      set(Map(s"spark.sql.files.$skips" -> "true"))
      refused(Unsupported, skips)(read(byOption).queryExecution.optimizedPlan)
      // An option overrides the session.
      assertEquals(read(byOption + (skips -> "false")).count(), 40L)
    }

  for (
    (misspelt, right) <- Seq(
      "parquet.encryption.column.key" -> "parquet.encryption.column.keys",
      "parquet.encryption.columnKeys" -> "parquet.encryption.column.keys",
      "Parquet.Encryption.Column.Keys" -> "parquet.encryption.column.keys",
      "PME-parquet.columnKeys" -> "pme-parquet.columnKeys",
      "pme-parquet.columKeys" -> "pme-parquet.columnKeys"
    )
  )
    test(s"a misspelt setting names the right one: $misspelt") {
      val wrong = Map(misspelt -> "pii: ssn")
      untouched() {
        refused(UnknownOption, s"'$misspelt'", s"'$right'")(
          people.write.options(whole ++ wrong).parquet(target)
        )
        set(wrong)
        refused(UnknownOption, s"'$misspelt'", s"'$right'")(people.write.options(whole).parquet(target))
        unset(wrong)
        val ours = kms + ("footerKey" -> "footer")
        if (right.startsWith("parquet."))
          inHadoop(wrong.toSeq: _*)(refused(UnknownOption, s"'$misspelt'", s"'$right'")(write(people, ours)))
        refused(UnknownOption, s"'$misspelt'")(write(people, ours ++ wrong))
      }
    }

  test("settings of a user's KMS class pass") {
    set(
      Map("parquet.encryption.key.list" -> "k:none", "parquet.encryption.kms.vault.mount" -> "transit")
    )
    people.write.options(whole).parquet(target)
    write(people, kms + ("footerKey" -> "footer"), s"$target-ours")
    assertEquals(magic(target) ++ magic(s"$target-ours"), Seq("PARE", "PARE"))
  }
}
