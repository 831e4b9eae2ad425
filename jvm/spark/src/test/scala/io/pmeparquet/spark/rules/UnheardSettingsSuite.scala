package io.pmeparquet.spark.rules

import java.nio.file.Files

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.Condition.{BadOption, UnknownOption, Unsupported}

/** Names that ask for encryption where nothing reads them are refused, whatever way they come and whatever writes. */
class UnheardSettingsSuite extends SparkSuite with EachSpark {
  private val factory = "parquet.crypto.factory.class"
  private val ours = "spark.datasource.pme-parquet."
  private val columnKeys = "pii: ssn"
  private val own = kms + ("footerKey" -> "footer")
  private val whole = own.map { case (name, value) => s"pme-parquet.$name" -> value } +
    (factory -> "io.pmeparquet.parquet.PmeCryptoFactory")

  private def holds(text: String, path: String) =
    files(path).exists(file => new String(Files.readAllBytes(file), "ISO-8859-1").contains(text))

  // Names that begin almost right. Nobody reads them.
  for (
    (name, right) <- Seq(
      "pme_parquet.columnKeys" -> "pme-parquet.columnKeys",
      " pme-parquet.columnKeys" -> "pme-parquet.columnKeys",
      "spark.pme-parquet.columnKeys" -> "pme-parquet.columnKeys",
      "parquet.encrypton.column.keys" -> "parquet.encryption.column.keys",
      "spark.sql.parquet.encryption.column.keys" -> "parquet.encryption.column.keys",
      "parquet.cryto.factory.class" -> factory,
      "spark.parquet.crypto.factory.class" -> factory
    )
  )
    test(s"a setting that begins almost right names the right one: '$name'") {
      set(Map(name -> columnKeys))
      untouched()(refused(UnknownOption, s"'$name'", s"'$right'")(people.write.parquet(target)))
    }

  test("properties that end like a setting of ours pass") {
    set(
      Map(
        "spark.databricks.delta.properties.defaults.parquet.encryption.footer.key" -> "footer",
        "spark.sql.parquet.compression.codec" -> "uncompressed",
        "my.app.pme-parquet.password" -> "x"
      )
    )
    people.write.parquet(target)
    assert(holds("canary-", target))
  }

  for (
    (kind, name, condition) <- Seq(
      ("of the name for ORC", "spark.datasource.pme-orc.columnKeys", UnknownOption),
      ("of a name with _", "spark.datasource.pme_parquet.columnKeys", UnknownOption),
      ("of Hadoop for our session", s"spark.hadoop.${ours}columnKeys", UnknownOption),
      ("of Hadoop, too late", "spark.hadoop.parquet.encryption.column.keys", BadOption),
      ("twice", s"${ours}COLUMNKEYS", BadOption)
    )
  )
    test(s"a setting that our format does not hear is refused: $kind") {
      if (kind == "twice") set(Map(s"${ours}columnKeys" -> "pay: ssn"))
      set(Map(name -> columnKeys))
      untouched()(
        refused(condition, if (condition == UnknownOption) "columnKeys" else "")(write(people, own))
      )
    }

  test("a setting of our session in Hadoop's configuration is refused") {
    inHadoop(s"${ours}columnKeys" -> columnKeys) {
      untouched()(refused(BadOption, s"${ours}columnKeys")(write(people, own)))
    }
  }

  test("a name of a setting is no option") {
    for (name <- Seq(s"${ours}columnKeys", "spark.hadoop.parquet.encryption.column.keys"))
      untouched() {
        refused(UnknownOption, s"'$name'")(write(people, own + (name -> columnKeys)))
        refused(BadOption, name)(people.write.option(name, columnKeys).parquet(target))
      }
  }

  test("options of saveAsTable in our format, which Spark drops, are refused") {
    setOptions(kms)
    spark.sql(
      "CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` OPTIONS (footerKey 'footer')"
    )
    def append(options: (String, String)*) =
      people.write.format("pme-parquet").options(options.toMap).mode("append").saveAsTable("t")
    refused(BadOption, "columnKeys", "saveAsTable")(
      append("footerKey" -> "footer", "columnKeys" -> columnKeys)
    )
    assertEquals(spark.table("t").count(), 0L)
    append("FOOTERKEY" -> "footer")
    assertEquals(spark.table("t").count(), 40L)
  }

  for (
    (kind, using, name) <- Seq(
      ("ours", "pme-parquet", "columnKeys"),
      ("of the factory", "pme-parquet", "parquet.encryption.column.keys"),
      ("another format", "parquet", "columnKeys"),
      ("ORC", "orc", "orc.encrypt")
    )
  )
    test(s"properties of a table that name keys are refused: $kind") {
      val text = s"TBLPROPERTIES ('$name' = '$columnKeys')"
      setOptions(kms ++ (if (using == "pme-parquet") Map("footerKey" -> "footer") else Map.empty))
      refused(BadOption, name)(
        spark.sql(s"CREATE TABLE t USING `$using` $text AS SELECT 1L AS id, 'x' AS ssn")
      )
      assert(!spark.catalog.tableExists("t"))
      spark.sql(s"CREATE TABLE t (id BIGINT, ssn STRING) USING `$using`")
      spark.sql(s"ALTER TABLE t SET $text")
      refused(BadOption, name)(spark.sql("INSERT INTO t VALUES (1, 'x')"))
    }

  test("ORC is not written in plaintext where Parquet is to be encrypted") {
    people.write.orc(s"$target-old")
    set(whole)
    untouched(directory.toString) {
      for (
        run <- Seq[() => Any](
          () => people.write.orc(target),
          () => spark.sql("CREATE TABLE t USING orc AS SELECT 1 AS id"),
          () => people.write.mode("append").orc(s"$target-old")
        )
      ) refused(BadOption, "orc", "pme-parquet.footerKey")(run())
    }
    // To encrypt what is in ORC, somebody must read it.
    assertEquals(spark.read.orc(s"$target-old").count(), 40L)
  }

  test("a setting of ORC that nobody reads is refused where somebody asks for our keys") {
    set(Map("orc.key.provider" -> "pme"))
    for (
      (name, condition) <- Seq(
        "orc.encryption" -> UnknownOption,
        "ORC.encrypt" -> UnknownOption,
        "spark.hadoop.orc.encrypt" -> BadOption
      )
    ) {
      set(Map(name -> "pii:ssn"))
      untouched()(refused(condition, name)(people.write.orc(target)))
      spark.conf.unset(name)
    }
    spark.conf.unset("orc.key.provider")
    people.write.format("orc").saveAsTable("t")
    val options = Map("orc.key.provider" -> "pme", "orc.encrypt" -> "pii:ssn")
    refused(BadOption, "orc.encrypt", "saveAsTable") {
      people.write.format("orc").options(options).mode("append").saveAsTable("t")
    }
  }

  test("saveAsTable that overwrites does not lose the property of an ORC table with its master keys") {
    // They have dropped the table, and its property, when a plan can be seen.
    assume(!Seq("3.5.", "4.0.4").exists(spark.version.startsWith), "Spark drops the table first")
    setOptions(kms + ("orcKeyProperty" -> "owner.keys"))
    spark.sql("CREATE TABLE t (ssn STRING) USING `pme-orc` TBLPROPERTIES ('owner.keys' = 'wrapped')")
    def overwrite(format: String) =
      people.write
        .format(format)
        .options(own + ("columnKeys" -> columnKeys))
        .mode("overwrite")
        .saveAsTable("t")
    refused(Unsupported, "'owner.keys'")(overwrite("pme-orc"))
    assertEquals(spark.table("t").columns.toSeq, Seq("ssn"))
    // Parquet has no use for them.
    overwrite("pme-parquet")
    assertEquals(spark.table("t").count(), 40L)
  }

  test("keys of parquet-java that are empty are refused") {
    // parquet-java's own factory takes an empty key for none, and writes plaintext.
    set(Map(factory -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"))
    for (name <- Seq("footer.key", "column.keys", "uniform.key").map("parquet.encryption." + _)) {
      set(Map(name -> " "))
      untouched()(refused(BadOption, name)(people.write.parquet(target)))
      spark.conf.unset(name)
    }
  }

  test("buckets and partitions of a protected column are refused with the factory") {
    set(whole + ("pme-parquet.columnKeys" -> columnKeys))
    untouched() {
      refused(Unsupported, "ssn", "bucket")(people.write.bucketBy(2, "ssn").saveAsTable("t"))
      refused(Unsupported, "ssn", "bucket") {
        spark.sql("CREATE TABLE t (id BIGINT, ssn STRING) USING parquet CLUSTERED BY (ssn) INTO 2 BUCKETS")
      }
      refused(Unsupported, "ssn", "partition")(people.write.partitionBy("ssn").parquet(target))
    }
    assert(!spark.catalog.tableExists("t"))
  }

  test("settings of a user's KMS that look like ours pass") {
    set(
      Seq("ali.region", "gce.endpoint", "awz.region")
        .map(name => s"parquet.encryption.kms.$name" -> "x")
        .toMap
    )
    people.write.options(whole).parquet(target)
    write(people, own, s"$target-ours")
    assert(files().nonEmpty && !holds("canary-", target) && !holds("canary-", s"$target-ours"))
    val near = "parquet.encryption.kms.aws.regoin"
    set(Map(near -> "x"))
    refused(UnknownOption, s"'$near'", "parquet.encryption.kms.aws.region") {
      people.write.options(whole).parquet(s"$target-near")
    }
  }
}
