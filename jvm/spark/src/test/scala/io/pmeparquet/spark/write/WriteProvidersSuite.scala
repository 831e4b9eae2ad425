package io.pmeparquet.spark.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{Invocations, KeyPurpose, KeyUses}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.verify.{FileVerification, Sample}
import io.pmeparquet.parquet.write.FileSealer
import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.spark.options.ResolvedOptions

/** What encrypts the modules of a new file: the provider that the option names, whatever parquet-java would take. */
class WriteProvidersSuite extends SparkSuite with EachSpark {
  private val named = Map("cryptoProvider" -> CountingProvider.Name)

  /** How many modules the files of the table have, its signatures included. All of them open. */
  private def modules(options: Map[String, String]): Long = {
    val scope = ResolvedOptions.ofFrame(spark, options).readScope
    val conf = spark.sparkContext.hadoopConfiguration
    files().map { file =>
      val status = new Path(file.toUri).getFileSystem(conf).getFileStatus(new Path(file.toUri))
      val listed =
        ListedFile(
          status.getPath.toString,
          status.getLen,
          status.getModificationTime,
          hasExternalMaterial = false
        )
      val found = new FileVerification(scope, Sample()).of(listed, conf, () => ())
      assertEquals(found.findings, Nil)
      found.opened.modules + found.opened.untaggedPages
    }.sum
  }

  private val footerOnly = Map("footerKey" -> "footer")
  private val columns = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn; pay: salary")

  for (
    (kind, options) <- Seq(
      "a key for each column" -> columns,
      "the footer's key for all" -> footerOnly,
      "AES_GCM_CTR_V1" -> (columns + ("algorithm" -> "AES_GCM_CTR_V1")),
      "the footer's key for all, AES_GCM_CTR_V1" -> (footerOnly + ("algorithm" -> "AES_GCM_CTR_V1")),
      "a readable footer" -> (columns + ("plaintextFooter" -> "true")),
      "columns without a key" -> (columns + ("unlistedColumns" -> "plaintext")),
      "direct keys" -> (columns + ("keyManagement" -> "direct"))
    )
  )
    test(s"the named provider encrypts every module of a file: $kind") {
      val all = holding("footer", "pii", "pay") ++ options ++ named
      val encrypted = CountingProvider.count {
        people
          .selectExpr("*", "concat('id ', id % 3) AS repeated")
          .write
          .format(SparkSuite.Format)
          .options(all)
          .option("parquet.bloom.filter.enabled#ssn", "true")
          // Several pages, and several row groups.
          .option("parquet.page.row.count.limit", "7")
          .option("parquet.block.row.count.limit", "20")
          .save(target)
      }
      assertEquals(rows(reader(all).load(target).select("ssn", "salary", "id")), rows(people))
      assertEquals(encrypted, modules(all - "cryptoProvider"))
    }

  test("a write fails if parquet-java's writer is not as expected") {
    val scope =
      ResolvedOptions.ofFrame(spark, keys).writeScope(new Configuration(), new Path(target), Nil, Nil)
    for (writer <- Seq(new Object, new OtherWriter))
      refused(Condition.Unsupported, "cannot have its ciphers encrypt")(
        FileSealer.install(writer, scope, new Configuration(), "table, file part")
      )
  }

  test("with direct keys, a key encrypts no more modules in all files than one key may") {
    val spent = held("of the limit", "footer") ++ footerOnly + ("keyManagement" -> "direct")
    write(people, spent)
    val key = ResolvedOptions.ofFrame(spark, spent).openKms(KeyPurpose.Try).directKey("footer", "test").get
    KeyUses.ofJvm.reserve(key, "footer", Invocations.Limit - 500, "test")
    // Each job reserves 64 for its one file of few pages.
    val (written, refusals) = (1 to 20)
      .map { n =>
        try Right(write(people, spent, s"$directory/t$n"))
        catch { case failed: Exception => Left(PmeException.find(failed).getOrElse(throw failed)) }
      }
      .partition(_.isRight)
    assert(written.nonEmpty && refusals.nonEmpty)
    refusals.flatMap(_.left.toOption).foreach { failed =>
      assertEquals(failed.condition, Condition.KeyNotFound: Condition)
      assert(failed.getMessage.contains("as often as one key may"), failed.getMessage)
    }
    assert(written.size <= 500 / 64, written.size)
    // Another key, and the same one to read with.
    write(
      people,
      held("another", "footer") ++ footerOnly + ("keyManagement" -> "direct"),
      s"$directory/other"
    )
    assertEquals(rows(reader(spent).load(target)), rows(people))
  }

  test("a provider that is not there is refused before anything is written") {
    refused(Condition.Unsupported, "NoSuchProvider")(
      write(people, keys + ("cryptoProvider" -> "NoSuchProvider"))
    )
    assertEquals(files(), Nil)
  }
}

/** A writer of a later Spark. */
private final class OtherWriter {
  val recordWriter: String = "another class"
  override def toString: String = recordWriter
}
