package io.pmeparquet.parquet.copy

import java.nio.file.{Files, Path => LocalPath}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException, Sha256}
import io.pmeparquet.parquet.bytes.FileVersion

/** A file that is read once stays what it was, whatever happens to it in storage. */
class HeldFilesSuite extends FunSuite {
  private val conf = new Configuration()
  private val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("held"),
    made => Option(made.toFile.listFiles).foreach(_.foreach(_.delete()))
  )

  private def stored(in: LocalPath, text: String = "sealed"): (LocalPath, FileVersion) = {
    val file = Files.write(in.resolve("a.parquet"), text.getBytes("UTF-8"))
    file -> FileVersion.of(new Path(file.toUri), conf)
  }

  private def refused(condition: Condition)(hold: => Any): Unit =
    assertEquals(intercept[PmeException](hold).condition, condition)

  private def text(version: FileVersion) = {
    val in = version.open(conf)
    val bytes = new Array[Byte](version.length.toInt)
    try in.readFully(bytes)
    finally in.close()
    new String(bytes, "UTF-8")
  }

  directory.test("a held file is read from its copy, and keeps its place and its name") { made =>
    val (file, version) = stored(made)
    val held = new HeldFiles(conf, () => ())
    val one = held.hold(version, Some(Sha256.ofBytes("sealed".getBytes("UTF-8"))))
    Files.write(file, "other!".getBytes("UTF-8"))
    assertEquals((text(one), one.path, one.place), ("sealed", version.path, version.place))
    assert(one != version)
    val copy = java.nio.file.Paths.get(one.held.get.toUri)
    assertEquals(Files.getPosixFilePermissions(copy.getParent).size, 3)
    held.close()
    assert(!Files.exists(copy.getParent))
  }

  directory.test("a file of another digest or length is refused, and nothing stays") { made =>
    val (file, version) = stored(made)
    val held = new HeldFiles(conf, () => ())
    refused(Condition.SnapshotMismatch)(held.hold(version, Some(Array.emptyByteArray)))
    for (other <- Seq("longer than it was", "")) {
      Files.write(file, other.getBytes("UTF-8"))
      Files.deleteIfExists(made.resolve(".a.parquet.crc"))
      refused(Condition.Unsupported)(held.hold(version, None))
    }
    held.close()
  }
}
