package io.pmeparquet.parquet.storage

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path, RawLocalFileSystem}

import io.pmeparquet.{Condition, PmeException}

/** Attempts that are late, and a table that appears. */
class ResumableTableSuite extends FunSuite {
  private val conf = new Configuration(false)
  conf.set("fs.racing.impl", classOf[RacingFileSystem].getName)
  private val file = "day=1/a.parquet"

  private val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-resumable").toRealPath(),
    LocalFiles.delete
  )

  private def begin(root: LocalPath, scheme: String): ResumableTable =
    ResumableTable.begin(new Path(scheme, null, s"$root/target"), "purpose", conf)

  private def attempt(table: ResumableTable, text: String): Boolean = table.attempt(conf) { attempt =>
    val path = table.place(attempt, file, conf)
    val out = path.getFileSystem(conf).create(path)
    out.write(text.getBytes(UTF_8))
    out.close()
    table.keep(path, file, conf)
  }

  directory.test("the first file of several attempts stays, and the others know") { root =>
    Seq("file", "racing").foreach { scheme =>
      val place = Files.createDirectory(root.resolve(scheme))
      val table = begin(place, scheme)
      assertEquals(Seq("first", "second").map(attempt(table, _)), Seq(true, false))
      table.publish(Set(file), conf)
      table.end(conf)
      assertEquals(new String(Files.readAllBytes(place.resolve(s"target/$file")), UTF_8), "first")
    }
  }

  directory.test("a file that is removed while the table moves is missed") { root =>
    val table = begin(root, "racing")
    attempt(table, "first")
    RacingFileSystem.removes = Some(file)
    val failed =
      try intercept[PmeException](table.publish(Set(file), conf))
      finally RacingFileSystem.removes = None
    assertEquals(failed.condition, Condition.DamagedFile: Condition)
    assert(failed.getMessage.contains(file), failed.getMessage)
    // The rest must not be taken for the table, and another run finds a free place.
    assertEquals(OwnFiles.find(new Path(root.resolve("target/day=1").toString), conf), Found.Nothing: Found)
  }
}

/** The disk, on which somebody removes a file of a table while the table moves. */
class RacingFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("racing:///")
  override def getScheme: String = "racing"

  // Hadoop's own statuses know only the scheme of the disk.
  override def listStatus(path: Path): Array[FileStatus] = super.listStatus(path).map { one =>
    new FileStatus(one.getLen, one.isDirectory, 1, 1, one.getModificationTime, one.getPath)
  }

  override def rename(from: Path, to: Path): Boolean = {
    val isMoved = super.rename(from, to)
    RacingFileSystem.removes
      .filter(to.toUri.getPath.endsWith(_))
      .foreach(_ => delete(to, /* recursive= */ false))
    isMoved
  }
}

object RacingFileSystem {
  @volatile var removes: Option[String] = None
}
