package io.pmeparquet.parquet.storage

import java.nio.file.Files
import java.util.concurrent.{Callable, CyclicBarrier, Executors}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

class FileReplacementSuite extends FunSuite {
  private val Attempts = 8
  private val Rounds = 200

  test("if several attempts create a file at the same moment, exactly one succeeds") {
    val directory = Files.createTempDirectory("pme-alone").toFile
    val threads = Executors.newFixedThreadPool(Attempts)
    try
      for (round <- 0 until Rounds) {
        val file = new Path(directory.toURI.toString, s"claim-$round")
        val together = new CyclicBarrier(Attempts)
        val attempt: Callable[Boolean] = () => {
          val conf = new Configuration(false)
          together.await()
          OwnFiles.createExclusively(file, conf)
        }
        val made = Seq.fill(Attempts)(threads.submit(attempt)).map(_.get)
        assertEquals(made.count(identity), 1, s"in round $round")
      }
    finally {
      threads.shutdown()
      directory.listFiles().foreach(_.delete())
      assert(directory.delete())
    }
  }

  test("an existing file counts as made by somebody else") {
    val file = Files.createTempFile("pme-alone", ".claim")
    try
      assert(!OwnFiles.createExclusively(new Path(file.toUri), new Configuration(false)))
    finally Files.delete(file)
  }
}
