package io.pmeparquet.snapshot.parts

import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.example.data.Group
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

/** The list of files of a part, as the bytes of a Parquet file (docs/snapshots.md, "Format"). */
private[snapshot] object PartFile {

  val schema: MessageType = MessageTypeParser.parseMessageType(
    """message pme_snapshot_part {
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
       |}""".stripMargin
  )

  /** @param encryption none for a table without encryption */
  def write(files: Seq[SealedFile], encryption: Option[FileEncryptionProperties]): Array[Byte] =
    ListFile.write(schema, files, encryption)(row)

  private def row(file: SealedFile, group: Group): Unit = {
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
  }

  /**
   * @param bytes whose digest is the one in a verified manifest
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`, or why a key is missing
   */
  def read(
      bytes: Array[Byte],
      decryption: Option[FileDecryptionProperties],
      where: String
  ): Vector[SealedFile] = ListFile.read(bytes, schema, decryption, where)(file)

  private def file(group: Group): SealedFile = SealedFile(
    group.getString("path", 0),
    group.getLong("length", 0),
    group.getLong("modified", 0),
    group.getBinary("footer_sha256", 0).getBytes,
    ListFile.bytes(group, "aad_file_unique"),
    group.getBinary("file_sha256", 0).getBytes,
    group.getLong("rows", 0),
    partition(group)
  )

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
}
