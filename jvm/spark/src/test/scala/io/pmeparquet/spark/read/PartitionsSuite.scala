package io.pmeparquet.spark.read

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.functions.{col, input_file_name}

import io.pmeparquet.spark.PairSuite

/** Directories of partitions, and the hidden `_metadata` column, which names the file of each row. */
class PartitionsSuite extends PairSuite {
  private def byCountry(source: Source) = source.writer(residents()).partitionBy("country")

  private def directories(source: Source) = files(source.path).map(_.getParent.getFileName.toString).toSet

  test("partitionBy makes the same directories, and files in them are encrypted") {
    assertEquals(same { source => byCountry(source).save(source.path); source.read() }.size, 20)
    assertEquals(directories(ours), Set("country=de", "country=fr", "country=it"))
    assertEquals(directories(theirs), directories(ours))
    for (file <- files(ours.path)) {
      val content = Files.readAllBytes(file)
      assertEquals(new String(content.take(4) ++ content.takeRight(4), "UTF-8"), "PAREPARE")
    }
  }

  test("nested partitions of odd values read back") {
    val frame = spark.sql(
      "SELECT * FROM VALUES (1, 'a/b', 2020), (2, 'sp ace', 2021), (3, NULL, 2021), (4, 'ü:=%', 2020) AS t(id, name, year)"
    )
    val found = same { source =>
      source.writer(frame).partitionBy("year", "name").save(source.path)
      source.read()
    }
    assertEquals(found.size, 4)
  }

  private def overwritten(source: Source, frame: Long, more: (String, String)*) = {
    byCountry(source).mode("overwrite").save(source.path)
    source.writer(residents(frame, 1), more: _*).partitionBy("country").mode("overwrite").save(source.path)
    source.read()
  }

  test("a static overwrite drops the other partitions, and a dynamic one keeps them") {
    assertEquals(same(overwritten(_, 0)).size, 1)
    assertEquals(same(overwritten(_, 300, "partitionOverwriteMode" -> "dynamic")).size, 14)
    set(Map("spark.sql.sources.partitionOverwriteMode" -> "dynamic"))
    val more = same { source =>
      source.writer(residents(301, 1)).partitionBy("country").mode("overwrite").save(source.path)
      source.read()
    }
    assertEquals(more.size, 8)
  }

  test("filters of partitions are pushed down, and the files of others are not read") {
    Seq(ours, theirs).foreach(source => byCountry(source).save(source.path))
    assertEquals(same(_.read().where("country = 'fr' AND id > 3")).size, 6)
    assert(plan(ours.read().where("country = 'fr'")).contains("PartitionFilters: [isnotnull(country"))
    for (file <- files(ours.path) if file.getParent.endsWith("country=it"))
      Files.write(file, "not a Parquet file".getBytes("UTF-8"))
    val known = ours.reader().schema(residents().schema).load(ours.path)
    assertEquals(known.where("country = 'de'").count(), 7L)
  }

  test("dynamic partition pruning is planned") {
    val lands = spark.sql("SELECT * FROM VALUES ('de', 'Deutschland'), ('fr', 'France') AS t(code, label)")
    // Rows of an RDD, which Spark does not filter while it plans.
    spark.createDataFrame(lands.rdd, lands.schema).createOrReplaceTempView("countries")
    def joined(source: Source) =
      source
        .read()
        .join(spark.table("countries").where("label LIKE 'D%'"), col("country") === col("code"))
        .select("id", "label")
    Seq(ours, theirs).foreach(source => byCountry(source).save(source.path))
    assertEquals(same(joined).size, 7)
    val text = plan(joined(ours))
    assert(text.contains("dynamicpruning") && !text.contains("dynamicpruningexpression(true)"), text)
  }

  test("values of partitions have the type of a given schema") {
    val found = same { source =>
      source
        .writer(residents().selectExpr("id", "CAST(id % 2 AS INT) AS p"))
        .partitionBy("p")
        .save(source.path)
      source.reader().schema("id BIGINT, p STRING").load(source.path)
    }
    assertEquals(found.size, 20)
  }

  test("metadata and input_file_name name the file of each row") {
    Seq(ours, theirs).foreach(_.write(residents().repartition(3)))
    val fields = Seq("file_name", "file_path", "file_size").map("_metadata." + _)
    val found = ours.read().select(fields.head, fields.tail: _*).distinct().collect()
    val expected = files(ours.path)
    assertEquals(found.map(_.getString(0)).toSet, expected.map(_.getFileName.toString).toSet)
    for (row <- found) {
      val path = Paths.get(new java.net.URI(row.getString(1)))
      assertEquals(path, expected.find(_.getFileName.toString == row.getString(0)).get)
      assertEquals(row.getLong(2), Files.size(path))
    }
    val names = ours.read().select(input_file_name()).distinct().collect().map(_.getString(0))
    assertEquals(names.map(name => Paths.get(new java.net.URI(name))).toSet, expected.toSet)
    val name = expected.head.getFileName.toString
    val some = ours.read().where(col("_metadata.file_name") === name)
    assertEquals(rows(some.select("_metadata.file_name").distinct()), Seq(s"[$name]"))
    assertEquals(ours.read().select("_metadata").schema, theirs.read().select("_metadata").schema)
    set(Map("spark.sql.parquet.aggregatePushdown" -> "true"))
    assertEquals(ours.read().select("_metadata.file_name", "id").count(), 20L)
    assert(ours.read().selectExpr("max(_metadata.row_index)").head().getLong(0) >= 0)
  }

  test("row indexes count the rows of each file, with both readers and where pages are skipped") {
    Seq(ours, theirs).foreach(_.write(residents().coalesce(1)))
    val found = same(_.read().where("id % 3 = 0").select("id", "_metadata.row_index"))
    assertEquals(found(1), "[12,12]")
    same(_.read().selectExpr("input_file_block_start()", "input_file_block_length() > 0"))
    val many = s"$directory/many"
    write(
      spark.range(0, 5000, 1, 1).toDF(),
      kms ++ Map("footerKey" -> "footer", "parquet.page.row.count.limit" -> "100"),
      many
    )
    for (vectorized <- Seq("true", "false")) {
      set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized))
      val read = reader(kms).load(many)
      val few = read.where("id IN (17, 2500, 4999)").select("id", "_metadata.row_index")
      assertEquals(rows(few), Seq("[17,17]", "[2500,2500]", "[4999,4999]"))
      assertEquals(read.where("_metadata.row_index <> id").count(), 0L)
      assertEquals(read.where("_metadata.row_index >= 4990").count(), 10L)
    }
  }

  test("a column of the data called _metadata is read") {
    val found = same { source =>
      source.write(spark.range(3).selectExpr("id", "'mine' AS _metadata"))
      source.read().select("_metadata", "id")
    }
    assertEquals(found.size, 3)
  }
}
