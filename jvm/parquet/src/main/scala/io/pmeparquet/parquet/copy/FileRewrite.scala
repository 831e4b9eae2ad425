package io.pmeparquet.parquet.copy

import java.io.IOException
import java.util.zip.CRC32

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.parquet.format.FileMetaData

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.columns.{KeyValues, LeafColumn, UnlistedColumns}
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.storage.OwnFiles
import io.pmeparquet.parquet.verify.{FileVerification, Sample}
import io.pmeparquet.parquet.write.{FileEncryption, FileSealer}

/**
 * Rewrites a file under other data keys, or under none. It decrypts and encrypts the pages, but never decompresses or
 * decodes them; schema, metadata, statistics, indexes, Bloom filters and the order of everything stay the same. START
 * HERE: [[FileRewrite.write]].
 *
 * @param from how to read the file
 * @param to how to encrypt the new file; none for plaintext
 * @param check how readers will read the new file
 * @param goOn called often; throws if the work is no longer wanted
 */
final class FileRewrite(
    from: ReadScope,
    fromConf: Configuration,
    to: Option[WriteScope],
    check: ReadScope,
    toConf: Configuration,
    goOn: () => Unit
) {

  /**
   * @param staged where to write the new file: a free name in an existing directory
   * @param destination where it will be moved to
   * @param written called before the new file is closed
   * @throws io.pmeparquet.PmeException if something is wrong with the file or the keys, or with the new file as stored
   */
  def write(
      source: Path,
      staged: Path,
      destination: Path,
      written: FSDataOutputStream => Unit = _ => ()
  ): Copied = {
    val (file, carried) = FileRewrite.source(from, fromConf, source)
    to.foreach(scope => FileRewrite.requireHarmlessEntries(file.footer, scope.settings, source.toString))
    val encryption = to.map(new FileEncryption(_, staged, destination.getParent.toUri.getPath, toConf))
    val encryptor =
      for (scope <- to; one <- encryption) yield FileRewrite.sealerOf(one, scope, toConf, file, destination)
    val out = OwnFiles.create(staged, toConf)
    val (pages, checksum) =
      try {
        val bytes = file.bytes(fromConf, from.counters)
        try {
          val made = new ModuleFile(out, encryptor, source.toString)
          val pages = new FileCopy(file, carried, bytes, made, from, goOn).write()
          written(out)
          pages -> made.checksum
        } finally bytes.close()
      } finally out.close()
    val version = FileVersion.of(staged, toConf).readFrom(destination)
    new CopyCheck(check, toConf, goOn).require(file, from, version, encryption.map(_.settings), checksum)
    Copied(1, CopyCheck.rows(file), pages, version.length)
  }
}

object FileRewrite {

  /**
   * Fails, before anything is written, if a file of a copy would have an ambiguous AAD prefix.
   *
   * @param files where the files will be
   */
  def requirePrefixes(settings: FileSettings, files: Seq[Path]): Unit =
    files.foreach(file => settings.prefixToWrite(file.getParent.toUri.getPath, file.getName, file.toString))

  private def sealerOf(
      encryption: FileEncryption,
      scope: WriteScope,
      conf: Configuration,
      file: OpenFile,
      destination: Path
  ) = {
    val settings = encryption.settings
    val columnKeys = settings.columnKeys.map(_.of(SchemaColumns.leaves(file.schema), settings.caseSensitive))
    FileSealer.of(encryption.properties(file.schema, columnKeys), scope, conf, destination.toString)
  }

  /** The leaf columns of a file. */
  def leaves(from: ReadScope, conf: Configuration, source: Path): Seq[LeafColumn] =
    SchemaColumns.leaves(FileRewrite.source(from, conf, source)._1.schema)

  /** Pages are copied as they are, and rows that somebody forged would get a key that they are not bound to. */
  private def source(from: ReadScope, conf: Configuration, path: Path): (OpenFile, CarriedFields) = {
    val opened = open(from, conf, path)
    opened._1.requireUnstated(from.settings, "a copy")
    opened
  }

  private[copy] def open(from: ReadScope, conf: Configuration, source: Path): (OpenFile, CarriedFields) =
    open(from, conf, FileVersion.of(source, conf))

  private[copy] def open(
      from: ReadScope,
      conf: Configuration,
      version: FileVersion
  ): (OpenFile, CarriedFields) = {
    val carried = CarriedFields.of(from, version, conf)
    val file = OpenFiles(from, version, conf, from.counters)
    carried.requireOf(file)
    file -> carried
  }

  /**
   * @param metadata the file's metadata, which is about to be written in the clear
   * @throws io.pmeparquet.PmeException if an entry may reveal values: some writers store bounds, filters or samples
   *   there
   */
  private def requireHarmlessEntries(metadata: FileMetaData, settings: FileSettings, file: String): Unit =
    if (settings.plaintextFooter)
      Option(metadata.getKey_value_metadata).fold(Seq.empty[String])(_.asScala.toSeq.map(_.getKey)).foreach {
        key =>
          if (!isHarmless(key)) throw PmeErrors.readableEntry(file, key)
      }

  private def isHarmless(key: String) =
    SchemaEntries.contains(key) || key == KeyValues.Entry || key.startsWith("org.apache.spark.")

  /** Beside what copies drop, schemas and names of writers, which the readable schema and `created_by` reveal anyway. */
  private val SchemaEntries = Set(
    "ARROW:schema",
    "pandas",
    "avro.schema",
    "parquet.avro.schema",
    "parquet.proto.class",
    "parquet.proto.descriptor",
    "parquet.proto.writeSpecsCompliant",
    "thrift.class",
    "thrift.descriptor",
    "iceberg.schema",
    "writer.model.name",
    "writer.date.proleptic",
    "writer.time.zone",
    "writer.zone.conversion.legacy"
  )
}

/** Counts what was written for one file, or for several. */
final case class Copied(files: Long, rows: Long, pages: Long, bytes: Long) {
  def +(other: Copied): Copied =
    Copied(files + other.files, rows + other.rows, pages + other.pages, bytes + other.bytes)
}

/**
 * Checks that a new file is readable and has the bytes that were written. It opens every module, with keys from the
 * file's key metadata and under its readers' policy. If tags do not cover all bytes, it compares the checksum of the
 * file with that of the bytes written.
 *
 * @param scope how readers will read the file
 * @param goOn called often; throws if the work is no longer wanted
 */
private[parquet] final class CopyCheck(scope: ReadScope, conf: Configuration, goOn: () => Unit) {

  /**
   * @param source the file that it was made from, and how that was read
   * @param settings how it was encrypted; none if it was not
   * @param checksum the checksum of the bytes written
   * @throws io.pmeparquet.PmeException if anything is wrong with it
   */
  def require(
      source: OpenFile,
      from: ReadScope,
      made: FileVersion,
      settings: Option[FileSettings],
      checksum: Long
  ): Unit = {
    val name = source.version.path.toString
    CopyCheck.requireNoFinding(scope, made, conf, goOn)(PmeErrors.badCopy(name, _, _))
    requireBytes(name, made, settings, checksum)
    if (shape(source, from) != shape(OpenFiles(scope, made, conf, scope.counters), scope))
      throw new IllegalStateException(s"internal error: ${made.path} has not the rows of $name")
  }

  /** Compares the checksum of what was written with that of the file, unless tags cover all of it. */
  def requireBytes(name: String, made: FileVersion, settings: Option[FileSettings], checksum: Long): Unit =
    if (!settings.exists(CopyCheck.isTagged) && checksumOf(made) != checksum)
      throw PmeErrors.badCopy(
        name,
        Condition.DamagedFile,
        s"the content of ${made.path} is not what was written."
      )

  private def checksumOf(made: FileVersion): Long = {
    val sum = new CRC32
    val buffer = new Array[Byte](CopyCheck.BufferBytes)
    val in = made.open(conf)
    try
      Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach { count =>
        goOn()
        sum.update(buffer, 0, count)
      }
    finally in.close()
    sum.getValue
  }

  private def shape(file: OpenFile, scope: ReadScope) = (0 until file.rowGroupCount).map { index =>
    file.rowCount(index) -> file.chunks(index, scope.counters).map { chunk =>
      (chunk.meta.getPath, chunk.meta.getCodec, chunk.meta.getValueCount)
    }
  }
}

private[parquet] object CopyCheck {
  private val BufferBytes = 1024 * 1024

  /** Opens every module of a file, and fails on the first finding of any kind. */
  def requireNoFinding(scope: ReadScope, file: FileVersion, conf: Configuration, goOn: () => Unit)(
      failure: (Condition, String) => PmeException
  ): Unit = new FileVerification(scope, Sample()).of(file, conf, goOn).findings.headOption.foreach { found =>
    throw Condition.all
      .find(_.name == found.condition)
      .fold[Exception](new IOException(s"${found.file}: ${found.message}"))(failure(_, found.message))
  }

  def rows(file: OpenFile): Long = (0 until file.rowGroupCount).map(file.rowCount).sum

  /** Whether tags cover every page. */
  private def isTagged(settings: FileSettings) =
    settings.algorithm == EncryptionAlgorithm.AesGcmV1 && settings.unlisted != UnlistedColumns.Plaintext
}
