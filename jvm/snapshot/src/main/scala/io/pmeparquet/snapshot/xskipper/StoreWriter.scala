package io.pmeparquet.snapshot.xskipper

import java.io.IOException
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile

import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.WriteSettings
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.parquet.storage.{FileReplacement, OwnFiles}
import io.pmeparquet.parquet.write.FileEncryption
import io.pmeparquet.PmeErrors

/**
 * START HERE to write. Writes a store of version 4. A store is one file, which takes the place of the one before in one
 * step: a reader never sees half of each. ''Driver only.''
 *
 * @param use the KMS of the keys
 */
private[pmeparquet] final class StoreWriter(shape: StoreShape, use: => KmsUse, conf: Configuration) {

  /**
   * @param directory is created if it is missing
   * @throws io.pmeparquet.PmeException if the directory has files that this did not write, or the KMS refuses a key
   */
  def write(directory: Path, rows: Iterator[StoreShape.Row]): Unit = {
    val fs = directory.getFileSystem(conf)
    fs.mkdirs(directory)
    fs.listStatus(directory).map(_.getPath.getName).find(StoreWriter.isOther).foreach { other =>
      throw PmeErrors.xskipperTarget(directory.toString, s"it has a file of somebody else: $other")
    }
    val staged = new Path(directory, s"${StoreWriter.Staged}${UUID.randomUUID}.parquet")
    try {
      writeTo(staged, rows)
      // Hadoop's local file system has written a checksum file, which would stay.
      FileReplacement.unchecked(fs).delete(new Path(directory, s".${staged.getName}.crc"), false)
      val file = new Path(directory, StoreWriter.Name)
      val replacement = FileReplacement.of(file, conf)
      replacement.take(staged, fs.getFileStatus(staged), () => ())
      if (replacement.inStore) OwnFiles.delete(staged, conf)
    } catch {
      case failed: Throwable =>
        try OwnFiles.delete(staged, conf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  private def writeTo(path: Path, rows: Iterator[StoreShape.Row]): Unit = {
    val schema = shape.schema
    val groups = new SimpleGroupFactory(schema)
    val encryption = shape.keys.map { keys =>
      val scope = Scopes.forWrite(WriteSettings(use, keys.settings), path.getParent.toUri.getPath, conf)
      FileEncryption.of(scope, path, schema, conf)
    }
    val writer = ExampleParquetWriter
      .builder(HadoopOutputFile.fromPath(path, conf))
      // Not Hadoop's configuration, which may name a crypto factory of its own, or another mode of footers.
      .withConf(new Configuration(false))
      .withType(schema)
      .withExtraMetaData(java.util.Collections.singletonMap(StoreSchema.Key, shape.metadata))
      .withCompressionCodec(CompressionCodecName.SNAPPY)
      .withEncryption(encryption.orNull)
      .build()
    try rows.foreach(row => writer.write(shape.group(row, groups.newGroup())))
    finally writer.close()
  }
}

private[pmeparquet] object StoreWriter {
  val Name = "part-00000-pme-parquet.snappy.parquet"
  private val Staged = ".pme-xskipper-"

  /** A killed export leaves its staged file, which readers pass over. */
  private def isOther(name: String) = name != Name && !name.startsWith(".") && !name.startsWith("_")
}
