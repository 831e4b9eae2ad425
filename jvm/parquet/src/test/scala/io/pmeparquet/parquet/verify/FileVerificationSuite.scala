package io.pmeparquet.parquet.verify

import java.nio.file.Files

import org.apache.hadoop.fs.Path

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.WrittenFilesSuite

class FileVerificationSuite extends WrittenFilesSuite {
  private val use = kms("f", "n")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  private def found(scope: ReadScope, file: Path) =
    new FileVerification(scope, Sample()).of(version(file), conf, () => ()).findings

  directory.test(
    "every flipped bit of a file's modules is a finding in that module, and there are no others"
  ) { root =>
    val file = write(root, use, keys: _*)(
      _.withBloomFilterNDV("id", 50).withBloomFilterEnabled("id", true)
    )
    assertEquals(found(reader(use), file), Nil)
    val bytes = Files.readAllBytes(local(file))
    val end = bytes.length - 2 * ModuleFrame.LengthBytes
    val footer = end - ModuleFrame.lengthAt(bytes, end)
    // No module is shorter than this.
    val modules = (4 until footer by 30).flatMap { place =>
      val findings = bent(file, place)(found(reader(use), file))
      assert(findings.nonEmpty, s"byte $place")
      assert(findings.forall(_.column.isDefined), s"byte $place: $findings")
      findings.flatMap(_.module)
    }
    val kinds = Set(
      "data page",
      "data page header",
      "dictionary page",
      "dictionary page header",
      "column index",
      "offset index",
      "Bloom filter header",
      "Bloom filter bitset"
    )
    assertEquals(modules.toSet, kinds)
    bent(file, end - 1)(assertEquals(found(reader(use), file).flatMap(_.module), List("footer")))
  }
}
