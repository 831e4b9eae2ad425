package io.pmeparquet.parquet.copy

import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.WrittenFilesSuite
import io.pmeparquet.PmeException

class FileInPlaceSuite extends WrittenFilesSuite {
  private val use = kms("f", "g", "n", "o")
  private val settings = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  /** Encrypts a file as a run with these settings does. */
  private def encrypt(root: LocalPath, file: Path, options: (String, String)*): EncryptedFile = {
    val table = new Path(root.toUri)
    val scope = writer(use, root, options: _*)
    val ofRead = options.filter { case (name, _) => name == "algorithm" || name == "aadPrefix" }
    val run = InPlaceRun.begin(
      table,
      InPlaceManifest.of(scope, table),
      file.getFileSystem(conf).getFileStatus(file),
      conf
    )
    try
      new FileInPlace(reader(use, "plaintextFiles" -> "allow"), scope, reader(use, ofRead: _*), run)
        .encrypt(listed(file), conf, () => ())
    finally run.end(complete = true, conf)
  }

  directory.test("a plaintext file is encrypted, and the next run finds it done") { root =>
    val file = write(root, use)()
    assertEquals(condition(rows(reader(use), file)), "PME_PLAINTEXT_FILE")
    assertEquals(encrypt(root, file, settings: _*).already, 0L)
    assertEquals(rows(reader(use, settings: _*), file), RowCount.toLong)
    val bytes = Files.readAllBytes(local(file)).toSeq
    assertEquals(encrypt(root, file, settings: _*).already, 1L)
    assertEquals(Files.readAllBytes(local(file)).toSeq, bytes)
  }

  directory.test("a file that is encrypted in another way does not count as done, and stays as it is") {
    root =>
      val file = write(root, use)()
      encrypt(root, file, settings: _*)
      val bytes = Files.readAllBytes(local(file)).toSeq
      Seq(
        Seq("footerKey" -> "g", "columnKeys" -> "n: name") -> "another footer key",
        Seq("footerKey" -> "f", "columnKeys" -> "o: name") -> "column 'name' has key 'n' instead of key 'o'",
        Seq(
          "footerKey" -> "f",
          "columnKeys" -> "n: id, name"
        ) -> "column 'id' has the footer's key instead of key 'n'",
        (settings :+ ("unlistedColumns" -> "plaintext")) -> "column 'id' has the footer's key instead of no key",
        Seq("uniformKey" -> "f") -> "column 'name' has key 'n' instead of the footer's key",
        (settings :+ ("plaintextFooter" -> "true")) -> "plaintextFooter is different",
        (settings :+ ("algorithm" -> "AES_GCM_CTR_V1")) -> "algorithm is different",
        (settings :+ ("aadPrefix" -> "orders")) -> "the file was written without one"
      ).foreach { case (others, why) =>
        val refused = intercept[PmeException](encrypt(root, file, others: _*))
        assert(refused.getMessage.contains(why), refused.getMessage)
      }
      assertEquals(Files.readAllBytes(local(file)).toSeq, bytes)
  }
}
