package io.pmeparquet.spark.snapshot

import java.net.URI
import java.nio.file.{Files, Path, Paths}

import org.apache.hadoop.fs.RawLocalFileSystem
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.functions.lit

import io.pmeparquet.spark.{AlteredFile, SealedSuite}
import io.pmeparquet.spark.admin.{Compaction, QueryStatistics, Rotation, RotationSettings, Verification}
import io.pmeparquet.spark.admin.seal.Sealing
import io.pmeparquet.spark.keys.HolderKms
import io.pmeparquet.Condition.{BadOption, KeyDenied, NotAuthentic, SnapshotMismatch, Unsupported}

/** Sealed tables with a key for each tenant: what a snapshot states of keys is a template, which names the key of each file. */
class SealedByPartitionSuite extends SealedSuite {
  private val tenants = Seq("acme", "bolt", "cafe")
  private val held =
    tenants.flatMap(tenant => Seq(s"t-$tenant", s"pii-$tenant")) ++ Seq("footer", "t-0", "sign:signer")
  private val templates = Map("footerKey" -> "t-{tenant}", "columnKeys" -> "pii-{tenant}: name")
  private val owner = HolderKms.options(held: _*)
  private val writing = owner ++ templates + ("signingKey" -> "signer")
  private val first = writing + ("snapshot" -> "update")
  private val sealing = owner + ("signingKey" -> "signer")
  private lazy val verifying: Options = {
    val pem = Files.createTempFile(directory.getParent, "signer", ".pem")
    Files.write(pem, HolderKms.pem("signer").getBytes)
    Map("verifyKey" -> s"file:$pem")
  }

  private def reading(keys: String*) = HolderKms.options(keys: _*) ++ verifying
  private def all = reading(held: _*)

  override protected def load(path: String, options: Options, session: SparkSession): DataFrame =
    session.read.format("pme-parquet").options(all ++ options).load(path)

  private def people(start: Long, count: Int = 9, of: Seq[String] = tenants): DataFrame =
    numbers(start, count, files = 1).selectExpr(
      "id",
      "concat('name-', id) AS name",
      s"element_at(array(${of.map(one => s"'$one'").mkString(", ")}), CAST(id % ${of.size} AS INT) + 1) AS tenant"
    )

  private def put(
      frame: DataFrame,
      options: Options = first,
      mode: String = "append",
      more: Options = Map.empty
  ): Unit = save(frame, partitions = Seq("tenant"), options = options ++ more, mode = mode)

  private def manifest(version: Long = versions().last) =
    Files.readAllLines(manifestOf(version)).get(0)

  private def under(tenant: String): Seq[Path] = files().filter(_.toString.contains(s"tenant=$tenant/"))

  test("each write seals the table, and the snapshot states the templates") {
    put(people(0))
    assert(manifest().contains("\"formatVersion\":4"), manifest())
    assert(manifest().contains("\"policy\":{\"byPartition\":true,\"footerKey\":\"t-{tenant}\""), manifest())
    assert(manifest().contains("{\"column\":[\"name\"],\"key\":\"pii-{tenant}\"}"), manifest())
    put(people(9))
    assertEquals(idsOf(), range(18))
    put(people(100, 3, Seq("bolt")), mode = "overwrite", more = Map("partitionOverwriteMode" -> "dynamic"))
    assertEquals(idsOf(), (range(18).filter(_ % 3 != 1) ++ Seq(100L, 101L, 102L)).sorted)
    put(people(0), mode = "overwrite")
    assertEquals(idsOf(), range(9))
    assertEquals(versions(), 1L to 4L)
    assertEquals(Verification.verify(fresh, target, all).findings.count(), 0L)
    assertEquals(idsOf(options = templates), range(9))
  }

  test("a sealed table takes no keys by a column of its data, on any file system, and stays as it is") {
    val plain = owner ++ Map("footerKey" -> "footer", "signingKey" -> "signer", "snapshot" -> "update")
    save(people(0), options = plain)
    for (path <- Seq(target, s"other:$target"); mode <- Seq("overwrite", "append"))
      inHadoop("fs.other.impl" -> classOf[OtherFileSystem].getName) {
        untouched()(refused(Unsupported, "a column that is no partition column") {
          people(9).write.format("pme-parquet").options(writing).mode(mode).save(path)
        })
      }
    assertEquals(idsOf(), range(9))
    // A partition column of the same name in other letters names nothing.
    set(Map("spark.sql.caseSensitive" -> "true"))
    val other = directory.resolve("other").toString
    val both = people(0).withColumn("Tenant", lit("x"))
    both.write.format("pme-parquet").options(plain).partitionBy("Tenant").save(other)
    untouched(other)(refused(Unsupported, "a column that is no partition column") {
      both.write.format("pme-parquet").options(writing).mode("overwrite").partitionBy("Tenant").save(other)
    })
  }

  test("files that state values which name their keys are not sealed") {
    people(0, of = Seq("acme")).write.format("pme-parquet").options(owner ++ templates).save(target)
    for (more <- Seq[Options](Map.empty, templates))
      untouched()(refused(Unsupported, "states values", "rekey") {
        Sealing.seal(fresh, target, sealing ++ more, None, Some("unsealed"))
      })
  }

  test("pme.seal takes the templates from its options, and later from the version before") {
    put(people(0, 1), writing)
    // With one tenant, nothing but the options tells the template from a name.
    Sealing.seal(fresh, target, sealing ++ templates, None, Some("unsealed"))
    assert(manifest().contains("t-{tenant}"), manifest())
    plantByTenant(people(1))
    Sealing.seal(fresh, target, sealing, None, Some("3"))
    assertEquals(idsOf(), range(10))
    delete(snapshotsOf())
    refused(Unsupported, "differ in their keys", "t-{tenant}")(
      Sealing.seal(fresh, target, sealing, None, Some("unsealed"))
    )
  }

  private def plantByTenant(frame: DataFrame, options: Options = writing) =
    plant(frame, partitions = Seq("tenant"), options = options)

  test("a file with the key of another place is not sealed, and neither is a file without its column's key") {
    put(people(0))
    val moved = under("acme").head.resolveSibling("moved.parquet")
    AlteredFile.replace(moved, Files.readAllBytes(under("bolt").head))
    refused(Unsupported, "the footer has", "'t-bolt'", "moved.parquet")(
      Sealing.seal(fresh, target, sealing, None, Some("1"))
    )
    delete(moved)
    plantByTenant(people(9), writing + ("columnKeys" -> "footer: name"))
    refused(Unsupported, "column 'name' has", "'footer'")(
      Sealing.seal(fresh, target, sealing, None, Some("3"))
    )
  }

  test("an HMAC has one key, so such a table needs a signature, before anything is written") {
    untouched()(refused(BadOption, "signingKey", "partitions")(put(people(0), first - "signingKey")))
    put(people(0), writing)
    refused(BadOption, "signingKey", "partitions")(
      Sealing.seal(fresh, target, owner ++ templates, None, Some("unsealed"))
    )
    // The key of a footer that is no template is every reader's, whatever names the keys of columns.
    val shared =
      owner ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name", "snapshot" -> "update")
    save(people(0), s"$target-shared", Seq("tenant"), shared)
    save(people(9), s"$target-shared", Seq("tenant"), shared)
    val some = HolderKms.options("footer", "pii-bolt")
    val read = fresh.read.format("pme-parquet").options(some).load(s"$target-shared")
    assertEquals(ids(read), range(18))
    assertEquals(read.where("tenant = 'bolt'").select("name").count(), 6L)
    refused(KeyDenied, "pii-")(read.select("name").collect())
  }

  test("a write that names other keys for footers is refused before it writes") {
    put(people(0))
    untouched() {
      for (other <- Seq("footer", "t-acme", "t-{tenant:bucket(1)}"))
        refused(Unsupported, s"footerKey=$other", "'t-{tenant}'")(
          put(people(9, 3, Seq("acme")), owner ++ Map("footerKey" -> other, "signingKey" -> "signer"))
        )
    }
    // And the other way round.
    save(
      people(0),
      s"$target-plain",
      Seq("tenant"),
      sealing ++ Map("footerKey" -> "footer", "snapshot" -> "update")
    )
    refused(Unsupported, "footerKey=t-{tenant}", "'footer'")(
      save(people(9), s"$target-plain", Seq("tenant"), writing - "columnKeys")
    )
  }

  test(
    "a write that names other keys for columns, or takes a name from old files, is refused before it writes"
  ) {
    put(people(0))
    val dynamic = Map("partitionOverwriteMode" -> "dynamic")
    def later(tenant: String) = people(9, 3, Seq(tenant))
    untouched() {
      for ((mode, more) <- Seq("append" -> Map.empty[String, String], "overwrite" -> dynamic))
        refused(Unsupported, "'footer' for column 'name'", "'pii-{tenant}'")(
          put(later("acme"), writing + ("columnKeys" -> "footer: name"), mode, more)
        )
    }
    // In files of bolt, no two keys can be meant by one name; in those of acme, they could.
    val salary = later("bolt").selectExpr("id", "name", "id AS salary", "tenant")
    val keys = writing + ("columnKeys" -> "pii-{tenant}: name; t-acme: salary")
    untouched()(refused(BadOption, "tenant=acme", "t-acme")(put(salary, keys)))
    plantByTenant(salary, keys)
    refused(BadOption, "tenant=acme", "t-acme")(Sealing.seal(fresh, target, sealing, None, Some("1")))
  }

  test(
    "a write to the directory of a partition begins no snapshots, nor does one whose columns differ in case only"
  ) {
    val place = Paths.get(target, "tenant=acme")
    refused(BadOption, "it is a part of the table")(
      save(people(0, 3, Seq("acme")).drop("tenant"), place.toString, options = first)
    )
    assert(!Files.exists(place))
    val session = fresh
    session.conf.set("spark.sql.caseSensitive", "true")
    val frame = session.range(3).selectExpr("id", "'x' AS name", "'acme' AS tenant", "'bolt' AS Tenant")
    refused(Unsupported, "'tenant' and 'Tenant'")(
      save(frame, partitions = Seq("tenant", "Tenant"), options = first)
    )
    assert(!Files.exists(Paths.get(target)))
  }

  test("a file that moved, was replaced or went is refused, with its key or another") {
    put(people(0))
    val kept = Paths.get(s"$target-kept")
    copy(Paths.get(target), kept)
    def attacked(words: String*)(attack: => Unit): Unit = {
      attack
      refused(SnapshotMismatch, words: _*)(idsOf())
      delete(Paths.get(target))
      copy(kept, Paths.get(target))
    }
    val (acme, bolt) = (under("acme").head, under("bolt").head)
    attacked("not in the list")(copy(acme, bolt.resolveSibling("part-more.parquet")))
    attacked("bytes long")(AlteredFile.replace(acme, Files.readAllBytes(bolt) ++ Array[Byte](0)))
    attacked("missing")(delete(acme))
  }

  test("a reader of one tenant reads its partition, and with deniedFiles=skip leaves out the others") {
    put(people(0))
    val mine = reading("t-acme", "pii-acme")
    for (scan <- scans) {
      val frame = fresh.read.format("pme-parquet").options(mine ++ scan)
      assertEquals(
        ids(frame.schema("id long, name string, tenant string").load(target).where("tenant = 'acme'")),
        Seq(0L, 3L, 6L)
      )
      refused(KeyDenied)(frame.load(target).collect())
      val skipping = frame.option("deniedFiles", "skip").load(target)
      assertEquals(ids(skipping), Seq(0L, 3L, 6L))
      assertEquals(skipping.count(), 3L)
      val found = QueryStatistics.json(skipping)
      skipping.collect()
      assert(QueryStatistics.json(skipping).contains("2 of the files"), found)
    }
  }

  test("a file is left out only if its key is refused and it is the one that was sealed") {
    put(people(0))
    val mine = reading("t-acme", "pii-acme") + ("deniedFiles" -> "skip")
    val (acme, bolt) = (under("acme").head, under("bolt").head)
    def read(): Seq[Long] = ids(fresh.read.format("pme-parquet").options(mine).load(target))
    def changed(file: Path, words: String*)(bytes: Array[Byte]): Unit = {
      val old = Files.readAllBytes(file)
      AlteredFile.replace(file, bytes)
      refused(SnapshotMismatch, words: _*)(read())
      AlteredFile.replace(file, old)
    }
    assertEquals(read(), Seq(0L, 3L, 6L))
    // The footer names a key that this reader is refused.
    val text = new String(Files.readAllBytes(acme), "ISO-8859-1")
    assert(text.contains("t-acme"))
    changed(acme, "another footer")(text.replace("t-acme", "t-bolt").getBytes("ISO-8859-1"))
    changed(bolt, "another footer")(
      new String(Files.readAllBytes(bolt), "ISO-8859-1").replace("t-bolt", "t-cafe").getBytes("ISO-8859-1")
    )
    delete(bolt)
    refused(SnapshotMismatch, "missing")(read())
  }

  test("key material beside a file may be altered, so it makes no file one that is left out") {
    put(people(0), more = Map("keyMaterial" -> "external"))
    val mine = reading("t-acme", "pii-acme") + ("deniedFiles" -> "skip")
    def read() = fresh.read.format("pme-parquet").options(mine).load(target).collect()
    refused(KeyDenied)(read())
    val material = allFiles()
      .find(file => file.toString.contains("tenant=acme/_KEY_MATERIAL") && file.toString.endsWith(".json"))
      .get
    val old = Files.readString(material)
    AlteredFile.replace(material, old.replace("t-acme", "t-bolt").getBytes)
    refused(KeyDenied)(read())
    // Whoever has another tenant's key can wrap the footer's key with it, if the file was theirs once.
    refused(NotAuthentic)(idsOf())
  }

  test("compaction keeps the seal and its templates, with the keys of all files or of none") {
    (0 until 3).foreach(at => put(people(at * 9L)))
    val done = Compaction.compact(fresh, target, sealing ++ verifying)
    assertEquals(done.merged.size, 3)
    assertEquals(files().size, 3)
    assertEquals(idsOf(), range(27))
    assert(manifest().contains("t-{tenant}"), manifest())
    put(people(27))
    assertEquals(idsOf(), range(36))
  }

  test("a rotation to the same names keeps the seal, and one to others is refused before it changes a file") {
    put(people(0))
    def rotate(keys: Option[Map[String, String]]) =
      Rotation.rotate(fresh, target, sealing, RotationSettings(masterKeys = keys)).collect()
    untouched()(refused(Unsupported, "'t-acme'", "t-{tenant}")(rotate(Some(Map("t-acme" -> "footer")))))
    val before = under("acme").map(file => Files.readAllBytes(file).toSeq)
    rotate(None)
    assertNotEquals(under("acme").map(file => Files.readAllBytes(file).toSeq), before)
    assertEquals(idsOf(), range(9))
    assert(manifest().contains("t-{tenant}"), manifest())
  }

  test("an index would have values of all tenants under one key") {
    put(people(0))
    refused(Unsupported, "an index of column 'id'")(
      seal(options = sealing, indexes = minMax("id"), session = fresh)
    )
    val shared = owner ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name")
    save(people(0), s"$target-shared", Seq("tenant"), shared)
    val options = owner ++ Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name")
    refused(Unsupported, "an index of column 'name'")(
      seal(s"$target-shared", options, minMax("name"), fresh)
    )
    seal(s"$target-shared", options, minMax("id"), fresh)
    val read = fresh.read.format("pme-parquet").options(owner).load(s"$target-shared")
    assertEquals(filesRead(read.where("id = 8")), 1)
  }

  test("buckets name keys in snapshots, too") {
    val keys = (0 until 4).map(at => s"b-$at") :+ "sign:signer"
    val options = HolderKms.options(keys: _*) ++
      Map("uniformKey" -> "b-{tenant:bucket(4)}", "signingKey" -> "signer", "snapshot" -> "update")
    put(people(0), options)
    put(people(9), options)
    assert(manifest().contains("b-{tenant:bucket(4)}"), manifest())
    assertEquals(ids(fresh.read.format("pme-parquet").options(reading(keys: _*)).load(target)), range(18))
  }

  test("batches of a stream are appended with keys by partition, and sealed") {
    put(people(0))
    val source = directory.resolve("source").toString
    people(9, 18).write.format("parquet").save(source)
    spark.readStream
      .format("parquet")
      .schema("id long, name string, tenant string")
      .load(source)
      .writeStream
      .format("pme-parquet")
      .options(writing + ("checkpointLocation" -> directory.resolve("c").toString))
      .partitionBy("tenant")
      .trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow())
      .start(target)
      .awaitTermination()
    assertEquals(idsOf(), range(27))
    assert(manifest().contains("stream "), manifest())
  }

  test(
    "the list is readable without keys, and says nothing that file names and footers do not, but numbers of rows"
  ) {
    put(people(0))
    val list = new String(Files.readAllBytes(parts().head), "ISO-8859-1")
    assert(list.startsWith("PAR1"))
    val listed = spark.read.parquet(parts().head.toString)
    assertEquals(listed.select("rows").collect().map(_.getLong(0)).toSeq, Seq(3L, 3L, 3L))
    val known = Set(
      "path",
      "length",
      "modified",
      "footer_sha256",
      "aad_file_unique",
      "file_sha256",
      "rows",
      "partition_values"
    )
    assertEquals(listed.columns.toSet, known)
    assertEquals(listed.select("path").collect().map(_.getString(0)).count(_.startsWith("tenant=")), 3)
  }
}

/** Local files under another scheme than that of the default file system. */
class OtherFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("other:///")
  override def getScheme: String = "other"
}
