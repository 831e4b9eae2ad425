package io.pmeparquet.parquet.copy

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.parquet.crypto.InternalFileEncryptor

import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.files.OwnFiles
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.write.FileEncryption

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
    val (file, carried) = FileRewrite.open(from, fromConf, source)
    to.foreach(scope => CopiedParts.requireHarmlessEntries(file.footer, scope.settings, source.toString))
    val encryptor = to.map(encryptorOf(_, file, staged, destination))
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
    new CopyCheck(check, toConf, goOn).require(file, from, version, to.map(_.settings), checksum)
    Copied(1, CopyCheck.rows(file), pages, version.length)
  }

  private def encryptorOf(scope: WriteScope, file: OpenFile, staged: Path, destination: Path) = {
    val settings = scope.settings
    val columnKeys =
      settings.columnKeys.map(_.of(SchemaColumns.leaves(file.schema), settings.caseSensitive))
    val encryption = new FileEncryption(scope, staged, destination.getParent.toUri.getPath, toConf)
    new InternalFileEncryptor(encryption.properties(file.schema, columnKeys))
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

  /** The leaf columns of a file. */
  def leaves(from: ReadScope, conf: Configuration, source: Path): Seq[LeafColumn] =
    SchemaColumns.leaves(open(from, conf, source)._1.schema)

  private def open(from: ReadScope, conf: Configuration, source: Path) = {
    val version = FileVersion.of(source, conf)
    val carried = CopiedParts.requireKnown(from, version, conf)
    val file = OpenFiles(from, version, conf, from.counters)
    carried.requireOf(file)
    file -> carried
  }
}
