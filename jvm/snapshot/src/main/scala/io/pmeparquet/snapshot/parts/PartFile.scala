package io.pmeparquet.snapshot.parts

import java.io.IOException

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.api.ReadSupport
import org.apache.parquet.hadoop.example.{ExampleParquetWriter, GroupReadSupport}
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.ParquetReader
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.PmeErrors

/** The rows of a part, as the bytes of a Parquet file (docs/snapshots.md, "Format"). */
private[snapshot] object PartFile {

  /** @param indexes whose fields the part has */
  def schema(indexes: Seq[IndexEntry]): MessageType = MessageTypeParser.parseMessageType(
    s"""message pme_snapshot_part {
       |  required binary path (STRING);
       |  required int64 length;
       |  required int64 modified;
       |  required binary footer_sha256;
       |  optional binary aad_file_unique;
       |  required binary file_sha256;
       |  required int64 rows;
       |  optional group partition_values (MAP) {
       |    repeated group key_value {
       |      required binary key (STRING);
       |      optional binary value (STRING);
       |    }
       |  }
       |${indexes.map(index => group(index.field)).mkString("\n")}
       |}""".stripMargin
  )

  private def group(field: String) =
    s"  optional group $field { optional binary min; optional binary max; optional int64 nulls; }"

  /** @param encryption none for a table without encryption */
  def write(
      files: Seq[SealedFile],
      indexes: Seq[IndexEntry],
      encryption: Option[FileEncryptionProperties]
  ): Array[Byte] = {
    val output = new MemoryOutput
    val shape = schema(indexes)
    val groups = new SimpleGroupFactory(shape)
    val writer = ExampleParquetWriter
      .builder(output)
      // Not Hadoop's configuration, which may name a crypto factory of its own.
      .withConf(new Configuration(false))
      .withType(shape)
      .withCompressionCodec(CompressionCodecName.ZSTD)
      .withEncryption(encryption.orNull)
      .build()
    try files.foreach(file => writer.write(row(file, indexes, groups.newGroup())))
    finally writer.close()
    output.toArray
  }

  private def row(file: SealedFile, indexes: Seq[IndexEntry], group: Group): Group = {
    group.add("path", file.path)
    group.add("length", file.length)
    group.add("modified", file.modified)
    group.add("footer_sha256", Binary.fromConstantByteArray(file.footerSha256))
    file.aadFileUnique.foreach(unique => group.add("aad_file_unique", Binary.fromConstantByteArray(unique)))
    group.add("file_sha256", Binary.fromConstantByteArray(file.sha256))
    group.add("rows", file.rows)
    if (file.partition.nonEmpty) {
      val map = group.addGroup("partition_values")
      file.partition.foreach { case (name, value) =>
        val entry = map.addGroup("key_value")
        entry.add("key", name)
        value.foreach(entry.add("value", _))
      }
    }
    for (index <- indexes; range <- file.ranges.get(index.field)) {
      val one = group.addGroup(index.field)
      range.bounds.foreach { case (min, max) =>
        one.add("min", Binary.fromConstantByteArray(min))
        one.add("max", Binary.fromConstantByteArray(max))
      }
      one.add("nulls", range.nulls)
    }
    group
  }

  /**
   * @param bytes whose digest is the one in a verified manifest
   * @param indexes whose fields to read: others need no key
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`, or why a key is missing
   */
  def read(
      bytes: Array[Byte],
      indexes: Seq[IndexEntry],
      decryption: Option[FileDecryptionProperties],
      where: String
  ): Vector[SealedFile] =
    try {
      val builder: ParquetReader.Builder[Group] = new GroupReader(new MemoryInput(bytes))
      builder.withDecryption(decryption.orNull).set(ReadSupport.PARQUET_READ_SCHEMA, schema(indexes).toString)
      val reader = builder.build()
      val files = mutable.ArrayBuffer.empty[SealedFile]
      try Iterator.continually(reader.read()).takeWhile(_ != null).foreach(files += file(_, indexes))
      finally reader.close()
      files.toVector
    } catch {
      case failed @ (_: IOException | _: RuntimeException) =>
        throw io.pmeparquet.PmeException.find(failed).getOrElse {
          PmeErrors.snapshotDamaged(where, "the part is not readable", failed)
        }
    }

  private def file(group: Group, indexes: Seq[IndexEntry]): SealedFile = {
    def bytes(of: Group, name: String) =
      if (of.getFieldRepetitionCount(name) == 0) None else Some(of.getBinary(name, 0).getBytes)
    SealedFile(
      group.getString("path", 0),
      group.getLong("length", 0),
      group.getLong("modified", 0),
      group.getBinary("footer_sha256", 0).getBytes,
      bytes(group, "aad_file_unique"),
      group.getBinary("file_sha256", 0).getBytes,
      group.getLong("rows", 0),
      partition(group),
      indexes.flatMap { index =>
        if (group.getFieldRepetitionCount(index.field) == 0) None
        else {
          val one = group.getGroup(index.field, 0)
          val bounds = for (min <- bytes(one, "min"); max <- bytes(one, "max")) yield min -> max
          Some(index.field -> SealedRange(bounds, one.getLong("nulls", 0)))
        }
      }.toMap
    )
  }

  private def partition(group: Group): Seq[(String, Option[String])] =
    if (group.getFieldRepetitionCount("partition_values") == 0) Nil
    else {
      val map = group.getGroup("partition_values", 0)
      (0 until map.getFieldRepetitionCount("key_value")).map { at =>
        val entry = map.getGroup("key_value", at)
        val value =
          if (entry.getFieldRepetitionCount("value") == 0) None else Some(entry.getString("value", 0))
        entry.getString("key", 0) -> value
      }
    }

  private final class GroupReader(file: MemoryInput) extends ParquetReader.Builder[Group](file) {
    override protected def getReadSupport: ReadSupport[Group] = new GroupReadSupport
  }
}
