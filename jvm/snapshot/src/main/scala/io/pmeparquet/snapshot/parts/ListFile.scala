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
import org.apache.parquet.schema.MessageType

import io.pmeparquet.{PmeErrors, PmeException}

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
      val builder: ParquetReader.Builder[Group] = new GroupReader(new MemoryInput(bytes))
      builder.withDecryption(decryption.orNull).set(ReadSupport.PARQUET_READ_SCHEMA, schema.toString)
      val reader = builder.build()
      val rows = mutable.ArrayBuffer.empty[A]
      try Iterator.continually(reader.read()).takeWhile(_ != null).foreach(rows += row(_))
      finally reader.close()
      rows.toVector
    } catch {
      case failed @ (_: IOException | _: RuntimeException) =>
        throw PmeException.find(failed).getOrElse {
          PmeErrors.snapshotDamaged(where, "the file is not readable", failed)
        }
    }

  def bytes(group: Group, name: String): Option[Array[Byte]] =
    if (group.getFieldRepetitionCount(name) == 0) None else Some(group.getBinary(name, 0).getBytes)

  private final class GroupReader(file: MemoryInput) extends ParquetReader.Builder[Group](file) {
    override protected def getReadSupport: ReadSupport[Group] = new GroupReadSupport
  }
}
