package io.pmeparquet.parquet.storage

import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.PmeErrors

/** The records of erasures of a table, in a directory of its own below the table. ''Driver only.'' */
private[pmeparquet] object ErasureNotes {
  val Directory = "_pme_erasures"
  val Format = "pme-parquet erasure 1"

  private val MostBytes = 1024L * 1024 * 1024
  private val Name = "erasure-[0-9a-f]{16}(?:-[0-9]{1,6})?\\.(json|txt)".r

  /** Whether a file in the directory has the name of a record, of its page, or of one that was being written. */
  def isOwn(name: String): Boolean =
    Name.pattern.matcher(name).matches || name.startsWith(FileReplacement.StagedPrefix)

  /** The records of a table, with what they say in lines. Anybody who can write to the storage can add to them. */
  def of(table: Path, conf: Configuration): Seq[(Path, Seq[String])] = {
    val directory = new Path(table, Directory)
    if (OwnFiles.find(directory, conf) == Found.Nothing) Nil
    else {
      OwnFiles.requireDirectory(directory, conf)
      val all = directory.getFileSystem(conf).listStatus(directory).toSeq.map(_.getPath)
      all
        .filter(one => isOwn(one.getName) && one.getName.endsWith(".json"))
        .map(one => one -> lines(one, conf))
    }
  }

  /** The record in a line, if it is one. */
  def parsed(line: String): Option[JsonNode] =
    Try(new ObjectMapper().readTree(line)).toOption.filter(_.path("format").asText == Format)

  /** The names of keys in the KMS that records call keys of an erasure. */
  def keyNames(record: JsonNode): Set[String] =
    record.path("keys").elements.asScala.map(_.path("name").asText("")).filter(_.nonEmpty).toSet

  private def lines(file: Path, conf: Configuration): Seq[String] = OwnFiles.find(file, conf) match {
    case Found.File(length) if length <= MostBytes =>
      val in = file.getFileSystem(conf).open(file)
      try
        new String(in.readNBytes(length.toInt), java.nio.charset.StandardCharsets.UTF_8).split("\n", -1).toSeq
      finally in.close()
    case _ => throw PmeErrors.planted(file.toString)
  }
}
