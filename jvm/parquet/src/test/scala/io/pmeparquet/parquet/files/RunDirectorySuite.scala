package io.pmeparquet.parquet.files

import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.atomic.AtomicInteger

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

class RunDirectorySuite extends FunSuite {
  private val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-run").toRealPath(),
    LocalFiles.delete
  )

  private def conf = {
    val made = new Configuration(false)
    made.set("fs.file.impl", classOf[MeanwhileFileSystem].getName)
    made.setBoolean("fs.file.impl.disable.cache", true)
    made
  }

  private def begun(root: LocalPath) = {
    val run = RunDirectory.fresh(new Path("file", null, root.toString), ".run-")
    run.begin(conf)
    run.makeAttempt("attempt", conf)
    run
  }

  directory.test("a file that a task creates while a run is removed is removed, too") { root =>
    val run = begun(root)
    MeanwhileFileSystem.times.set(3)
    run.delete(conf)
    assertEquals(MeanwhileFileSystem.times.get, 0)
    assert(!Files.exists(root.resolve(run.name)))
  }

  directory.test("a run that cannot be removed is an error") { root =>
    val run = begun(root)
    MeanwhileFileSystem.times.set(1000)
    val failed = intercept[java.io.IOException](run.delete(conf))
    assert(failed.getMessage.contains("could not be removed"), failed.getMessage)
    MeanwhileFileSystem.times.set(0)
  }

  directory.test("a run whose removal stops midway keeps its mark, by which the next run recognizes it") {
    root =>
      val stopping = conf
      stopping.set("fs.file.impl", classOf[StoppingFileSystem].getName)
      val run = RunDirectory.fresh(new Path("file", null, root.toString), ".run-")
      val mark = run.beginLocked(stopping)
      run.makeAttempt("attempt", stopping)
      intercept[java.io.IOException](run.delete(stopping))
      mark.release()
      assert(RunDirectory.isLeft(run.path, stopping))
  }
}

object MeanwhileFileSystem {

  /** How often a file appears while a directory is removed. */
  val times = new AtomicInteger
}

/** An unknown task creates a file while a directory is removed, so that the directory stays. */
class MeanwhileFileSystem extends RawLocalFileSystem {
  override def delete(path: Path, recursive: Boolean): Boolean =
    if (MeanwhileFileSystem.times.getAndUpdate(left => (left - 1).max(0)) > 0) {
      val removed = new Path(path, "running")
      if (exists(removed)) super.delete(removed, false)
      false
    } else super.delete(path, recursive)
}

/** Removes files but no directory, as if the process were killed before that. */
class StoppingFileSystem extends RawLocalFileSystem {
  override def delete(path: Path, recursive: Boolean): Boolean = {
    if (getFileStatus(path).isDirectory) {
      listStatus(path).filter(_.isFile).foreach(file => super.delete(file.getPath, false))
      throw new java.io.IOException("stopped")
    }
    super.delete(path, recursive)
  }
}
