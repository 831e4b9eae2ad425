package io.pmeparquet.spark.admin.erase

import java.io.IOException
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.Base64

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.keys.{PublicKeys, SigningKey}
import io.pmeparquet.parquet.storage.{FileReplacement, Found, OwnFiles}
import io.pmeparquet.spark.admin.job.TableFiles

/**
 * What remains of an erasure, in `_pme_erasures` under the table: a note of what will be destroyed, which the certificate
 * replaces. A line of JSON, and a line with its signature if there is a key to sign with. ''Driver only.''
 *
 * @param id of the erasure: the same for the same keys
 */
private[erase] final class ErasureRecord(
    table: Path,
    id: String,
    signing: Option[(String, SigningKey)],
    conf: Configuration
) {
  import ErasureRecord._

  val path: Path = new Path(new Path(table, TableFiles.Erasures), s"erasure-$id.json")

  /** The page for a person, which has nothing that the certificate has not. */
  val page: Path = new Path(path.getParent, s"erasure-$id.txt")

  /**
   * The record of an earlier run, if there is one.
   *
   * @throws io.pmeparquet.PmeException `PME_ERASURE` if it is not one of this user's
   */
  def read(): Option[ObjectNode] = {
    def planted(why: String) = PmeErrors.erasureRefused(
      table.toString,
      s"the record of an earlier run, $path, $why",
      "Find out who wrote it, and delete it."
    )
    content(path).map { bytes =>
      val lines = new String(bytes, UTF_8).split("\n", -1)
      val node = Try(Mapper.readTree(lines(0))).toOption
        .collect { case record: ObjectNode if record.path("format").asText == Format => record }
        .getOrElse(throw planted("cannot be read"))
      if (node.path("table").asText != table.toString) throw planted("is of another table")
      signing.foreach { case (_, key) =>
        val seal = lines.lift(1).flatMap(line => Try(Mapper.readTree(line)).toOption)
        val signature =
          seal.flatMap(one => Try(Base64.getDecoder.decode(one.path("signature").asText)).toOption)
        if (!signature.exists(PublicKeys.verifies(key.publicKey, message(lines(0)), _)))
          throw planted("is not signed with this signing key")
      }
      node
    }
  }

  /** The ids of keys that records of this table say were destroyed. Anybody who can write to the storage can add to them. */
  def closedBefore(): Set[String] = {
    val directory = path.getParent
    val fs = directory.getFileSystem(conf)
    if (OwnFiles.find(directory, conf) != Found.Directory) Set.empty
    else
      fs.listStatus(directory)
        .toSeq
        .map(_.getPath)
        .filter(_.getName.matches("erasure-[0-9a-f]{16}\\.json"))
        .flatMap(content)
        .flatMap(bytes => Try(Mapper.readTree(new String(bytes, UTF_8).takeWhile(_ != '\n'))).toOption)
        .filter(_.path("format").asText == Format)
        .flatMap(_.path("keys").elements.asScala.map(_.path("key").asText))
        .toSet
  }

  /** Writes the record in the place of the one before. */
  def write(record: ObjectNode): Unit = {
    val line = Mapper.writeValueAsString(record)
    val signature = signing.map { case (name, key) =>
      val seal = Mapper.createObjectNode()
      seal.put("algorithm", key.algorithm).put("key", name)
      seal.put("public_key", Base64.getEncoder.encodeToString(key.publicKey.getEncoded))
      seal.put("signature", Base64.getEncoder.encodeToString(key.sign(message(line), path.toString)))
      Mapper.writeValueAsString(seal) + "\n"
    }
    replaced(path, s"$line\n${signature.getOrElse("")}")
  }

  def writePage(text: String): Unit = replaced(page, text)

  private def replaced(file: Path, text: String): Unit = {
    if (OwnFiles.hasLinks(table, conf)) OwnFiles.ensureDirectory(path.getParent, conf)
    OwnFiles.find(file, conf) match {
      case Found.Nothing => OwnFiles.write(file, text.getBytes(UTF_8), conf)
      case _ =>
        OwnFiles.requireFile(file, conf)
        val before = file.getFileSystem(conf).getFileStatus(file)
        FileReplacement.of(file, conf).write(before, () => ())(_.write(text.getBytes(UTF_8)))
    }
  }

  private def content(file: Path): Option[Array[Byte]] = OwnFiles.find(file, conf) match {
    case Found.Nothing => None
    case Found.File(length) if length <= MostBytes =>
      val in = file.getFileSystem(conf).open(file)
      try {
        val bytes = new Array[Byte](length.toInt)
        in.readFully(0, bytes)
        Some(bytes)
      } catch {
        case failed: IOException => throw PmeErrors.planted(s"$file (${failed.getClass.getSimpleName})")
      } finally in.close()
    case _ => throw PmeErrors.planted(file.toString)
  }
}

private[erase] object ErasureRecord {
  val Format = "pme-parquet erasure 1"
  val Mapper = new ObjectMapper

  private val MostBytes = 1024L * 1024 * 1024

  /** What is signed. No other signature of this project begins so. */
  def message(line: String): Array[Byte] =
    s"$Format\n${Sha256.hex(Sha256.ofBytes(line.getBytes(UTF_8)))}".getBytes(US_ASCII)

  def idOf(keys: Seq[String], kms: String): String =
    Sha256.hex(Sha256.ofTexts(kms +: keys.sorted)).take(16)

  def json(file: ErasedFile): ObjectNode = {
    val node = Mapper.createObjectNode()
    node
      .put("table", file.table)
      .put("file", file.file)
      .put("part", file.part)
      .put("partition", file.partition)
    Seq("keys" -> file.keys, "columns" -> file.columns, "left" -> file.left).foreach { case (name, texts) =>
      putTexts(node, name, texts)
    }
    file.rows.foreach(node.put("rows", _))
    node.put("bytes", file.bytes)
  }

  def putTexts(node: ObjectNode, name: String, texts: Seq[String]): Unit = {
    val array = node.putArray(name)
    texts.foreach(array.add(_))
  }

  def files(record: JsonNode): Seq[ErasedFile] = record.path("files").elements.asScala.toVector.map { file =>
    def text(name: String) = file.path(name).asText("")
    def texts(name: String) = file.path(name).elements.asScala.map(_.asText).toVector
    val rows = Some(file.path("rows")).filter(_.isIntegralNumber).map(_.asLong)
    ErasedFile(
      text("table"),
      text("file"),
      text("part"),
      text("partition"),
      texts("keys"),
      texts("columns"),
      texts("left"),
      rows,
      file.path("bytes").asLong
    )
  }
}
