package io.pmeparquet.snapshot

import java.nio.file.Files

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.snapshot.manifest.{SealLine, TablePolicy}
import io.pmeparquet.snapshot.manifest.Sealer
import io.pmeparquet.snapshot.parts.SealedFile

/** Which of several processes that seal a table makes the next version. */
class NewVersionSuite extends FunSuite {
  private val conf = new Configuration(false)
  private val unverified: Sealer = (_, _) => SealLine("Ed25519", "signer", None, new Array[Byte](64))

  private def newDirectory() =
    new SnapshotDirectory(new Path(Files.createTempDirectory("table").toUri), None, conf)

  private def fileOf(name: String) = {
    val digest = new Array[Byte](32)
    SealedFile(name, 1, 1, digest, None, digest, 1, Nil)
  }

  /** Makes the version after one, with a part of its own. */
  private def publish(directory: SnapshotDirectory, previous: Option[Version]): Version = {
    val before = previous.map(new TableSnapshot(_, Vector.empty))
    def noKms = throw new AssertionError("a table in plaintext needs no KMS")
    new NewVersion(directory, before, unverified, noKms, conf)
      .build(Vector(fileOf("a.parquet")), TablePolicy(None, Nil), Nil, Nil, "test")
      .publish()
  }

  private def names(directory: SnapshotDirectory) =
    Option(new java.io.File(directory.path.toUri.getPath).list()).toSeq.flatten.toSet

  private def assertConflict(act: => Any): Unit =
    assertEquals(intercept[PmeException](act).condition, Condition.SnapshotConflict: Condition)

  test("versions are made one after another") {
    val directory = newDirectory()
    val first = publish(directory, None)
    assertEquals(publish(directory, Some(first)).number, 2L)
    assertEquals(directory.versions, Seq(1L, 2L))
  }

  test("of two that make the same version, the second fails and leaves nothing") {
    val directory = newDirectory()
    val first = publish(directory, None)
    publish(directory, Some(first))
    val before = names(directory)
    assertConflict(publish(directory, Some(first)))
    assertEquals(names(directory), before)
  }

  test("a version whose number is free again, because later versions let it expire, is not made") {
    val directory = newDirectory()
    val first = publish(directory, None)
    val second = publish(directory, Some(first))
    val third = publish(directory, Some(second))
    publish(directory, Some(third))
    for (removed <- Seq(Seq(1L, 2L), Seq(3L))) {
      removed.foreach(directory.deleteManifest)
      val before = names(directory)
      // This process has read version 1, and seals slowly.
      assertConflict(publish(directory, Some(first)))
      assertEquals(names(directory), before)
    }
  }
}
