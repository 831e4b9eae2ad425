package io.pmeparquet.spark.write

import java.nio.file.Files

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}

import io.pmeparquet.spark.PairSuite
import io.pmeparquet.Condition.Unsupported

/** Key material beside a file, and AAD prefixes made from its path, are right wherever Spark moves the file. */
class KeyPlacesSuite extends PairSuite {
  private type Way = (Map[String, String], Map[String, String]) => Unit

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    setOptions(kms)
  }

  private def frame: DataFrame = residents().withColumn("part", expr("CAST(id % 2 AS INT)"))
  private def saved(write: Map[String, String]) = frame.write.format(ours.format).options(write)

  private def sql(statements: String*): Way = { (write, _) =>
    frame.createOrReplaceTempView("source")
    val listed = (ours.options ++ write).map { case (name, value) => s"'$name' '$value'" }.mkString(", ")
    val using = s"USING `pme-parquet` OPTIONS ($listed)"
    statements.foreach(text => spark.sql(text.replace("{using}", s"$using LOCATION '${ours.path}'")))
  }

  private def stream(write: Map[String, String], read: Map[String, String]): DataStreamWriter[Row] = {
    saved(ours.options ++ write).mode("append").save(s"${ours.path}-in")
    val in = spark.readStream.format(ours.format).options(ours.options ++ read).schema(frame.schema)
    in.load(s"${ours.path}-in")
      .writeStream
      .format(ours.format)
      .options(ours.options ++ write)
      .option("checkpointLocation", s"${ours.path}-c")
      .trigger(Trigger.AvailableNow())
  }

  private val made = "CREATE TABLE t {using} AS SELECT * FROM source"
  private val ways: Map[String, Way] = Map(
    "a path twice" -> { (write, _) =>
      for (mode <- Seq("overwrite", "overwrite", "append"))
        saved(ours.options ++ write).mode(mode).save(ours.path)
    },
    "many files" -> { (write, _) =>
      val writer = frame.repartition(3).write.format(ours.format).options(ours.options ++ write)
      writer.option("maxRecordsPerFile", "15").save(ours.path)
    },
    "partitions, overwritten one by one" -> { (write, _) =>
      for (_ <- 1 to 2) {
        val writer =
          saved(ours.options ++ write).option("partitionOverwriteMode", "dynamic").partitionBy("part")
        writer.mode("overwrite").save(ours.path)
      }
    },
    "partitions with buckets" -> { (write, _) =>
      val writer =
        saved(ours.options ++ write).option("path", ours.path).partitionBy("part").bucketBy(2, "id")
      writer.sortBy("id").saveAsTable("t")
    },
    "a table, replaced and appended to" -> { (write, _) =>
      for (mode <- Seq("error", "append", "overwrite", "append"))
        saved(ours.options ++ write).option("path", ours.path).mode(mode).saveAsTable("t")
    },
    "insertInto" -> { (write, _) =>
      saved(ours.options ++ write).option("path", ours.path).saveAsTable("t")
      frame.write.insertInto("t")
      frame.write.mode("overwrite").insertInto("t")
    },
    "INSERT INTO" -> sql(made, "INSERT INTO t SELECT * FROM source"),
    "INSERT OVERWRITE" -> sql(made, "INSERT OVERWRITE t SELECT * FROM source"),
    "INSERT into one partition, and over one" -> sql(
      "CREATE TABLE t {using} PARTITIONED BY (part) AS SELECT * FROM source",
      "INSERT INTO t PARTITION (part = 7) SELECT id, name, ssn, salary, address, tags, scores, country FROM source",
      "INSERT OVERWRITE t PARTITION (part = 0) SELECT id, name, ssn, salary, address, tags, scores, country FROM source"
    ),
    "INSERT OVERWRITE DIRECTORY" -> { (write, _) =>
      frame.createOrReplaceTempView("source")
      spark.sql(
        s"INSERT OVERWRITE DIRECTORY '${ours.path}' ${ours.clause(write.toSeq: _*)} SELECT * FROM source"
      )
    },
    "a stream, twice" -> { (write, read) =>
      for (_ <- 1 to 2) stream(write, read).start(ours.path).awaitTermination()
    },
    "a stream into partitions" -> ((write, read) =>
      stream(write, read).partitionBy("part").start(ours.path).awaitTermination()
    )
  )

  for ((way, write) <- ways)
    test(s"a file keeps its key material and its name in the AAD prefix: $way") {
      val read = Map("aadPrefix" -> "{file}")
      write(read + ("keyMaterial" -> "external"), read)
      val table = ours.read(read.toSeq: _*)
      assert(table.count() >= 20)
      assert(table.where("name IS NOT NULL").count() > 0)
      for (file <- files(ours.path))
        assert(Files.exists(file.resolveSibling(s"_KEY_MATERIAL_FOR_${file.getFileName}.json")), file)
    }

  for (
    (way, template) <- Seq(
      "a path twice" -> "{table}",
      "partitions, overwritten one by one" -> "{path}/{file}",
      "partitions, overwritten one by one" -> "site:{table}:{file}",
      "partitions with buckets" -> "{table}",
      "partitions with buckets" -> "site:{table}:{file}",
      "INSERT INTO" -> "{path}/{file}"
    )
  )
    test(s"a prefix that is not stored is that of the table wherever the file is: $way, $template") {
      val read = Map("aadPrefix" -> template)
      ways(way)(read + ("storeAadPrefix" -> "false"), read)
      assert(ours.read(read.toSeq: _*).count() >= 20)
    }

  for (
    (option, condition) <- Seq(
      ("keyMaterial" -> "external", Some(Unsupported)),
      ("aadPrefix" -> "{file}", Some(Unsupported)),
      ("aadPrefix" -> "{table}", Some(Unsupported)),
      ("algorithm" -> "AES_GCM_V1", None)
    )
  )
    test(s"a partition at another location ${condition.fold("reads back")(_ => "is not written")}: $option") {
      val columns = s"(id BIGINT, p INT) ${ours.clause(option)}"
      spark.sql(s"CREATE TABLE t $columns PARTITIONED BY (p) LOCATION '${ours.path}'")
      spark.sql(s"ALTER TABLE t ADD PARTITION (p = 1) LOCATION '${ours.path}-elsewhere'")
      // Spark writes such a partition's files under another name and place, and then renames them.
      def insert() = spark.sql("INSERT INTO t PARTITION (p = 1) VALUES (11), (12)")
      condition match {
        case Some(refusal) =>
          refused(refusal)(insert())
          assertEquals(files(s"${ours.path}-elsewhere"), Nil)
        case None =>
          insert()
          assertEquals(rows(spark.table("t")), Seq("[11,1]", "[12,1]"))
          assert(files(s"${ours.path}-elsewhere").nonEmpty)
      }
    }
}
