package io.pmeparquet.parquet.storage

import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.atomic.AtomicInteger

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}

import io.pmeparquet.PmeException

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
    val run = RunDirectory.beside(new Path("file", null, s"$root/table"), ".run-")
    run.begin(conf)
    OwnFiles.makeDirectory(run.in("attempt"), conf)
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

  directory.test("the failure of the work says what could not be removed, and success only logs it") { root =>
    val run = begun(root)
    MeanwhileFileSystem.times.set(1000)
    val failed = intercept[IllegalStateException](run.ending(conf)(throw new IllegalStateException("work")))
    assertEquals(failed.getSuppressed.toSeq.map(_.getMessage.contains("could not be removed")), Seq(true))
    MeanwhileFileSystem.times.set(1000)
    assertEquals(run.ending(conf)(1), 1)
    MeanwhileFileSystem.times.set(0)
  }

  directory.test("a run in a directory that runs share holds no file open") { root =>
    val parent = Files.createDirectory(root.resolve("runs"))
    val run = RunDirectory.in(new Path(parent.toUri), new Path("file", null, s"$root/table"))
    run.begin(conf)
    // Another process could not tell from its mark that this one is alive.
    val channel = java.nio.channels.FileChannel
      .open(parent.resolve(run.name).resolve("running"), java.nio.file.StandardOpenOption.WRITE)
    try assert(channel.tryLock() != null)
    finally channel.close()
    run.delete(conf)
    assert(!Files.exists(parent))
  }

  directory.test("a run that is still going does not count as killed, and neither does one that has ended") {
    root =>
      val run = begun(root)
      assert(!RunDirectory.isLeft(run.path, conf))
      run.delete(conf)
      assert(!RunDirectory.isLeft(run.path, conf))
  }

  directory.test("an attempt leaves nothing, unless it is to stay and succeeds") { root =>
    val run = begun(root)
    assertEquals(run.attempt(conf, stays = false)(_ => 1)._2, 1)
    val (kept, _) = run.attempt(conf, stays = true)(_ => ())
    intercept[IllegalStateException](run.attempt(conf, stays = true)(_ => throw new IllegalStateException))
    val names =
      Files.list(root.resolve(run.name)).toArray.toSet.map((path: Any) => path.toString.split('/').last)
    assertEquals(names, Set("running", "attempt", kept))
    run.delete(conf)
  }

  directory.test("an attempt of a run that is over fails as one, and removes what it has created") { root =>
    val run = begun(root)
    val failed = intercept[PmeException](run.attempt(conf, stays = true) { _ =>
      run.delete(conf)
      Files.createDirectories(root.resolve(run.name).resolve("late"))
      throw new java.io.IOException("the file is gone")
    })
    assert(failed.getMessage.contains("this run is over"), failed.getMessage)
    assert(!Files.exists(root.resolve(run.name)))
    intercept[PmeException](run.attempt(conf, stays = true)(_ => ()))
  }

  directory.test("a run whose removal stops midway keeps its mark, by which the next run recognizes it") {
    root =>
      val stopping = conf
      stopping.set("fs.file.impl", classOf[StoppingFileSystem].getName)
      val run = RunDirectory.beside(new Path("file", null, s"$root/table"), ".run-")
      run.begin(stopping)
      assert(!RunDirectory.isLeft(run.path, stopping))
      OwnFiles.makeDirectory(run.in("attempt"), stopping)
      intercept[java.io.IOException](run.delete(stopping))
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
