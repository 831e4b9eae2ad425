package io.pmeparquet.spark.admin

import java.nio.file.{Files, Paths, StandardCopyOption}

import scala.collection.JavaConverters._

import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.parquet.verify.{FileVerification, Sample}
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.admin.recovery.Recovery
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.write.CountingProvider
import io.pmeparquet.spark.SealedSuite
import io.pmeparquet.Condition.{DamagedFile, KeyNotFound, PlaintextFile, SnapshotMismatch, Unsupported}

/** Small files become few, with the same keys and the same rows, all at once or not at all. */
class CompactionSuite extends SealedSuite {
  private def add(
      frame: DataFrame,
      options: Options = keys,
      path: String = target,
      partitions: Seq[String] = Nil
  ): Unit =
    save(frame.coalesce(1), path, partitions, options)

  private def compact(
      path: String = target,
      options: Options = kms,
      targetBytes: Long = Compaction.TargetBytes
  ) =
    Compaction.compact(spark, path, options, targetBytes)

  /** What is below the table, whatever its name. */
  private def all(path: String = target): Seq[String] =
    allFiles(path).map(file => Paths.get(path).relativize(file).toString).filterNot(_.endsWith(".crc"))

  private def usage(options: Options): Seq[String] = KeyUsage
    .of(spark, target, options)
    .select("master_key", "kind", "wrapping", "material", "columns", "data_key_bits", "kek_bits")
    .collect()
    .map(_.toString)
    .toSeq
    .sorted

  private val ways: Seq[(String, Options)] = Seq(
    "column keys" -> keys,
    "one key" -> (kms + ("uniformKey" -> "k") + ("dataKeyBits" -> "256") + ("kekBits" -> "256")),
    "a readable footer" -> (keys ++ Map("plaintextFooter" -> "true", "unlistedColumns" -> "plaintext")),
    "CTR, single wrapping, external material" ->
      (keys ++ Map(
        "algorithm" -> "AES_GCM_CTR_V1",
        "doubleWrapping" -> "false",
        "keyMaterial" -> "external"
      )),
    "a stored prefix" -> (keys + ("aadPrefix" -> "people and others"))
  )

  // MergedFilesSuite has the others, without Spark.
  private val some = Set("column keys", "CTR, single wrapping, external material", "a stored prefix")

  for ((way, options) <- ways if isWhole || some(way))
    test(s"small files become one under the same keys: $way") {
      val read = options.filter { case (name, _) => name == "algorithm" || name.startsWith("kms") }
      (0 until 4).foreach(_ => add(people, options))
      val (before, found) = (rows(load(options = read)), usage(read))
      val done = compact(options = read)
      assertEquals(done.merged.asScala.map(one => (one.replaced.size, one.rows)).toSeq, Seq((4, 160L)))
      assertEquals(done.left.asScala.toSeq, Nil)
      assertEquals(rows(load(options = read)), before)
      assertEquals(usage(read).map(_.replaceAll(",\\d+,", ",")), found.map(_.replaceAll(",\\d+,", ",")))
      val names = all().filterNot(name => name == "_SUCCESS" || name.startsWith("_KEY_MATERIAL"))
      assertEquals(names, Seq(done.merged.get(0).file))
      assertEquals(
        Verification.findings(spark, target, read, io.pmeparquet.parquet.verify.Sample(), true),
        Nil
      )
      assertEquals(compact(options = read).merged.size, 0)
    }

  test("a prefix that readers give is that of the new file") {
    val own = keys ++ Map("aadPrefix" -> "{table}/{file}", "storeAadPrefix" -> "false")
    (0 until 3).foreach(_ => add(people, own))
    val read = kms + ("aadPrefix" -> "{table}/{file}")
    assertEquals(compact(options = read).merged.get(0).rows, 120L)
    assertEquals(load(options = read).count(), 120L)
  }

  test("files in different directories, under different keys, of other columns and settings stay apart") {
    (0 until 2).foreach(_ => add(people.selectExpr("*", "id % 2 AS part"), partitions = Seq("part")))
    (0 until 2).foreach(_ =>
      add(people.selectExpr("*", "id * 0 AS part"), kms + ("uniformKey" -> "k"), partitions = Seq("part"))
    )
    (0 until 2).foreach { _ =>
      add(
        people.selectExpr("ssn", "id", "id * 0 AS part"),
        kms + ("uniformKey" -> "k"),
        partitions = Seq("part")
      )
    }
    add(
      people.selectExpr("*", "id * 0 AS part"),
      keys + ("dataKeyBits" -> "256"),
      partitions = Seq("part")
    )
    // The order of columns is that of files.
    def all = rows(load(options = Map("mergeSchema" -> "true")).select("id", "ssn", "salary", "part"))
    val before = all
    val done = compact()
    assertEquals(
      done.merged.asScala.map(one => (one.directory.takeRight(6), one.replaced.size)).toSeq.sorted,
      Seq("part=0" -> 2, "part=0" -> 2, "part=0" -> 2, "part=1" -> 2)
    )
    assertEquals(done.merged.asScala.map(_.rows).sum, 240L)
    assertEquals(all, before)
    assertEquals(files().size, 5)
  }

  test("nested, optional and unusual values are the same") {
    val odd = spark
      .range(0, 50, 1, 1)
      .selectExpr(
        "id",
        "IF(id % 3 = 0, NULL, array(struct(id AS a, IF(id % 2 = 0, NULL, map(concat('k', id), array(id, NULL))) AS m), NULL)) AS deep",
        "CAST('NaN' AS DOUBLE) AS nan",
        "-0.0D AS zero",
        "CAST(id AS DECIMAL(30, 3)) AS wide",
        "CAST(NULL AS STRING) AS nothing",
        "date_add(DATE'1900-01-01', CAST(id AS INT)) AS day",
        "timestamp_seconds(id) AS time"
      )
    (0 until 3).foreach(_ => add(odd, kms + ("uniformKey" -> "k")))
    val (schema, before) = (load().schema, rows(load()))
    assertEquals(compact().merged.get(0).rows, 150L)
    assertEquals(load().schema, schema)
    assertEquals(rows(load()), before)
  }

  /** parquet-java writes one NaN only, so this alters the bytes of plaintext pages, and encrypts them as they are. */
  private def withUnusualNaN(): Unit = {
    val amounts = spark
      .range(0, 4, 1, 1)
      .selectExpr("id", "CAST('NaN' AS DOUBLE) AS amount", "id % 1 AS part")
    val plain = Map("compression" -> "none") ++
      Map("parquet.enable.dictionary" -> "false", "parquet.page.write-checksum.enabled" -> "false")
    (0 until 2).foreach { _ =>
      amounts.write.options(plain).mode("append").partitionBy("part").parquet(target)
    }
    val (usual, other) = (Array[Byte](0, 0, 0, 0, 0, 0, -8, 127), Array[Byte](7, 0, 0, 0, 0, 0, -8, 127))
    files().foreach { file =>
      val text = new String(Files.readAllBytes(file), "ISO-8859-1")
      val bytes = text.replace(new String(usual, "ISO-8859-1"), new String(other, "ISO-8859-1"))
      assert(bytes != text)
      Files.write(file, bytes.getBytes("ISO-8859-1"))
      Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    }
    assertEquals(new TableInPlace(spark, target, footer).run().failed.size, 0)
  }

  test("files with a NaN of unusual bits stay, and the others are merged and sealed") {
    withUnusualNaN()
    (0 until 2).foreach(_ =>
      add(spark.range(1).selectExpr("id", "1.5D AS amount", "1 AS part"), footer, partitions = Seq("part"))
    )
    seal()
    val before = files().map(_.getFileName.toString).toSet
    val done = compact()
    assertEquals(done.merged.asScala.map(_.replaced.size).toSeq, Seq(2))
    assertEquals(done.left.asScala.map(one => one.reason.contains("NaN")).toSeq, Seq(true, true))
    assertEquals((done.sealedAs.version, done.sealedAs.added, done.sealedAs.removed), (2L, 1L, 2L))
    assertEquals(load().count(), 10L)
    // Nothing is left to merge but these.
    val again = untouched()(compact())
    assertEquals((again.merged.size, again.left.size, again.sealedAs), (0, 2, null))
    assertEquals(files().map(_.getFileName.toString).toSet.intersect(before).size, 2)
  }

  test("files as long as the target stay, and so does a file without another") {
    (0 until 3).foreach(_ => add(people))
    val longest = files().map(Files.size(_)).max
    assertEquals(compact(targetBytes = longest).merged.size, 0)
    assertEquals(compact(targetBytes = 2 * longest).merged.asScala.map(_.replaced.size).toSeq, Seq(2))
    assertEquals(files().size, 2)
  }

  test("a dry run says what would be merged, and changes nothing") {
    (0 until 3).foreach(_ => add(people))
    val done = untouched()(Compaction.compact(spark, target, kms, dryRun = true))
    assertEquals(
      done.merged.asScala.map(one => (one.file, one.replaced.size, one.rows)).toSeq,
      Seq((null, 3, 120L))
    )
    val row = untouched()(
      spark
        .sql(s"SELECT * FROM pme_compact('$target', dry_run => true, options => map('kms', '${kms("kms")}'))")
        .head()
    )
    assertEquals((row.getAs[String]("file"), row.getAs[Long]("rows")), (null, 120L))
  }

  test("what cannot be merged is named") {
    (0 until 2).foreach(_ => add(people.limit(0)))
    setOptions(keys)
    people.write
      .format("pme-parquet")
      .bucketBy(1, "id")
      .option("path", s"$directory/buckets")
      .saveAsTable("buckets")
    spark.table("buckets").write.insertInto("buckets")
    assert(compact().left.asScala.map(_.reason).forall(_ == "it has no rows"))
    val bucketed = compact(s"$directory/buckets").left.asScala
    assert(bucketed.nonEmpty && bucketed.forall(_.reason.contains("bucket")), bucketed.toString)
  }

  test("files with names of buckets stay, Hive's among them") {
    (0 until 4).foreach(_ => add(people))
    val names = Seq("000000_0", "000001_0.snappy.parquet", "part_20240101123456789.parquet")
    files().take(3).zip(names).foreach { case (file, name) =>
      Files.move(file, file.resolveSibling(name))
      Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    }
    val done = compact()
    assertEquals(done.left.asScala.map(one => Paths.get(one.file).getFileName.toString).toSeq, names)
    assertEquals(done.merged.size, 0)
  }

  test("a directory above a sealed table is refused, with or without snapshotLocation") {
    sealedTable(numbers(files = 3), path = s"$target/one", options = footer)
    (0 until 2).foreach(_ => add(people, path = s"$target/other"))
    for (options <- Seq(kms, kms + ("snapshotLocation" -> s"$directory/elsewhere")))
      untouched()(refused(Unsupported, "Compact that table by itself")(compact(options = options)))
    assertEquals(compact(s"$target/one").merged.size, 1)
  }

  test("a table with a file of summaries is refused") {
    (0 until 2).foreach(_ => add(people))
    for (name <- Seq("_metadata", "_common_metadata")) {
      val summary = Files.write(Paths.get(target, name), "PAR1".getBytes("UTF-8"))
      untouched()(refused(Unsupported, name)(compact()))
      Files.delete(summary)
    }
  }

  test("a table is not put right through a link") {
    (0 until 2).foreach(_ => add(people))
    val id = java.util.UUID.randomUUID.toString
    Files.createFile(Files.createDirectory(Paths.get(target, s".pme-compacting-$id")).resolve("running"))
    val elsewhere = Files.createDirectory(directory.resolve("elsewhere"))
    val planted = Files.createFile(elsewhere.resolve(s"compacted-$id-00000.parquet"))
    for (name <- Seq("linked", "_hidden")) {
      val link = Files.createSymbolicLink(Paths.get(target, name), elsewhere)
      refused(Unsupported, "symbolic link")(compact())
      assert(Files.exists(planted))
      Files.delete(link)
    }
    assert(compact().putRight)
  }

  test("plaintext files are refused, or merged among themselves if plaintext is allowed") {
    (0 until 2).foreach(_ => add(people))
    (0 until 2).foreach(_ => people.coalesce(1).write.mode("append").parquet(target))
    untouched()(refused(PlaintextFile)(compact()))
    val open = Map("plaintextFiles" -> "allow")
    val done = compact(options = kms ++ open)
    assertEquals(done.merged.asScala.map(_.replaced.size).toSeq, Seq(2, 2))
    assertEquals(load(options = open).count(), 160L)
    assertEquals(
      KeyUsage.of(spark, target, kms ++ open).filter("kind = 'plaintext'").select("files").head().getLong(0),
      1L
    )
  }

  test("a damaged page of one file changes nothing") {
    (0 until 3).foreach(_ => add(people))
    val file = files().head
    val sound = Files.readAllBytes(file)
    Files.write(file, sound.updated(60, (sound(60) ^ 1).toByte))
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    untouched()(intercept[Exception](compact()))
  }

  test("who lacks the key of one column changes nothing") {
    val named = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn")
    (0 until 2).foreach(_ => add(people, holding("footer", "pii") ++ named))
    untouched()(refused(KeyNotFound, "'pii'")(compact(options = holding("footer"))))
    // Nor does who reads the column as NULL.
    val masked = holding("footer") ++ Map("deniedColumns" -> "null", "missingKeys" -> "null")
    untouched()(refused(KeyNotFound, "'pii'")(compact(options = masked)))
    assertEquals(compact(options = holding("footer", "pii")).merged.size, 1)
  }

  test("a sealed table stays sealed, by a version that names what replaced what") {
    sealedTable(numbers(files = 4), options = footer)
    val before = files().map(_.getFileName.toString)
    val done = compact(options = kms)
    assertEquals((done.sealedAs.version, done.sealedAs.added, done.sealedAs.removed), (2L, 1L, 4L))
    assertEquals(idsOf(), (0L until 20L).toSeq)
    val manifest = allFiles()
      .filter(_.toString.contains("_pme_snapshots"))
      .map(file => new String(Files.readAllBytes(file), "ISO-8859-1"))
    before.foreach(name =>
      assert(manifest.exists(text => text.contains("compacted") && text.contains(name)), name)
    )
    save(numbers(20), options = footer)
    assertEquals(idsOf().size, 40)
  }

  test("a file of a sealed table with other bytes, at the same length and time, is refused by who reads it") {
    sealedTable(numbers(files = 4), options = footer)
    val (file, time) = (files().head, Files.getLastModifiedTime(files().head))
    val sound = Files.readAllBytes(file)
    Files.write(file, sound.updated(60, (sound(60) ^ 1).toByte))
    Files.setLastModifiedTime(file, time)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    untouched()(refused(SnapshotMismatch, "not those that were sealed")(compact(options = kms)))
  }

  for (algorithm <- Seq("AES_GCM_V1", "AES_GCM_CTR_V1"))
    test(s"the named provider encrypts every module of the new file: $algorithm") {
      val named = Map("cryptoProvider" -> CountingProvider.Name, "algorithm" -> algorithm)
      (0 until 3).foreach(_ => add(people, keys + ("algorithm" -> algorithm)))
      val encrypted = CountingProvider.count {
        compact(options = kms ++ named)
        ()
      }
      val all = ResolvedOptions.ofFrame(spark, keys ++ named).readScope
      val conf = spark.sparkContext.hadoopConfiguration
      val listed = files().map(file => TableFiles.list(new HadoopPath(file.toUri), conf).files.head)
      val found = listed.map(new FileVerification(all, Sample()).of(_, conf, () => ()).opened)
      assertEquals(encrypted, found.map(one => one.modules + one.untaggedPages).sum)
    }

  test("a sealed table whose key material beside files names another key is refused") {
    (0 until 3).foreach(_ => add(people, keys + ("keyMaterial" -> "external")))
    seal()
    val copy = directory.resolve("copy")
    FileUtils.copyDirectory(Paths.get(target).toFile, copy.toFile)
    FileUtils.deleteDirectory(copy.resolve("_pme_snapshots").toFile)
    val settings = RotationSettings(masterKeys = Some(Map("pay" -> "other")))
    Rotation.reports(spark, copy.toString, kms, settings)
    allFiles(copy.toString).filter(_.getFileName.toString.startsWith("_KEY_MATERIAL")).foreach { file =>
      Files.copy(file, Paths.get(target).resolve(file.getFileName), StandardCopyOption.REPLACE_EXISTING)
    }
    allFiles().filter(_.getFileName.toString.startsWith("._KEY_MATERIAL")).foreach(Files.delete(_))
    val before = files().toSet
    refused(SnapshotMismatch, "other keys for salary")(compact())
    assertEquals(files().toSet, before)
    assert(!all().exists(_.contains("ompact")), all().toString)
  }

  test("a sealed table with a file that nobody sealed is refused, and not changed") {
    sealedTable(numbers(files = 3), options = footer)
    plant(numbers(100, files = 1))
    untouched()(refused(SnapshotMismatch)(compact(options = kms)))
  }

  test("readers and other operations fail after a kill, and the next compaction puts the table right") {
    (0 until 3).foreach(_ => add(people))
    val before = rows(load())
    val id = java.util.UUID.randomUUID.toString
    val mark = Files.createDirectory(Paths.get(target, s".pme-compacting-$id"))
    Files.createFile(mark.resolve("running"))
    Files.write(
      Paths.get(target, s"0-unfinished-compaction-$id.parquet"),
      "Files are being merged.".getBytes("UTF-8")
    )
    val moved = files().filterNot(_.getFileName.toString.startsWith("0-")).head
    Files.move(moved, moved.resolveSibling(s".pme-compacted-$id-${moved.getFileName}.old"))
    Files.deleteIfExists(moved.resolveSibling(s".${moved.getFileName}.crc"))
    for (options <- everyReader)
      assert(intercept[Exception](load(options = options).collect()).getMessage.nonEmpty)
    refused(DamagedFile, "a compaction of this table has not ended")(load().collect())
    refused(Unsupported, "pme_compact")(seal())
    for (path <- Seq(target, s"$target/${files().last.getFileName}"))
      refused(Unsupported, "a compaction has not ended") {
        val read = kms.asJava
        Recovery.recover(spark, path, s"$directory/sound", read, keys.asJava, "rows", false, null, null)
      }
    refused(Unsupported, "a compaction has not ended")(Compaction.compact(spark, target, kms, dryRun = true))
    val done = compact()
    assert(done.putRight)
    assertEquals(done.merged.asScala.map(_.rows).toSeq, Seq(120L))
    assertEquals(rows(load()), before)
    assertEquals(all().filterNot(_ == "_SUCCESS"), Seq(done.merged.get(0).file))
  }

  test("a run that may have sealed is put right only by who finds the snapshots") {
    sealedTable(numbers(files = 3), options = footer)
    val before = idsOf()
    val mark = Files.createDirectory(
      Paths.get(target, s".pme-compacting-${java.util.UUID.randomUUID}")
    )
    Files.createFile(mark.resolve("running"))
    val snapshots = new HadoopPath(new HadoopPath(Paths.get(target).toUri), "_pme_snapshots").toString
    Files.write(mark.resolve("sealing"), s"$directory/elsewhere".getBytes("UTF-8"))
    untouched()(refused(Unsupported, "snapshotLocation")(compact()))
    Files.write(mark.resolve("sealing"), snapshots.replace("file:///", "file:/").getBytes("UTF-8"))
    val own = kms + ("snapshotLocation" -> s"$directory/elsewhere")
    untouched()(refused(Unsupported, "snapshotLocation")(compact(options = own)))
    val done = compact()
    assert(done.putRight)
    assertEquals(done.sealedAs.version, 2L)
    assertEquals(idsOf(), before)
    assert(!all().exists(_.contains(".pme-")))
  }

  test("a file that does not have the keys that the read requires stays, and so does the whole table") {
    (0 until 2).foreach(_ => add(people))
    (0 until 2).foreach(_ => add(people, kms + ("uniformKey" -> "k")))
    untouched()(intercept[Exception](compact(options = keys)))
  }

  test("Bloom filters, page indexes, a readable footer's silence and field ids stay") {
    val filtered = keys ++ Map("plaintextFooter" -> "true", "parquet.bloom.filter.enabled#ssn" -> "true")
    val numbered =
      org.apache.spark.sql.types.StructType(people.schema.fields.zipWithIndex.map { case (field, at) =>
        field.copy(metadata =
          new org.apache.spark.sql.types.MetadataBuilder().putLong("parquet.field.id", at + 7L).build()
        )
      })
    spark.conf.set("spark.sql.parquet.fieldId.write.enabled", "true")
    (0 until 2).foreach(_ => add(spark.createDataFrame(people.toJavaRDD, numbered), filtered))
    val before = rows(load())
    assertEquals(compact().merged.get(0).rows, 80L)
    assertEquals(rows(load()), before)
    val text = new String(Files.readAllBytes(files().head), "ISO-8859-1")
    assert(!text.contains("canary-"))
    assertEquals(load().filter("ssn = 'canary-3'").count(), 2L)
    assertEquals(compact().left.size, 0)
  }

  test("tables with logs of their own are refused, with the name of what compacts them") {
    for (
      (log, remedy) <- Seq(
        "_delta_log" -> "OPTIMIZE",
        ".hoodie" -> "clustering",
        "_spark_metadata" -> "copy the table"
      )
    ) {
      val table = s"$directory/of-$log"
      add(people, path = table)
      Files.createDirectories(Paths.get(table, log))
      refused(Unsupported, remedy)(compact(table))
    }
  }
}
