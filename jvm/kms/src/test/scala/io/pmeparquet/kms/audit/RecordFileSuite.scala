package io.pmeparquet.kms.audit

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardOpenOption}
import java.nio.file.attribute.PosixFilePermissions
import java.time.Instant

import scala.collection.JavaConverters._

import munit.FunSuite

import io.pmeparquet.Sha256

class RecordFileSuite extends FunSuite {
  private val directory = FunFixture[Path](_ => Files.createTempDirectory("record"), _ => ())
  private val Noon = Instant.parse("2026-01-02T12:00:00Z")

  private def record(path: Path, mostBytes: Long = 1L << 20) = new RecordFile(path, mostBytes, () => Noon)

  private def add(record: RecordFile, name: String): Unit =
    record.append(Seq("use" -> { node => node.put("master_key", name); () }))

  private def lines(path: Path): Seq[String] = Files.readAllLines(path).asScala.toSeq

  private def chained(lines: Seq[String]): Unit = {
    val nodes = lines.map(KeyEvent.mapper.readTree)
    assertEquals(nodes.map(_.path("number").asInt), 1 to lines.size)
    assertEquals(
      nodes.map(_.path("previous").asText),
      RecordFile.NoLine +: lines.init.map(Sha256.ofText)
    )
  }

  directory.test("each line has its number and the digest of the line before it") { dir =>
    val file = record(dir.resolve("keys.jsonl"))
    Seq("a", "b", "c").foreach(add(file, _))
    val written = lines(dir.resolve("keys.jsonl"))
    chained(written)
    assertEquals(KeyEvent.mapper.readTree(written.head).path("time").asText, "2026-01-02T12:00:00Z")
  }

  directory.test("two writers of one file make one chain") { dir =>
    val path = dir.resolve("keys.jsonl")
    val (one, other) = (record(path), record(path))
    Seq(one, other, other, one, one, other).zipWithIndex.foreach { case (writer, n) => add(writer, s"k$n") }
    chained(lines(path))
  }

  directory.test("threads of writers with their own copies of the file make one chain") { dir =>
    val path = dir.resolve("keys.jsonl")
    val threads = (1 to 4).map { n =>
      new Thread(() => { val own = record(path); (1 to 25).foreach(k => add(own, s"$n-$k")) })
    }
    threads.foreach(_.start())
    threads.foreach(_.join())
    val written = lines(path)
    assertEquals(written.size, 100)
    chained(written)
  }

  directory.test("a full file is set aside, and the chain goes on in a new one") { dir =>
    val path = dir.resolve("keys.jsonl")
    val (one, other) = (record(path, mostBytes = 700), record(path, mostBytes = 700))
    (1 to 12).foreach(n => add(if (n % 3 == 0) other else one, s"k$n"))
    val files = Files.list(dir).iterator.asScala.toSeq
    val old = files.filter(_.getFileName.toString.matches("keys\\.jsonl\\.\\d{12}")).sortBy(_.toString)
    assert(old.size >= 2, old)
    chained(old.flatMap(lines) ++ (if (Files.exists(path)) lines(path) else Nil))
  }

  directory.test("a writer notices that lines which it wrote are gone") { dir =>
    val path = dir.resolve("keys.jsonl")
    val file = record(path)
    Seq("a", "b", "c").foreach(add(file, _))
    Files.write(path, lines(path).take(2).asJava)
    assert(intercept[IOException](add(file, "d")).getMessage.contains("lacks line 3"))
    Files.delete(path)
    assert(intercept[IOException](add(file, "d")).getMessage.contains("lacks line 3"))
  }

  directory.test("a writer notices that its last line is another") { dir =>
    val path = dir.resolve("keys.jsonl")
    val file = record(path)
    Seq("a", "b").foreach(add(file, _))
    val written = new String(Files.readAllBytes(path), UTF_8)
    Files.write(path, (written.replace("\"b\"", "\"bb\"")).getBytes(UTF_8))
    assert(intercept[IOException](add(file, "c")).getMessage.contains("lacks line 2"))
  }

  directory.test("a part of a line from a killed process stays, in a line of its own") { dir =>
    val path = dir.resolve("keys.jsonl")
    add(record(path), "a")
    Files.write(path, "{\"number\":2,\"ev".getBytes(UTF_8), StandardOpenOption.APPEND)
    val next = record(path)
    add(next, "b")
    add(next, "c")
    val written = lines(path)
    assertEquals(written.size, 4)
    val last = written.drop(2).map(KeyEvent.mapper.readTree)
    assertEquals(last.map(_.path("number").asInt), Seq(2, 3))
    assertEquals(last.head.path("previous").asText, Sha256.ofText(written(1)))
  }

  directory.test(
    "a writer that runs goes on after a part of a line of another, and after one in an empty file"
  ) { dir =>
    val path = dir.resolve("keys.jsonl")
    val (one, other) = (record(path), record(path))
    add(one, "a")
    add(other, "b")
    Files.write(path, "{\"number\":3,\"ev".getBytes(UTF_8), StandardOpenOption.APPEND)
    add(one, "c")
    add(other, "d")
    val whole = lines(path).filter(_.endsWith("}")).map(KeyEvent.mapper.readTree)
    assertEquals(whole.map(_.path("number").asInt), Seq(1, 2, 3, 4))
    val begun = dir.resolve("begun.jsonl")
    Files.write(begun, "{\"num".getBytes(UTF_8))
    add(record(begun), "a")
    assertEquals(KeyEvent.mapper.readTree(lines(begun).last).path("previous").asText, Sha256.ofText("{\"num"))
  }

  directory.test("another file of the same length in its place is noticed") { dir =>
    val path = dir.resolve("keys.jsonl")
    val (one, other) = (record(path), record(path))
    add(one, "a")
    Files.move(path, dir.resolve("keys.jsonl.000000000001"))
    add(other, "b")
    add(one, "c")
    chained(lines(dir.resolve("keys.jsonl.000000000001")) ++ lines(path))
  }

  directory.test("a file to which everybody may write is refused") { dir =>
    val path = dir.resolve("keys.jsonl")
    add(record(path), "a")
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-rw-"))
    assert(intercept[IOException](add(record(path), "b")).getMessage.contains("everybody may write"))
  }

  directory.test("a file that is no record, a link and a directory are refused") { dir =>
    val other = dir.resolve("other")
    Files.write(other, "hello\n".getBytes(UTF_8))
    assert(intercept[IOException](add(record(other), "a")).getMessage.contains("not a record"))
    val link = dir.resolve("link")
    Files.createSymbolicLink(link, dir.resolve("target"))
    intercept[IOException](add(record(link), "a"))
    assert(!Files.exists(dir.resolve("target")))
    intercept[IOException](add(record(Files.createDirectory(dir.resolve("folder"))), "a"))
  }

  directory.test("only its owner may read the file") { dir =>
    val path = dir.resolve("keys.jsonl")
    add(record(path), "a")
    val allowed = Files.getPosixFilePermissions(path).asScala.map(_.toString)
    assertEquals(allowed.toSet, Set("OWNER_READ", "OWNER_WRITE"))
  }
}
