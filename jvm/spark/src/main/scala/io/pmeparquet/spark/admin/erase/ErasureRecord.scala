package io.pmeparquet.spark.admin.erase

import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.Base64

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.fs.permission.FsPermission

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.keys.{PublicKeys, SigningKey}
import io.pmeparquet.parquet.storage.{ErasureNotes, FileReplacement, Found, OwnFiles}

/**
 * What remains of an erasure, in `_pme_erasures` under the table: a note of what will be destroyed, which the certificate
 * replaces. A line of JSON, and a line with its signature if there is a key to sign with. Certificates stay: a further
 * run of the same keys writes one of a higher number. ''Driver only.''
 *
 * @param kms in messages
 * @param names of the keys in the KMS
 */
private[erase] final class ErasureRecord(
    table: Path,
    kms: String,
    names: Set[String],
    signing: Option[(String, SigningKey)],
    conf: Configuration
) {
  import ErasureRecord._

  /** The same for the same keys in the same place. */
  val id: String = Sha256.hex(Sha256.ofTexts(kms +: names.toSeq.sorted)).take(IdDigits)

  private val directory = new Path(table, ErasureNotes.Directory)

  private lazy val all: Seq[(Path, Either[String, ObjectNode])] =
    ErasureNotes.of(table, conf).map { case (file, lines) => file -> verified(lines) }

  private lazy val own = all.flatMap { case (file, found) => numberOf(file).map(_ -> found) }.sortBy(_._1)

  /**
   * The record of the newest earlier run, if there is one.
   *
   * @throws io.pmeparquet.PmeException `PME_ERASURE` if it is not one of this user's
   */
  lazy val before: Option[ObjectNode] = own.lastOption.map { case (number, found) =>
    found
      .flatMap(node => if (ErasureNotes.keyNames(node) == names) Right(node) else Left("is of other keys"))
      .fold(why => throw planted(fileOf(number), why), identity)
  }

  /** A note is replaced by its certificate, and a certificate by nothing. */
  lazy val path: Path = fileOf(own.lastOption.fold(1)(_._1) + (if (before.exists(!isNote(_))) 1 else 0))

  private def fileOf(number: Int) =
    new Path(directory, s"erasure-$id${if (number == 1) "" else s"-$number"}.json")

  private def numberOf(file: Path): Option[Int] =
    Numbered.findFirstMatchIn(file.getName).filter(_.group(1) == id).map { one =>
      Option(one.group(2)).fold(1)(_.toInt)
    }

  private def planted(file: Path, why: String) = PmeErrors.erasureRefused(
    table.toString,
    s"the record of an earlier run, $file, $why",
    "Find out who wrote it, and delete it."
  )

  /** A record that this user, this table and this KMS have, or why it is none. */
  private def verified(lines: Seq[String]): Either[String, ObjectNode] =
    lines.headOption.flatMap(ErasureNotes.parsed) match {
      case Some(node: ObjectNode) =>
        if (node.path("table").asText != table.toString) Left("is of another table")
        else if (node.path("kms").asText != kms) Left("is of another KMS")
        else if (!signing.forall { case (_, key) => isSigned(lines, key) })
          Left("is not signed with this signing key")
        else Right(node)
      case _ => Left("cannot be read")
    }

  private def isSigned(lines: Seq[String], key: SigningKey): Boolean = {
    val seal = lines.lift(1).flatMap(line => Try(Mapper.readTree(line)).toOption)
    val signature = seal.flatMap(one => Try(Base64.getDecoder.decode(one.path("signature").asText)).toOption)
    signature.exists(PublicKeys.verifies(key.publicKey, message(lines.head), _))
  }

  /** The files that verified records list, by path and size, with the names of keys that they were lost with. */
  def closed: Map[(String, Long), Set[String]] = {
    val listed = all.flatMap(_._2.toOption).flatMap { node =>
      val nameOf = keysOf(node).map(key => key.path("key").asText -> key.path("name").asText).toMap
      files(node).map(file => (file.file, file.bytes) -> file.keys.flatMap(nameOf.get).toSet)
    }
    listed.groupBy(_._1).map { case (file, some) => file -> some.flatMap(_._2).toSet }
  }

  /**
   * Writes the record, whole or not at all.
   *
   * @return its SHA-256, in hexadecimal digits
   */
  def write(record: ObjectNode): String = {
    val line = Mapper.writeValueAsString(record)
    val signature = signing.map { case (name, key) =>
      val seal = Mapper.createObjectNode()
      seal.put("algorithm", key.algorithm).put("key", name)
      seal.put("public_key", Base64.getEncoder.encodeToString(key.publicKey.getEncoded))
      seal.put("signature", Base64.getEncoder.encodeToString(key.sign(message(line), path.toString)))
      Mapper.writeValueAsString(seal) + "\n"
    }
    val text = s"$line\n${signature.getOrElse("")}"
    place(path, text)
    Sha256.hex(Sha256.ofBytes(text.getBytes(UTF_8)))
  }

  /** Writes the page for a person, which has nothing that the certificate has not. */
  def writePage(text: String): Unit =
    place(new Path(directory, path.getName.stripSuffix(".json") + ".txt"), text)

  private def place(file: Path, text: String): Unit = {
    if (OwnFiles.hasLinks(table, conf)) OwnFiles.ensureDirectory(directory, conf)
    if (OwnFiles.find(file, conf) != Found.Nothing) OwnFiles.requireFile(file, conf)
    val fs = table.getFileSystem(conf)
    val permission = FsPermission.getFileDefault.applyUMask(FsPermission.getUMask(conf))
    val like = new FileStatus(
      0,
      false,
      fs.getDefaultReplication(file),
      fs.getDefaultBlockSize(file),
      0,
      0,
      permission,
      null,
      null,
      file
    )
    FileReplacement.of(file, conf).write(like, () => ())(_.write(text.getBytes(UTF_8)))
  }
}

private[erase] object ErasureRecord {
  val Mapper = new ObjectMapper

  private val IdDigits = 16
  private val Numbered = "^erasure-([0-9a-f]{16})(?:-([0-9]{1,6}))?\\.json$".r

  /** What is signed. No other signature of this project begins so. */
  def message(line: String): Array[Byte] =
    s"${ErasureNotes.Format}\n${Sha256.hex(Sha256.ofBytes(line.getBytes(UTF_8)))}".getBytes(US_ASCII)

  private def isNote(record: JsonNode) = record.path("state").asText == "begun"

  /** What a key wrapped while it could. */
  def probe(record: JsonNode, name: String): Option[String] = record
    .path("probes")
    .elements
    .asScala
    .find(_.path("name").asText == name)
    .map(_.path("wrapped").asText)

  def keysOf(record: JsonNode): Seq[JsonNode] = record.path("keys").elements.asScala.toSeq

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
    if (!file.there) node.put("there", false)
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
