package io.pmeparquet.snapshot.parts

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException}

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.io.{
  ColumnIOFactory,
  DelegatingSeekableInputStream,
  InputFile,
  OutputFile,
  PositionOutputStream,
  SeekableInputStream
}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageType, MessageTypeParser}
import org.apache.parquet.HadoopReadOptions

import io.pmeparquet.{BlockDigests, PmeErrors, PmeException}
import io.pmeparquet.snapshot.manifest.DataFormat

/** The list of files of a part, as the bytes of a Parquet file (docs/snapshot-format.md). */
private[snapshot] object PartFile {

  def schema(format: DataFormat): MessageType = if (format.needsBlocks) withBlocks else plain

  private lazy val plain = schema("")
  private lazy val withBlocks = schema("required binary block_sha256;")

  private def schema(last: String): MessageType = MessageTypeParser.parseMessageType(
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
       |  $last
       |}""".stripMargin
  )

  /** @param encryption none for a table without encryption */
  def write(
      files: Seq[SealedFile],
      format: DataFormat,
      encryption: Option[FileEncryptionProperties]
  ): Array[Byte] = ListFile.write(schema(format), files, encryption)(row)

  private def row(file: SealedFile, group: Group): Unit = {
    group.add("path", file.path)
    group.add("length", file.length)
    group.add("modified", file.modified)
    group.add("footer_sha256", Binary.fromConstantByteArray(file.footerSha256))
    file.aadFileUnique.foreach(unique => group.add("aad_file_unique", Binary.fromConstantByteArray(unique)))
    group.add("file_sha256", Binary.fromConstantByteArray(file.sha256))
    group.add("rows", file.rows)
    file.blocks.foreach(one => group.add("block_sha256", Binary.fromConstantByteArray(one.digests)))
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
      format: DataFormat,
      decryption: Option[FileDecryptionProperties],
      where: String
  ): Vector[SealedFile] = ListFile.read(bytes, schema(format), decryption, where)(file(format, _, where))

  private def file(format: DataFormat, group: Group, where: String): SealedFile = SealedFile(
    group.getString("path", 0),
    group.getLong("length", 0),
    group.getLong("modified", 0),
    group.getBinary("footer_sha256", 0).getBytes,
    ListFile.bytes(group, "aad_file_unique"),
    group.getBinary("file_sha256", 0).getBytes,
    group.getLong("rows", 0),
    partition(group),
    if (format.needsBlocks) Some(blocks(group, where)) else None
  )

  private def blocks(group: Group, where: String): BlockDigests = {
    val (length, digests) = (group.getLong("length", 0), group.getBinary("block_sha256", 0).getBytes)
    if (!BlockDigests.fit(length, digests))
      throw PmeErrors.snapshotDamaged(where, "it does not have a digest for each block of a file")
    BlockDigests(length, digests)
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
}

/**
 * A data file of a table, as a snapshot lists it: a row of a part.
 *
 * @param path relative to the table's directory
 * @param length in bytes
 * @param modified when it was last modified, in milliseconds since 1970: whoever seals next opens only other files
 * @param footerSha256 of its footer, with length and magic; of the whole file, if the footer of its format authenticates
 *   nothing
 * @param aadFileUnique none for a file without encryption
 * @param sha256 of the whole file
 * @param partition values of partition columns, from the names of directories; none for null
 * @param blocks of a file whose format authenticates nothing
 */
final case class SealedFile(
    path: String,
    length: Long,
    modified: Long,
    footerSha256: Array[Byte],
    aadFileUnique: Option[Array[Byte]],
    sha256: Array[Byte],
    rows: Long,
    partition: Seq[(String, Option[String])],
    blocks: Option[BlockDigests] = None
)

/** Parquet files in memory, of any schema: the lists of parts and the files of indexes. */
private[parts] object ListFile {

  /**
   * @param encryption none for a table without encryption
   * @param fill fills a row
   */
  def write[A](schema: MessageType, rows: Seq[A], encryption: Option[FileEncryptionProperties])(
      fill: (A, Group) => Unit
  ): Array[Byte] = {
    val output = new MemoryOutput
    val groups = new SimpleGroupFactory(schema)
    val writer = ExampleParquetWriter
      .builder(output)
      // Not Hadoop's configuration, which may name a crypto factory of its own.
      .withConf(new Configuration(false))
      .withType(schema)
      .withCompressionCodec(CompressionCodecName.ZSTD)
      .withEncryption(encryption.orNull)
      .build()
    try
      rows.foreach { row =>
        val group = groups.newGroup()
        fill(row, group)
        writer.write(group)
      }
    finally writer.close()
    output.toArray
  }

  /**
   * @param row what a row says
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`, or why a key is missing
   */
  def read[A](
      bytes: Array[Byte],
      schema: MessageType,
      decryption: Option[FileDecryptionProperties],
      where: String
  )(row: Group => A): Vector[A] =
    try {
      val options = HadoopReadOptions
        // Not Hadoop's configuration, which may name a crypto factory of its own, and is slow to load.
        .builder(new Configuration(false))
        .withDecryption(decryption.orNull)
        .build()
      val reader = ParquetFileReader.open(new MemoryInput(bytes), options)
      try {
        val ofFile = reader.getFileMetaData.getSchema
        ofFile.checkContains(schema)
        reader.setRequestedSchema(schema)
        val columns = new ColumnIOFactory(reader.getFileMetaData.getCreatedBy).getColumnIO(schema, ofFile)
        Iterator
          .continually(reader.readNextRowGroup())
          .takeWhile(_ != null)
          .flatMap { pages =>
            val records = columns.getRecordReader(pages, new GroupRecordConverter(schema))
            Iterator.range(0, Math.toIntExact(pages.getRowCount)).map(_ => row(records.read()))
          }
          .toVector
      } finally reader.close()
    } catch {
      case failed @ (_: IOException | _: RuntimeException) =>
        throw PmeException.find(failed).getOrElse {
          PmeErrors.snapshotDamaged(where, "the file is not readable", failed)
        }
    }

  def bytes(group: Group, name: String): Option[Array[Byte]] =
    if (group.getFieldRepetitionCount(name) == 0) None else Some(group.getBinary(name, 0).getBytes)
}

/** A Parquet file that is written in memory, so that its digest is known before it has a place. */
private[parts] final class MemoryOutput extends OutputFile {
  private val bytes = new ByteArrayOutputStream

  def toArray: Array[Byte] = bytes.toByteArray

  override def create(blockSizeHint: Long): PositionOutputStream = new PositionOutputStream {
    override def getPos: Long = bytes.size.toLong
    override def write(value: Int): Unit = bytes.write(value)
    override def write(some: Array[Byte], from: Int, length: Int): Unit = bytes.write(some, from, length)
  }
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream = create(blockSizeHint)
  override def supportsBlockSize(): Boolean = false
  override def defaultBlockSize(): Long = 0
}

/** A Parquet file that has been read whole, so that what was checked is what is parsed. */
private[parts] final class MemoryInput(bytes: Array[Byte]) extends InputFile {
  override def getLength: Long = bytes.length.toLong

  override def newStream(): SeekableInputStream = {
    val in = new MemoryInput.Stream(bytes)
    new DelegatingSeekableInputStream(in) {
      override def getPos: Long = in.position.toLong
      override def seek(position: Long): Unit = in.moveTo(position.toInt)
    }
  }

}

private object MemoryInput {
  private final class Stream(bytes: Array[Byte]) extends ByteArrayInputStream(bytes) {
    def position: Int = pos
    def moveTo(position: Int): Unit = pos = position
  }
}
