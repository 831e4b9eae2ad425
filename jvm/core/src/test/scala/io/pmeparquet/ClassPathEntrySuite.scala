package io.pmeparquet

import java.net.{URL, URLClassLoader}
import java.nio.file.{Files, Path}
import java.util.jar.{JarEntry, JarOutputStream}

class ClassPathEntrySuite extends munit.FunSuite {
  private val directory =
    FunFixture[Path](_ => Files.createTempDirectory("class-path"), path => delete(path))

  private def delete(path: Path): Unit = {
    Option(path.toFile.listFiles).toSeq.flatten.foreach(file => delete(file.toPath))
    Files.delete(path)
  }

  private def jar(at: Path, entries: (String, String)*): Path = {
    val out = new JarOutputStream(Files.newOutputStream(at))
    entries.foreach { case (name, content) =>
      out.putNextEntry(new JarEntry(name))
      out.write(content.getBytes("UTF-8"))
    }
    out.close()
    at
  }

  private def loader(paths: Path*) = new URLClassLoader(paths.map(_.toUri.toURL).toArray, null)

  directory.test("every jar and directory with a resource is listed, first the one that is loaded") { at =>
    val first = jar(at.resolve("a b.jar"), "x/Y.class" -> "1")
    val folder = Files.createDirectories(at.resolve("classes/x")).getParent
    Files.write(folder.resolve("x/Y.class"), "2".getBytes)
    val other = jar(at.resolve("c.jar"), "x/Z.class" -> "3")
    val found = ClassPathEntry.holding("x/Y.class", loader(first, folder, other))
    assertEquals(found.map(_.shown), Seq(first.toString, folder.toString))
  }

  directory.test("a jar that is met by two ways is one") { at =>
    val one = jar(at.resolve("a.jar"), "x/Y.class" -> "1")
    val link = Files.createSymbolicLink(at.resolve("b.jar"), one)
    assertEquals(ClassPathEntry.holding("x/Y.class", loader(one, link), loader(one)).size, 1)
  }

  directory.test("jars have one digest where they have the same bytes") { at =>
    val one = jar(at.resolve("a.jar"), "x/Y.class" -> "1")
    val copy = Files.copy(one, at.resolve("b.jar"))
    val other = jar(at.resolve("c.jar"), "x/Y.class" -> "2")
    val digests = ClassPathEntry.holding("x/Y.class", loader(one, copy, other)).map(_.digest)
    assert(digests.head.isDefined)
    assertEquals(digests(1), digests.head)
    assertNotEquals(digests(2), digests.head)
  }

  directory.test("properties are those of the jar itself, not of the first that has some") { at =>
    val one = jar(at.resolve("a.jar"), "x/Y.class" -> "1", "p.properties" -> "version=1\n")
    val two = jar(at.resolve("b.jar"), "x/Y.class" -> "1", "p.properties" -> "version=2\n")
    val none = jar(at.resolve("c.jar"), "x/Y.class" -> "1")
    val found =
      ClassPathEntry.holding("x/Y.class", loader(one, two, none)).map(_.properties("p.properties"))
    assertEquals(found, Seq(Some(Map("version" -> "1")), Some(Map("version" -> "2")), None))
  }

  directory.test("the digest of a jar is that of its bytes by SHA-256") { at =>
    val file = Files.write(at.resolve("a.jar"), "abc".getBytes)
    // FIPS 180-2, appendix B.1
    val digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assertEquals(ClassPathEntry.at(file.toUri.toURL).digest, Some(digest))
    assertEquals(Sha256.ofText("abc"), digest)
  }

  directory.test("a place that no class loader escaped has no properties, and is no failure") { at =>
    val folder = Files.createDirectories(at.resolve("a b"))
    assertEquals(ClassPathEntry.at(new URL(s"file:$folder/")).properties("p.properties"), None)
  }

  test("nothing is shown of who may fetch a jar") {
    val shown = ClassPathEntry.at(new URL("https://user:secret@host:8443/jars/a.jar?token=secret")).shown
    assertEquals(shown, "https://host/jars/a.jar")
  }

  test("a class of the JVM is of no jar") {
    assertEquals(ClassPathEntry.of(classOf[String]), None)
  }
}
