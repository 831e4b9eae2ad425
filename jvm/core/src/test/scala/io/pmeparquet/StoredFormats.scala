package io.pmeparquet

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.nio.file.StandardOpenOption.CREATE_NEW

/**
 * What earlier builds have stored, below `tests/data/formats`: every later version reads it. A file there is never
 * changed. A format that changes gets a folder of its own, which `WRITE_FORMATS=1` writes if it is missing.
 */
trait StoredFormats {

  /** @param write writes the folder */
  protected def stored(format: String)(write: Path => Unit): Path = {
    val folder = Checkout.root.resolve("tests").resolve("data").resolve("formats").resolve(format)
    if (sys.env.contains("WRITE_FORMATS") && !Files.exists(folder)) {
      Files.createDirectories(folder)
      write(folder)
    }
    folder
  }

  protected def write(file: Path, bytes: Array[Byte]): Unit = {
    Files.createDirectories(file.getParent)
    Files.write(file, bytes, CREATE_NEW)
    ()
  }

  protected def text(file: Path): String = new String(Files.readAllBytes(file), UTF_8)
}

/** The folder of the project that the tests run in. */
object Checkout {
  lazy val root: Path =
    Iterator
      .iterate(Paths.get("").toAbsolutePath)(_.getParent)
      .takeWhile(_ != null)
      .find(folder => Files.exists(folder.resolve("build.sbt")))
      .getOrElse(throw new IllegalStateException("no build.sbt above the folder the tests run in"))
}
