package io.pmeparquet.parquet.rotation

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.Files

import org.apache.hadoop.fs.Path

import io.pmeparquet.keys.{KeyBrokers, KeyRoute}
import io.pmeparquet.kms.local.StaticKms
import io.pmeparquet.material.{KeyMaterial, MaterialFile}
import io.pmeparquet.options.Settings
import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.parquet.storage.MaterialFiles
import io.pmeparquet.parquet.WrittenFilesSuite

/** Rotation of single files, with a KMS in this process. */
class ParquetRotationSuite extends WrittenFilesSuite {
  private val names = Map("f" -> "g", "n" -> "o")
  private val before = kms("f", "n")
  private val after = kms("g", "o")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  private object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
  }

  /** Rewraps the keys of a file as a rotation of its table does. */
  private def rotate(file: Path): Option[RotatedFooter] = {
    val source = StaticKms.parse(secret("f", "n", "g", "o"))
    val rotationKeys = RotationKeys.open(source, None, Settings.forRead(values()), Here)
    val instance = source.instanceId -> source.instanceUrl
    val rotation = new ParquetRotation(rotationKeys.scope, Some(names), None, instance -> instance)
    rotation.look(listed(file), conf) match {
      case needs: FileNeeds.Keys =>
        val wanted = needs.keys.flatMap(key => rotation.target(key.masterKeyId).map(key -> _))
        val changes = rotationKeys.rewrap(wanted, "rotation").map { case (key, made) =>
          key -> made.fold(failed => throw failed, identity)
        }
        rotation.change(listed(file), changes, conf)
      case other => fail(s"$other")
    }
  }

  private val ways = Seq(
    Seq.empty,
    Seq("plaintextFooter" -> "true"),
    Seq("keyMaterial" -> "external"),
    Seq("doubleWrapping" -> "false"),
    Seq("algorithm" -> "AES_GCM_CTR_V1")
  )

  ways.foreach { way =>
    val title =
      if (way.isEmpty) "the defaults" else way.map { case (name, value) => s"$name=$value" }.mkString
    directory.test(s"a file with $title opens with the new master keys alone after its rotation") { root =>
      val ofRead = way.filter(_._1 == "algorithm")
      val file = write(root, before, keys ++ way: _*)()
      val pages = Files.readAllBytes(local(file)).take(1000).toSeq
      rotate(file)
      assertEquals(rows(reader(after, ofRead: _*), file), RowCount.toLong)
      assertEquals(condition(rows(reader(before, ofRead: _*), file)), "PME_KEY_NOT_FOUND")
      assertEquals(Files.readAllBytes(local(file)).take(1000).toSeq, pages)
    }
  }

  directory.test("what precedes an encrypted footer names the new master key and no other") { root =>
    val file = write(root, before, keys: _*)()
    rotate(file)
    FileTail.read(conf, version(file)) match {
      case tail: FileTail.Encrypted =>
        val metadata = new String(tail.footerKeyMetadata.get, UTF_8)
        assert(
          metadata.contains("\"masterKeyID\":\"g\"") && !metadata.contains("\"masterKeyID\":\"f\""),
          metadata
        )
      case other => fail(s"$other")
    }
    val text = new String(Files.readAllBytes(local(file)), ISO_8859_1)
    assert(!text.contains("\"masterKeyID\":\"f\""))
  }

  directory.test("a key that does not open its column is not rewrapped, whoever wrapped it") { root =>
    val external = keys :+ ("keyMaterial" -> "external")
    val (file, other) = (write(root, before, external: _*)(), write(root, before, external: _*)())
    val material = local(file).resolveSibling(MaterialFile.nameFor(file.getName))
    val (own, others) = (MaterialFiles.read(file, conf), MaterialFiles.read(other, conf))
    Seq(KeyMaterial.columnReference(0), KeyMaterial.FooterReference).foreach { name =>
      val planted = MaterialFile.toJson(own.updated(name, others(name)).toSeq)
      Files.write(material, planted.getBytes(UTF_8))
      assertEquals(condition(rotate(file)), "PME_NOT_AUTHENTIC", name)
      assertEquals(new String(Files.readAllBytes(material), UTF_8), planted)
    }
    Files.write(material, MaterialFile.toJson(own.toSeq).getBytes(UTF_8))
    rotate(file)
    assertEquals(rows(reader(after), file), RowCount.toLong)
  }
}
