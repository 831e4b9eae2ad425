package io.pmeparquet.parquet.storage

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.{Callable, CyclicBarrier, Executors}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.Path

import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.PmeException

class OwnFilesSuite extends FunSuite {
  private val conf = new Configuration(false)
  private val Precious = "what nobody may touch"

  private val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-own").toRealPath(),
    LocalFiles.delete
  )

  private def hadoop(path: LocalPath) = new Path(path.toUri.getScheme, null, path.toString)

  private def write(file: LocalPath, text: String = Precious): LocalPath =
    Files.write(file, text.getBytes(UTF_8))

  private def text(file: LocalPath) = new String(Files.readAllBytes(file), UTF_8)

  /** What may occupy the place of a new file, and how to put it there. */
  private val plants: Seq[(String, (LocalPath, LocalPath) => Unit)] = Seq(
    "a symbolic link to a file" -> { (place, victim) => Files.createSymbolicLink(place, victim); () },
    "a hard link to a file" -> { (place, victim) => Files.createLink(place, victim); () },
    "a link that leads to nothing" -> { (place, victim) =>
      Files.createSymbolicLink(place, victim.resolveSibling("not-there")); ()
    },
    "a file" -> { (place, _) => write(place); () },
    "a directory" -> { (place, _) => Files.createDirectory(place); () }
  )

  plants.foreach { case (what, plant) =>
    directory.test(s"nothing is created where there is $what, and nothing is written through it") { root =>
      val (place, victim) = (root.resolve("place"), write(root.resolve("victim")))
      plant(place, victim)
      intercept[PmeException](OwnFiles.create(hadoop(place), conf))
      assert(!OwnFiles.createExclusively(hadoop(place), conf))
      intercept[PmeException](OwnFiles.makeDirectory(hadoop(place), conf))
      assertEquals(text(victim), Precious)
      assert(!Files.exists(root.resolve("not-there")))
    }
  }

  directory.test("key material is written neither through a link nor over an existing file") { root =>
    val victim = write(root.resolve("victim"))
    val material = Seq(
      KeyMaterial.FooterReference -> KeyMaterial(isFooterKey = true, "footer", "wrapped", None)
    )
    Files.createSymbolicLink(root.resolve("_KEY_MATERIAL_FOR_a.parquet.json"), victim)
    val refused =
      intercept[PmeException](MaterialFiles.write(hadoop(root.resolve("a.parquet")), conf, material))
    assertEquals(refused.condition.name, "PME_UNSUPPORTED")
    assertEquals(text(victim), Precious)
  }

  directory.test("no checksum file is written next to a file, since a link may be there") { root =>
    val victim = write(root.resolve("victim"))
    Files.createSymbolicLink(root.resolve(".place.crc"), victim)
    val out = OwnFiles.create(hadoop(root.resolve("place")), conf)
    out.write(Array.fill[Byte](100000)(7))
    out.hsync()
    out.close()
    assertEquals(text(victim), Precious)
    assertEquals(Files.size(root.resolve("place")), 100000L)
  }

  directory.test("if many create a file at the same moment, exactly one succeeds") { root =>
    val threads = Executors.newFixedThreadPool(8)
    try
      for (round <- 0 until 50) {
        val together = new CyclicBarrier(8)
        val attempt: Callable[Boolean] = () => {
          together.await()
          try {
            OwnFiles.create(hadoop(root.resolve(s"file-$round")), conf).close()
            true
          } catch { case _: PmeException => false }
        }
        assertEquals(Seq.fill(8)(threads.submit(attempt)).map(_.get).count(identity), 1)
      }
    finally threads.shutdown()
  }

  directory.test("removing does not follow links") { root =>
    val elsewhere = Files.createDirectory(root.resolve("elsewhere"))
    val victim = write(elsewhere.resolve("victim"))
    val own = Files.createDirectories(root.resolve("own").resolve("inner"))
    Files.createSymbolicLink(own.resolve("link"), elsewhere)
    Files.createSymbolicLink(own.resolve("dangling"), root.resolve("not-there"))
    write(own.resolve("file"))
    OwnFiles.delete(hadoop(root.resolve("own")), conf)
    assert(!Files.exists(root.resolve("own")))
    Files.createSymbolicLink(root.resolve("own"), elsewhere)
    OwnFiles.delete(hadoop(root.resolve("own")), conf)
    assertEquals(text(victim), Precious)
    OwnFiles.delete(hadoop(root.resolve("own")), conf)
  }

  directory.test("clearing does not follow a link to a directory") { root =>
    val elsewhere = Files.createDirectory(root.resolve("elsewhere"))
    val victim = write(elsewhere.resolve("victim"))
    Files.createSymbolicLink(root.resolve("own"), elsewhere)
    intercept[PmeException](OwnFiles.clear(hadoop(root.resolve("own")), Set.empty, conf))
    assertEquals(text(victim), Precious)
    write(elsewhere.resolve("kept"))
    OwnFiles.clear(hadoop(elsewhere), Set("kept"), conf)
    assertEquals(OwnFiles.find(hadoop(victim), conf), Found.Nothing)
    assertEquals(text(elsewhere.resolve("kept")), Precious)
  }

  directory.test(
    "files go before directories, so nobody misses a file whose directory's mark is still there"
  ) { root =>
    val own = Files.createDirectory(root.resolve("own"))
    // Their names come in no order.
    val attempts =
      (1 to 200).map(at => write(Files.createDirectory(own.resolve(s"attempt-$at")).resolve("part")))
    val mark = write(own.resolve("running"))
    val watching = Executors.newSingleThreadExecutor()
    try {
      val wasWrong = watching.submit(new Callable[Boolean] {
        override def call(): Boolean = {
          var wrong = false
          while (Files.exists(own)) wrong |= attempts.exists(Files.notExists(_)) && Files.exists(mark)
          wrong
        }
      })
      OwnFiles.delete(hadoop(own), conf)
      assert(!wasWrong.get())
    } finally watching.shutdownNow()
  }

  directory.test("directories are not created through a link") { root =>
    val elsewhere = Files.createDirectory(root.resolve("elsewhere"))
    val own = Files.createDirectory(root.resolve("own"))
    Files.createSymbolicLink(own.resolve("country=de"), elsewhere)
    intercept[PmeException] {
      OwnFiles.makeDirectories(hadoop(own.resolve("country=de").resolve("day=1")), hadoop(own), conf)
    }
    assert(!Files.exists(elsewhere.resolve("day=1")))
    OwnFiles.makeDirectories(hadoop(own.resolve("country=fr").resolve("day=1")), hadoop(own), conf)
    assert(Files.isDirectory(own.resolve("country=fr").resolve("day=1")))
  }

  directory.test("the permission bits of a link's target stay") { root =>
    val victim = write(root.resolve("victim"))
    val before = Files.getPosixFilePermissions(victim)
    Files.createSymbolicLink(root.resolve("link"), victim)
    intercept[java.io.IOException] {
      OwnFiles.setPermission(hadoop(root.resolve("link")), new FsPermission("777"), conf)
    }
    assertEquals(Files.getPosixFilePermissions(victim), before)
    OwnFiles.setPermission(hadoop(victim), new FsPermission("640"), conf)
    assertEquals(Files.getPosixFilePermissions(victim).size, 3)
  }

  directory.test("a directory moves only to a free place") { root =>
    def made(name: String) = {
      val one = Files.createDirectory(root.resolve(name))
      write(one.resolve("file"), name)
      one
    }
    val target = root.resolve("target")
    OwnFiles.moveToFree(hadoop(made("first")), hadoop(target), conf)
    intercept[java.io.IOException](OwnFiles.moveToFree(hadoop(made("second")), hadoop(target), conf))
    assertEquals(text(target.resolve("file")), "first")
    assert(!Files.exists(target.resolve("second")))
    Files.createSymbolicLink(root.resolve("link"), Files.createDirectory(root.resolve("empty")))
    intercept[java.io.IOException] {
      OwnFiles.moveToFree(hadoop(root.resolve("second")), hadoop(root.resolve("link")), conf)
    }
  }

  directory.test("links among a table's directories are found, except the table itself") { root =>
    val elsewhere = Files.createDirectory(root.resolve("elsewhere"))
    val table = Files.createSymbolicLink(root.resolve("table"), Files.createDirectory(root.resolve("real")))
    val inner = Files.createDirectory(table.resolve("day=1"))
    val files = Seq(hadoop(inner.resolve("a.parquet")), hadoop(table.resolve("b.parquet")))
    assertEquals(LinkedDirectories.first(hadoop(table), files, conf), None)
    val link = hadoop(Files.createSymbolicLink(inner.resolve("hour=1"), elsewhere))
    assertEquals(
      LinkedDirectories.first(hadoop(table), files :+ new Path(link, "x/c.parquet"), conf),
      Some(link)
    )
  }

  directory.test("a link above a table, or above a single file, is not reported") { root =>
    val real = Files.createDirectories(root.resolve("real").resolve("table").resolve("day=1"))
    val link = Files.createSymbolicLink(root.resolve("link"), root.resolve("real"))
    val table = link.resolve("table")
    val file = hadoop(table.resolve("day=1").resolve(write(real.resolve("a.parquet")).getFileName))
    Seq(file, file.getParent, hadoop(table)).foreach { named =>
      assertEquals(LinkedDirectories.first(named, Seq(file), conf), None, s"of $named")
    }
    assertEquals(LinkedDirectories.first(hadoop(root), Seq(file), conf), Some(hadoop(link)))
  }
}
