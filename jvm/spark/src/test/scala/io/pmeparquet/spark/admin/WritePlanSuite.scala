package io.pmeparquet.spark.admin

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.collection.JavaConverters._
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.parquet.format.{FileMetaData, Util}
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.types._

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.spark.PairSuite
import io.pmeparquet.Condition.{BadOption, UnknownColumn, UnknownOption, Unsupported}

/** What a plan says of a write, compared with what the write does: its files, or its refusal. */
class WritePlanSuite extends PairSuite {
  private val footer = kms + ("footerKey" -> "footer")
  private val signed = footer + ("plaintextFooter" -> "true")

  private def planOf(frame: DataFrame, options: Map[String, String], partitionBy: String*): WritePlan =
    WritePlan.of(spark, frame.schema, partitionBy, options)

  private def save(frame: DataFrame, options: Map[String, String], partitionBy: String*): Unit =
    frame.write
      .format("pme-parquet")
      .options(options)
      .partitionBy(partitionBy: _*)
      .mode("overwrite")
      .save(target)

  /** Path, kind of key and key of each leaf column, from a plan. */
  private def planned(plan: WritePlan): Seq[(String, String, Option[String])] =
    plan.columns.filterNot(_.by == PlannedColumn.Partition).map { column =>
      val by = if (column.by == PlannedColumn.UniformKey) PlannedColumn.FooterKey else column.by
      (column.path, by, column.key)
    }

  /** The readable footer of the first file. */
  private def footerOfFirst(): FileMetaData = {
    val content = Files.readAllBytes(files().head)
    val length = ByteBuffer.wrap(content).order(LITTLE_ENDIAN).getInt(content.length - 8)
    val in = new ByteArrayInputStream(content, content.length - 8 - length, length)
    Util.readFileMetaData(in)
  }

  private def chunks() = footerOfFirst().getRow_groups.get(0).getColumns.asScala.toList

  /** The same from the readable footer of the first file. */
  private def written(): Seq[(String, String, Option[String])] = {
    val metadata = footerOfFirst()
    def key(of: Array[Byte]) = new ObjectMapper().readTree(new String(of, UTF_8)).get("masterKeyID").asText
    chunks().map { chunk =>
      Option(chunk.getCrypto_metadata) match {
        case None => (path(chunk.getMeta_data.getPath_in_schema), PlannedColumn.Plaintext, None)
        case Some(found) if found.isSetENCRYPTION_WITH_COLUMN_KEY =>
          val column = found.getENCRYPTION_WITH_COLUMN_KEY
          (path(column.getPath_in_schema), PlannedColumn.ColumnKey, Some(key(column.getKey_metadata)))
        case Some(_) =>
          val of = key(metadata.getFooter_signing_key_metadata)
          (path(chunk.getMeta_data.getPath_in_schema), PlannedColumn.FooterKey, Some(of))
      }
    }
  }

  private def path(names: java.util.List[String]) = names.asScala.mkString(".")

  private def failure(action: => Any): PmeException = {
    val failed = intercept[Exception](action)
    PmeException.find(failed).getOrElse(throw failed)
  }

  private val names =
    Seq(
      "id",
      "ssn",
      "Mixed",
      "with space",
      "größe",
      "a.b",
      "tick`tick",
      "semi;colon",
      "st*r",
      "list",
      "element",
      "key"
    )
  private val leaves =
    Seq(IntegerType, StringType, DecimalType(20, 2), TimestampType, BinaryType, DoubleType)

  private def choose[A](random: Random, from: Seq[A]): A = from(random.nextInt(from.size))

  private def randomStruct(random: Random, depth: Int): StructType = StructType(
    random
      .shuffle(names)
      .take(1 + random.nextInt(5))
      .map(name => StructField(name, randomType(random, depth)))
  )

  private def randomType(random: Random, depth: Int): DataType =
    if (depth >= 3 || random.nextBoolean()) choose(random, leaves)
    else
      random.nextInt(3) match {
        case 0 => randomStruct(random, depth + 1)
        case 1 => ArrayType(randomType(random, depth + 1))
        case _ => MapType(choose(random, leaves.take(2)), randomType(random, depth + 1))
      }

  /** One of the possible spellings of a column, or of a structure that contains it, or of none. */
  private def spelled(random: Random, column: PlannedColumn): String = {
    val plain = !column.name.contains("`")
    val top = if (plain) column.name.split('.').head else column.name
    val ways = Seq(column.name, column.name, column.name.toUpperCase, top)
    choose(random, if (plain) ways ++ Seq(column.path, s"${top.take(2)}*", s"${column.name}x") else ways)
  }

  for (seed <- 0 until (if (isWhole) 12 else 3))
    test(s"each leaf column gets the key of the plan, or the write is refused as the plan says: $seed") {
      val random = new Random(seed)
      // One row of nulls: every leaf column is in the file.
      val columns = randomStruct(random, 0).map(field => lit(null).cast(field.dataType).as(field.name))
      val frame = spark.range(0, 1, 1, 1).select(columns: _*)
      val known = planOf(frame, signed).columns
      for (_ <- 1 to 4) {
        val chosen = random.shuffle(known).take(1 + random.nextInt(4))
        val keyed = chosen.map(column => choose(random, Seq("pii", "pay")) -> spelled(random, column))
        val keys = keyed.groupBy(_._1).map { case (key, names) => key -> names.map(_._2).asJava }
        val options = signed ++ Map(
          "columnKeys" -> new ObjectMapper().writeValueAsString(keys.asJava),
          "unlistedColumns" -> choose(random, Seq("footerKey", "plaintext"))
        )
        val plan = planOf(frame, options)
        plan.refusals.headOption match {
          case Some(refusal) => assertEquals(Refusal.of(failure(save(frame, options))), refusal)
          case None =>
            save(frame, options)
            assertEquals(planned(plan), written(), options("columnKeys"))
        }
      }
    }

  test("a uniform key, and a footer key alone, protect each column") {
    for ((option, by) <- Seq("uniformKey" -> "uniform key", "footerKey" -> "footer key")) {
      val options = kms ++ Map(option -> "pay", "plaintextFooter" -> "true")
      val plan = planOf(residents(), options)
      assertEquals(
        plan.columns.map(c => (c.by, c.key, c.pattern)).toSet,
        Set((by, Option("pay"), Option.empty[String]))
      )
      save(residents(), options)
      assertEquals(planned(plan), written())
    }
  }

  test("partition columns are not in the files, and are named as in partitionBy") {
    val options = signed + ("columnKeys" -> "pii: name")
    for (partitions <- Seq(Seq("country"), Seq("id", "COUNTRY"))) {
      val plan = planOf(residents(), options, partitions: _*)
      save(residents().limit(2), options, partitions: _*)
      assertEquals(planned(plan), written())
      val directory =
        Paths.get(target).relativize(files().head.getParent).iterator.asScala.map(_.toString).toSeq
      val found = plan.columns.filter(_.by == PlannedColumn.Partition)
      assertEquals(found.map(_.path), directory.map(_.takeWhile(_ != '=')))
      assertEquals(found.flatMap(_.key), Nil)
    }
  }

  /** A column of each shape, whose values begin with `canary-` and a name of the leaf. */
  private def shapes: DataFrame = spark
    .range(0, 3, 1, 1)
    .selectExpr(
      "id",
      "concat('canary-name-', id) AS name",
      "named_struct('street', concat('canary-street-', id), 'geo', named_struct('lat', concat('canary-lat-', id))) AS addr",
      "array(concat('canary-tag-', id)) AS tags",
      "array(named_struct('first', concat('canary-first-', id), 'last', concat('canary-last-', id))) AS people",
      "map(concat('canary-key-', id), concat('canary-value-', id)) AS attr",
      "concat('canary-mixed-', id) AS Mixed",
      "concat('canary-day-', id) AS day"
    )

  /** The leaves that have a key of their own, as in `columnKeys`. */
  private def covered(frame: DataFrame, columnKeys: String): Set[String] =
    planOf(frame, footer + ("columnKeys" -> columnKeys)).columns
      .filter(_.by == PlannedColumn.ColumnKey)
      .map(_.name)
      .toSet

  test("columnKeys covers what its patterns name") {
    val (address, people) =
      (Set("addr.street", "addr.geo.lat"), Set("people.element.first", "people.element.last"))
    val all = Set("id", "name", "tags.element", "attr.key", "attr.value", "Mixed", "day") ++ address ++ people
    val cases = Seq(
      "pii: name" -> Set("name"),
      "pii: name, tags; pay: Mixed" -> Set("name", "tags.element", "Mixed"),
      "pii: addr" -> address,
      "pii: addr.street" -> Set("addr.street"),
      "pii: addr.geo" -> Set("addr.geo.lat"),
      "pii: addr.*" -> address,
      "pii: addr.s*" -> Set("addr.street"),
      "pii: *ame" -> Set("name"),
      "pii: *" -> all,
      "pii: tags" -> Set("tags.element"),
      "pii: tags.element" -> Set("tags.element"),
      "pii: tags.list.element" -> Set("tags.element"),
      "pii: people" -> people,
      "pii: people.element.first" -> Set("people.element.first"),
      "pii: people.list.element.last" -> Set("people.element.last"),
      "pii: attr" -> Set("attr.key", "attr.value"),
      "pii: attr.key" -> Set("attr.key"),
      "pii: attr.value" -> Set("attr.value"),
      "pii: attr.key_value.value" -> Set("attr.value"),
      "pii: `name`" -> Set("name"),
      """{"pii": ["name", "addr.street"], "pay": ["tags"]}""" -> Set("name", "addr.street", "tags.element"),
      "pii: MIXED" -> Set("Mixed"),
      "pii: ADDR.Street" -> Set("addr.street")
    )
    for ((keys, leaves) <- cases) assertEquals(covered(shapes, keys), leaves, keys)
    for (name <- Seq("a.b", "with space", "größe", "colon:colon", "semi;colon", "comma,comma", "tick`tick")) {
      val quoted = s"`${name.replace("`", "``")}`"
      val frame = spark.sql(s"SELECT 'odd' AS $quoted, 'plain' AS other, named_struct('b', 1) AS a")
      val json = new ObjectMapper().writeValueAsString(Map("pii" -> Seq(quoted).asJava).asJava)
      val options = signed ++ Map("columnKeys" -> json, "unlistedColumns" -> "plaintext")
      val keyed = planOf(frame, options).columns.filter(_.by == PlannedColumn.ColumnKey)
      assertEquals(keyed.map(_.path), Seq(name))
    }
    set(Map("spark.sql.caseSensitive" -> "true"))
    refused(UnknownColumn, "Mixed")(save(shapes, footer + ("columnKeys" -> "pii: MIXED")))
    assertEquals(covered(shapes, "pii: Mixed"), Set("Mixed"))
  }

  test("a name with a dot is that of a nested field, unless it is in backticks") {
    val frame = spark.sql("SELECT 'canary-dotted' AS `a.b`, named_struct('b', 'canary-nested') AS a")
    val options = footer ++ Map("columnKeys" -> "pii: a.b", "unlistedColumns" -> "plaintext")
    val keyed = planOf(frame, options).columns.filter(_.by == PlannedColumn.ColumnKey)
    save(frame, options + ("compression" -> "none"))
    assertEquals(canaries(), Set("canary-dotted"))
    assertEquals(keyed.map(_.name), Seq("a.b"))
  }

  /** What can be read in the bytes of the table's files of texts that begin with `canary-`. */
  private def canaries(): Set[String] = {
    val content = allFiles().map(file => new String(Files.readAllBytes(file), "ISO-8859-1")).mkString
    "canary-[a-z]+".r.findAllIn(content).toSet
  }

  test("columns that the plan calls readable are readable, and no others") {
    val some = Map(
      "columnKeys" -> "pii: name, addr.geo, people.element.first; pay: attr.value, tags, MIXED",
      "unlistedColumns" -> "plaintext"
    )
    val plan = planOf(shapes, footer ++ some, "day")
    val readable = plan.columns.filter(_.by == PlannedColumn.Plaintext).map(_.name)
    assertEquals(readable, Seq("id", "addr.street", "people.element.last", "attr.key"))
    assertEquals(plan.columns.last.by, PlannedColumn.Partition)
    save(shapes, footer ++ some + ("compression" -> "none"), "day")
    assertEquals(canaries(), Set("canary-street", "canary-last", "canary-key"))
    assert(Files.exists(Paths.get(target, "day=canary-day-1")))
    save(shapes.drop("day"), footer + ("compression" -> "none"))
    assertEquals(canaries(), Set.empty[String])
  }

  test("settings of the session apply as in a write, and misspelt ones are refused") {
    setOptions(
      Map("unlistedColumns" -> "plaintext", "plaintextFooter" -> "true", "algorithm" -> "AES_GCM_CTR_V1")
    )
    val options = footer + ("columnKeys" -> "pii: ssn")
    val plan = planOf(residents(), options)
    save(residents(), options)
    assertEquals((plan.files.footer, plan.files.algorithm), ("signed", "AES_GCM_CTR_V1"))
    assertEquals(planned(plan), written())
    setOptions(Map("plaintextFoter" -> "true"))
    refused(UnknownOption, "plaintextFooter")(planOf(residents(), options))
  }

  test("lists as older Sparks wrote them, and names that differ in case, have the keys of the plan") {
    set(Map("spark.sql.parquet.writeLegacyFormat" -> "true"))
    val options = signed + ("columnKeys" -> "pii: tags, scores.value")
    val plan = planOf(residents(), options)
    assert(plan.columns.exists(_.path == "tags.bag.array"), plan.columns)
    save(residents(), options)
    assertEquals(planned(plan), written())
    set(Map("spark.sql.caseSensitive" -> "true"))
    val frame = spark.sql("SELECT 'lower' AS a, 2 AS A")
    val two = planOf(frame, signed + ("columnKeys" -> "pii: A"))
    save(frame, signed + ("columnKeys" -> "pii: A"))
    assertEquals(planned(two), written())
    assertEquals(
      two.columns.map(c => (c.path, c.`type`, c.key)),
      Seq(("a", "string", Some("footer")), ("A", "int", Some("pii")))
    )
  }

  test("a plan runs no job, calls no KMS and writes nothing") {
    // A write would fail for either key.
    val absent = kms ++ Map("footerKey" -> "missing", "columnKeys" -> "down: ssn")
    val context = spark.sparkContext
    val jobs = new LinkedBlockingQueue[String]
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit =
        jobs.put(Option(job.properties).fold("of others")(_.getProperty("spark.jobGroup.id", "of others")))
    }
    val warehouse = spark.conf.get("spark.sql.warehouse.dir").stripPrefix("file:")
    context.addSparkListener(listener)
    val plan =
      try {
        context.setJobGroup("of the plan", "")
        val made = untouched(directory.toString)(untouched(warehouse)(planOf(residents(), absent)))
        context.setJobGroup("later", "")
        residents().count()
        // Events come in their order.
        def next() = Option(jobs.poll(1, TimeUnit.MINUTES)).getOrElse(fail("a job is not noticed"))
        val seen = Iterator.continually(next()).takeWhile(_ != "later").toList
        assertEquals(seen, Nil)
        made
      } finally {
        context.clearJobGroup()
        context.removeSparkListener(listener)
      }
    assertEquals(plan.refusals, Nil)
    val refusal = failure(save(residents(), absent)).condition
    assert(Set[Condition](Condition.KeyNotFound, Condition.KmsUnavailable).contains(refusal))
  }

  test("a refusal has the message of the write") {
    val all = "address, scores, tags, id, country"
    val cases = Seq(
      (Map("columnKeys" -> "pii: ssn, nme"), UnknownColumn, Nil),
      (Map("columnKeys" -> "ssn: pii"), UnknownColumn, Nil),
      (Map("columnKeys" -> "pii: address; pay: address.zip"), BadOption, Seq("address.zip")),
      (
        Map("columnKeys" -> s"pii: $all", "unlistedColumns" -> "error"),
        UnknownColumn,
        Seq("name", "ssn", "salary")
      )
    )
    for ((options, condition, by) <- cases) {
      val plan = planOf(residents(), footer ++ options)
      assertEquals(plan.refusals.head.condition, condition.name)
      assertEquals(plan.columns.filter(_.by == PlannedColumn.Refused).map(_.path), by)
      assertEquals(Refusal.of(failure(save(residents(), footer ++ options))), plan.refusals.head)
      assert(!Files.exists(Paths.get(target)))
    }
    for (pattern <- Seq("*n*", "COUNTRY")) {
      val options = footer + ("columnKeys" -> s"pii: $pattern")
      val plan = planOf(residents(), options, "country")
      assertEquals(plan.refusals.map(_.condition), Seq(Unsupported.name))
      assertEquals(Refusal.of(failure(save(residents(), options, "country"))), plan.refusals.head)
      assertEquals(plan.unmatched, Nil)
    }
  }

  test("every reason is listed in the order of the write, with the nearest names") {
    val options = footer ++ Map(
      "columnKeys" -> "pii: nme, adress.street, id; pay: id, *untry",
      "unlistedColumns" -> "error"
    )
    val plan = planOf(residents(), options, "country")
    assertEquals(
      plan.refusals.map(_.condition),
      Seq(Unsupported, UnknownColumn, UnknownColumn, BadOption, UnknownColumn).map(_.name)
    )
    assertEquals(
      plan.unmatched.map(entry => entry.pattern -> entry.key),
      Seq("nme" -> "pii", "adress.street" -> "pii")
    )
    def nearest(pattern: String) = {
      val unmatched = planOf(residents(), footer + ("columnKeys" -> s"pii: $pattern")).unmatched
      assertEquals(unmatched.size, 1)
      unmatched.head.nearest.head
    }
    assertEquals(
      Seq("nme", "adress", "adress.stret", "scores.value.scroe").map(nearest),
      Seq("name", "address", "address.street", "scores.value.score")
    )
    set(Map("spark.sql.caseSensitive" -> "true"))
    assertEquals(nearest("SSN"), "ssn")
  }

  private def differing(options: Map[String, String]): String = {
    val own = options.filterNot { case (name, value) => footer.get(name).contains(value) }
    if (own.isEmpty) "no key" else own.map { case (name, value) => s"$name=$value" }.mkString(", ")
  }

  for (
    options <- Seq(
      kms,
      kms + ("columnKeys" -> "pii: ssn"),
      footer + ("uniformKey" -> "pii"),
      footer + ("columnKeys" -> "pii: ssn:"),
      footer + ("unlistedColumns" -> "plaintext"),
      footer + ("algorithm" -> "AES_GCM_V2"),
      footer + ("storeAadPrefix" -> "false"),
      footer + ("aadPrefix" -> "{day}"),
      footer ++ Map("keyManagement" -> "direct", "keyMaterial" -> "external"),
      footer + ("kms" -> "keystroe"),
      footer ++ Map(
        "kms" -> "keystore",
        "kms.keystore.path" -> "/nowhere/keys.p12",
        "kms.keystore.password" -> "env:HOME"
      ),
      footer ++ Map("kms" -> "static", "kms.static.keys" -> "env:PME_TEST_NOT_SET")
    )
  )
    test(s"options that cannot be used are refused as by a write: ${differing(options)}") {
      val failed = failure(planOf(residents(), options))
      assertEquals(Refusal.of(failed), Refusal.of(failure(save(residents(), options))))
      assert(!Files.exists(Paths.get(target)))
    }

  test("what Spark refuses itself is refused by Spark") {
    val cases = Seq(
      ("SELECT 1 AS a, 2 AS A", Nil),
      ("SELECT 1 AS a, 2 AS b", Seq("c")),
      ("SELECT 1 AS a, 2 AS b", Seq("a", "b")),
      ("SELECT array(1) AS a, 2 AS b", Seq("a"))
    )
    for ((query, partitions) <- cases) {
      val frame = spark.sql(query)
      def condition(action: => Any) = conditionOf(intercept[AnalysisException](action))
      assertEquals(
        condition(planOf(frame, footer, partitions: _*)),
        condition(save(frame, footer, partitions: _*)),
        query
      )
    }
    val interval = spark.sql("SELECT 1 AS b, named_struct('x', make_interval(1)) AS a")
    refused(Unsupported, "column 'a'", "interval")(planOf(interval, footer))
    intercept[AnalysisException](save(interval, footer))
  }

  test("a frame without columns has a plan without columns") {
    val none = spark.range(1).select()
    assertEquals(planOf(none, footer).columns, Nil)
    val unmatched = planOf(none, footer + ("columnKeys" -> "pii: ssn")).unmatched
    assertEquals(unmatched.map(_.nearest), Seq(Nil))
  }

  test("effective values of the options are listed, with the defaults") {
    def files(options: (String, String)*) = planOf(residents(), footer ++ options).files
    val default = files()
    assertEquals(
      default,
      PlannedFiles(
        footer = "encrypted",
        footerKey = "footer",
        kms = kms("kms"),
        algorithm = "AES_GCM_V1",
        keyManagement = "envelope",
        dataKeyBits = Some(128),
        kekBits = Some(128),
        keyMaterial = Some("internal"),
        aadPrefix = None,
        storeAadPrefix = true,
        unlistedColumns = "footerKey"
      )
    )
    assertEquals(
      files("dataKeyBits" -> "256", "kekBits" -> "192"),
      default.copy(dataKeyBits = Some(256), kekBits = Some(192))
    )
    assertEquals(
      files("doubleWrapping" -> "false", "keyMaterial" -> "external"),
      default.copy(kekBits = None, keyMaterial = Some("external"))
    )
    assertEquals(
      files(holding("footer").toSeq :+ ("keyManagement" -> "direct"): _*),
      default.copy(
        kms = "static",
        keyManagement = "direct",
        dataKeyBits = None,
        kekBits = None,
        keyMaterial = None
      )
    )
    assertEquals(
      files("aadPrefix" -> "t", "storeAadPrefix" -> "false"),
      default.copy(aadPrefix = Some("t"), storeAadPrefix = false)
    )
    assertEquals(files("kms" -> "aws", "kms.aws.region" -> "eu-west-1").kms, "aws")
  }

  test("the columns that get a Bloom filter are those that the write gives one") {
    val frame = spark
      .range(100)
      .selectExpr(
        "id",
        "concat('t', id) AS t",
        "id > 5 AS b",
        "named_struct('x', id * 2) AS s",
        "id AS `a.b`"
      )
      .coalesce(1)
    val readable = signed ++ Map(
      "columnKeys" -> "pii: id",
      "unlistedColumns" -> "plaintext",
      "parquet.enable.dictionary" -> "false"
    )
    val enabled = "parquet.bloom.filter.enabled"
    val cases = Seq(
      Map.empty[String, String] -> Nil,
      Map(enabled -> "true") -> Seq("id", "t", "b", "s.x", "a.b"),
      Map(s"$enabled#t" -> "true") -> Seq("t"),
      Map(enabled -> "true", s"$enabled#t" -> "false") -> Seq("id", "b", "s.x", "a.b"),
      Map("parquet.bloom.filter.expected.ndv#s.x" -> "100") -> Seq("s.x"),
      Map(s"$enabled#S.X" -> "true", s"$enabled#a.b" -> "true", s"$enabled#t" -> "yes") -> Nil
    )
    for ((asked, expected) <- cases) {
      save(frame, readable ++ asked)
      val made = chunks().map(_.getMeta_data).filter(chunk => chunk != null && chunk.isSetBloom_filter_offset)
      assertEquals(made.map(chunk => path(chunk.getPath_in_schema)), expected, asked)
      val named = planOf(frame, readable ++ asked).columns.filter(_.bloomFilter).map(_.path)
      assertEquals(named, expected, asked)
    }
  }

  test("what anybody can read is listed") {
    def exposed(options: (String, String)*) =
      planOf(residents(), footer + ("columnKeys" -> "pii: ssn") ++ options).exposed
    val readable = exposed("plaintextFooter" -> "true", "unlistedColumns" -> "plaintext")
    assertEquals(readable.size, 3)
    assert(readable.head.contains("columns without a key"), readable)
    for (
      what <- Seq(
        "names and types of all columns",
        "row counts",
        "minima and maxima of columns without a key"
      )
    )
      assert(readable(1).contains(what), readable)
    assert(!exposed("plaintextFooter" -> "true").mkString.contains("minima"))
    assert(exposed("keyMaterial" -> "external").contains("ids of master keys, in key material files"))
  }
}
