package io.pmeparquet.spark.options

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import io.pmeparquet.spark.SparkSuite

/** An option overrides the session, and the session Hadoop's configuration. */
class PrecedenceSuite extends SparkSuite {
  private val factory = "parquet.crypto.factory.class"
  private val javas = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"

  /** The master key that the footers of a table name; its columns have no keys of their own. */
  private def footerKey(path: String) =
    """"masterKeyID":"([^"]+)"""".r.findFirstMatchIn(content(files(path).head)).get.group(1)

  private def content(file: Path) = new String(Files.readAllBytes(file), ISO_8859_1)

  test("an option overrides the session, and that overrides Hadoop's configuration") {
    inHadoop("parquet.encryption.uniform.key" -> "other") {
      write(people, kms, s"$directory/hadoop")
      setOptions(Map("footerKey" -> "pii"))
      write(people, kms, s"$directory/session")
      write(people, kms + ("footerKey" -> "pay"), s"$directory/option")
      write(people, kms + ("parquet.encryption.uniform.key" -> "footer"), s"$directory/parquet")
    }
    val found = Seq("hadoop", "session", "option", "parquet").map(name => footerKey(s"$directory/$name"))
    assertEquals(found, Seq("other", "pii", "pay", "footer"))
  }

  for (where <- Seq("option", "session", "Hadoop"))
    test(s"another crypto factory, without keys of its own, changes nothing: $where") {
      val options = keys ++ (if (where == "option") Map(factory -> javas) else Map.empty)
      if (where == "session") set(Map(factory -> javas))
      inHadoop(Seq(factory -> javas).filter(_ => where == "Hadoop"): _*) {
        write(people, options)
        assertEquals(rows(reader(options).load(target)), rows(people))
      }
      files().foreach { file =>
        val text = content(file)
        assert(text.startsWith("PARE") && text.endsWith("PARE") && !text.contains("canary-"), file)
      }
    }
}
