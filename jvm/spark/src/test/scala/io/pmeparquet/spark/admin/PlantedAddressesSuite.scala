package io.pmeparquet.spark.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.ObjectMapper

import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.AlteredFile.bytes
import io.pmeparquet.Condition.BadOption

/**
 * Operations call the KMS that the configuration names, and never an address that somebody planted in key material. The
 * KMS of these tests records the address that each of its clients is made with.
 */
class PlantedAddressesSuite extends WatchedTableSuite {
  private val right = "https://right.invalid"
  private val planted = "https://planted.invalid"
  private def options = watched + ("parquet.encryption.kms.instance.url" -> right)
  private val json = new ObjectMapper()

  private def withPlanted(material: ObjectNode): String =
    material.put("kmsInstanceURL", planted).put("kmsInstanceID", "planted").toString

  /** Alters the material beside the table's file, as anyone can who can write files. */
  private def beside(): Unit = {
    val file = materialOf(files().head)
    val entries = json.readTree(Files.readAllBytes(file)).asInstanceOf[ObjectNode]
    for (name <- entries.fieldNames.asScala.toList)
      entries.put(name, withPlanted(json.readTree(entries.get(name).asText).asInstanceOf[ObjectNode]))
    AlteredFile.replace(file, bytes(entries.toString))
  }

  /** Alters the readable part before an encrypted footer. */
  private def inFooter(): Unit = AlteredFile.cryptoMetadata(files().head) { metadata =>
    val entry = json.readTree(new String(metadata.getKey_metadata, UTF_8)).asInstanceOf[ObjectNode]
    metadata.setKey_metadata(bytes(withPlanted(entry)))
    ()
  }

  private def literal(map: Map[String, String]) =
    map.toSeq.map { case (name, value) => s"'$name', '$value'" }.mkString("map(", ", ", ")")

  private val ways = Seq[(String, () => Any)](
    "key usage" -> { () =>
      val found = KeyUsage.of(spark, target, options).select("master_key", "problems").collect()
      assertEquals(
        found.map(row => row.getString(0) -> row.getSeq[String](1)).toMap,
        old.map(_ -> Seq.empty[String]).toMap
      )
    },
    "key usage in SQL" -> { () =>
      val rows =
        spark.sql(s"SELECT * FROM pme_key_usage('$target', options => ${literal(options)})").collect()
      assertEquals(rows.map(_.getAs[String]("master_key")).toSeq, old)
      assertEquals(rows.flatMap(row => row.getSeq[String](row.fieldIndex("problems"))).toSeq, Nil)
    },
    "rekey" -> { () =>
      TableCopies.rekey(spark, target, s"$target-copy", options.asJava, (options ++ protection).asJava)
      assertEquals(rows(reader(options).load(s"$target-copy")), rows(people))
      val copied = allFiles(s"$target-copy").map(file => new String(Files.readAllBytes(file), "ISO-8859-1"))
      assert(!copied.exists(text => text.contains(planted) || text.contains("\"planted\"")))
    },
    "rotation" -> { () =>
      assertEquals(Rotation.reports(spark, target, options, RotationSettings()).map(_.status), Seq("rotated"))
      assertEquals(left(Seq(planted, "\"planted\"")), Nil)
    },
    "rotation in SQL" -> { () =>
      val rows =
        spark.sql(s"SELECT status FROM pme_rotate('$target', options => ${literal(options)})").collect()
      assertEquals(rows.map(_.getString(0)).toSeq, Seq("rotated"))
      assertEquals(left(Seq(planted, "\"planted\"")), Nil)
    },
    "rotation to another KMS" -> { () =>
      val other = options + ("parquet.encryption.kms.instance.id" -> "elsewhere")
      val settings = RotationSettings(newKms = Some(other))
      assertEquals(Rotation.reports(spark, target, options, settings).map(_.status), Seq("rotated"))
      assertEquals(left(Seq(planted, "\"planted\"")), Nil)
    }
  )

  for ((material, plant) <- Seq("external" -> (() => beside()), "internal" -> (() => inFooter())))
    test(s"an address in key material is never called, and not kept: $material") {
      write(people.coalesce(1), options ++ protection + ("keyMaterial" -> material))
      plant()
      val before = allFiles().map(file => file -> Files.readAllBytes(file))
      for ((way, run) <- ways) {
        before.foreach { case (file, content) => AlteredFile.replace(file, content) }
        assertEquals(left(Seq(planted)), Seq(planted))
        WatchedKms.addresses.clear()
        run()
        assert(WatchedKms.addresses.nonEmpty, way)
        val called = WatchedKms.addresses.toList.filterNot(_.endsWith(s" $right"))
        assertEquals(called, Nil, way)
        assert(!WatchedKms.addresses.exists(_.contains("planted")), way)
      }
    }

  test("an address in key material does not replace one that is missing") {
    // parquet-java passes the address in a file to such a client.
    write(people.coalesce(1), options ++ protection + ("keyMaterial" -> "external"))
    beside()
    val token = Files.write(directory.resolve("token"), bytes("t"))
    val without = Map(
      "kms" -> "io.pmeparquet.kms.VaultKmsClient",
      "parquet.encryption.key.access.token" -> s"file:$token"
    )
    untouched(".") {
      refused(BadOption, "kms.vault.url")(Rotation.reports(spark, target, without, RotationSettings()))
      refused(BadOption, "kms.vault.url")(KeyUsage.of(spark, target, without).collect())
      refused(BadOption, "kms.vault.url") {
        TableCopies.rekey(spark, target, s"$target-copy", without.asJava, (options ++ protection).asJava)
      }
    }
    // A client that works without an address is not given the planted one either.
    WatchedKms.addresses.clear()
    assertEquals(Rotation.reports(spark, target, watched, RotationSettings()).map(_.status), Seq("rotated"))
    assertEquals(rows(load()), rows(people))
    assert(WatchedKms.addresses.nonEmpty && !WatchedKms.addresses.exists(_.contains("planted")))
  }
}
