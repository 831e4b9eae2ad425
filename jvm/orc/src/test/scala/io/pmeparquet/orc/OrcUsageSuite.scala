package io.pmeparquet.orc

import java.util.ArrayList

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.protobuf.ByteString
import org.apache.orc.OrcFile

import io.pmeparquet.orc.tail.{OrcFiles, Rewritten}

/** Which master keys protect what in a file, as its end states it. */
class OrcUsageSuite extends FunSuite {
  import OrcFiles._

  private def usage(path: Path) = OrcUsage
    .of(path, length(path), conf)
    .uses
    .map(use => (use.masterKeyId.orNull, use.wrapping.orNull, use.columns.toList))

  test("a key in ORC's own form that begins like key material is none") {
    val file = new Rewritten(write("usage.orc", options(keys())))
    val footer = file.footer
    (0 until footer.getEncryption.getVariantsCount).foreach { id =>
      val random = '{'.toByte +: Array.tabulate[Byte](31)(_.toByte)
      footer.getEncryptionBuilder.getVariantsBuilder(id).setEncryptedKey(ByteString.copyFrom(random))
    }
    val found = usage(put("usage-2.orc", file.withFooter(footer)))
    assertEquals(found.map(one => one._1 -> one._2).take(2), List("pay" -> "orc", "pii" -> "orc"))
  }

  test("each wrapping of a merged file is listed, with the columns of its master key") {
    val parts = new ArrayList[Path]
    for (twice <- Seq(true, false))
      parts.add(
        write(s"usage-$twice.orc", options(null).setKeyProvider(new OrcRotationSuite.Wrapping(twice = twice)))
      )
    val merged = new Path(directory.resolve("usage-merged.orc").toUri)
    val all = options(null).setKeyProvider(new OrcRotationSuite.Wrapping(twice = true))
    assertEquals(OrcFile.mergeFiles(merged, all, parts).size, 2)
    assertEquals(
      usage(merged).filter(_._1 != null).map(one => (one._1, one._2, one._3.headOption.orNull)).toSet,
      Set(
        ("pay@3", "double", "salary"),
        ("pay@3", "single", "salary"),
        ("pii", "double", "ssn"),
        ("pii", "single", "ssn")
      )
    )
  }
}
