package io.pmeparquet.parquet.copy

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.columns.{ColumnProtection, KeyPlan}
import io.pmeparquet.columns.ColumnProtection._
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile, MaterialFiles, StagedTable}
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.PmeErrors

/**
 * What was done with a file.
 *
 * @param made what was written
 * @param already 1 if it was encrypted already
 * @param footer of the encrypted file
 */
final case class EncryptedFile(made: Copied, already: Long, footer: WrittenFooter)

/**
 * Encrypts a file in place. Anyone who reads it gets either the whole plaintext file or the whole encrypted one; the
 * plaintext stays until every module of the encrypted file has been opened. ''Crosses the wire'', with the scopes.
 *
 * @param read how to read plaintext files
 * @param check how to read encrypted files
 */
final class FileInPlace(read: ReadScope, write: WriteScope, check: ReadScope, run: InPlaceRun)
    extends Serializable {

  /**
   * Encrypts a file, unless an earlier run or another attempt of this task has already encrypted it correctly.
   *
   * @param goOn called often; throws if the work is no longer wanted
   * @throws io.pmeparquet.PmeException if something is wrong with the file, the keys, or what was written; the file
   *   then is as it was
   */
  def encrypt(file: ListedFile, conf: Configuration, goOn: () => Unit): EncryptedFile = {
    val path = new Path(file.path)
    val status = path.getFileSystem(conf).getFileStatus(path)
    val version = FileVersion.of(path, status)
    FileTail.read(conf, version) match {
      case tail: FileTail.Encrypted =>
        requireAsAsked(version, tail, conf, goOn)
        EncryptedFile(Copied(0, 0, 0, 0), 1, WrittenFooter.read(path, conf))
      case FileTail.Plaintext =>
        if (!version.isListed(file.version))
          throw PmeErrors.changedMeanwhile(file.path)
        val (made, footer) = run.attempt(conf)(replace(version, status, _, conf, goOn))
        EncryptedFile(made, 0, footer)
    }
  }

  private def requireAsAsked(
      version: FileVersion,
      tail: FileTail.Encrypted,
      conf: Configuration,
      goOn: () => Unit
  ): Unit = {
    val file = OpenFiles(check, version, conf, check.counters)
    EncryptedAs.difference(write.settings.at(version.inTable, version.path.toString), file, tail).foreach {
      what =>
        throw PmeErrors.encryptedOtherwise(version.path.toString, what)
    }
    CopyCheck.requireNoFinding(check, version, conf, goOn) { (condition, why) =>
      PmeErrors.badEncrypted(condition, why)
    }
  }

  private def replace(
      version: FileVersion,
      status: FileStatus,
      directory: Path,
      conf: Configuration,
      goOn: () => Unit
  ): (Copied, WrittenFooter) = {
    val path = version.path
    val place = FileReplacement.of(path, conf)
    if (write.settings.externalMaterial) run.requireUnclaimed(path, conf)
    val staged = StagedTable.within(directory, path.getName)
    val made =
      new FileRewrite(read, conf, Some(write), check, conf, goOn).write(path, staged, path, place.sync)
    val footer = WrittenFooter.read(staged, conf)
    def unchanged(): Unit = if (FileVersion.of(path, conf) != version)
      throw PmeErrors.changedMeanwhile(path.toString)
    unchanged()
    val keys = if (write.settings.externalMaterial) Some(MaterialFiles.read(staged, conf)) else None
    if (keys.isDefined) {
      run.claim(path, conf)
      // The key material is there before the file, so that the file is readable at every moment.
      FileReplacement
        .of(MaterialFiles.pathFor(path), conf)
        .take(MaterialFiles.pathFor(staged), status, () => ())
    }
    run.requireRunning(conf)
    place.take(
      staged,
      status,
      () => {
        // In an object store the copy before this may have taken long.
        run.requireRunning(conf)
        if (keys.exists(_ != MaterialFiles.read(path, conf))) throw PmeErrors.changedMeanwhile(path.toString)
        unchanged()
      }
    )
    (made, footer)
  }
}

/** Checks that an encrypted file matches the settings of a write: which master key protects what, and in which mode. */
private object EncryptedAs {

  /** The first difference, if there is one. */
  def difference(settings: FileSettings, file: OpenFile, tail: FileTail.Encrypted): Option[String] = {
    // A key that only the read's options name is not the file's.
    val ofFooter = tail.footerKeyMetadata.flatMap(_ => file.footerMasterKey)
    val wanted = protections(settings, file)
    def differing = for {
      (path, found) <- file.protections
      (leaf, expected) <- wanted.get(path) if found != expected
    } yield s"column '${leaf.display}' has ${described(found)} instead of ${described(expected)}"
    val stored = settings.aadPrefix.isDefined && settings.storeAadPrefix
    val supplied = settings.aadPrefix.isDefined && !settings.storeAadPrefix
    Seq(
      "it has another footer key" -> !ofFooter.contains(settings.footerKey),
      "plaintextFooter is different" -> (tail.plaintextFooter != settings.plaintextFooter),
      "algorithm is different" -> (tail.ctr != (settings.algorithm == EncryptionAlgorithm.AesGcmCtrV1)),
      "aadPrefix or storeAadPrefix is different" ->
        (tail.aadPrefix.isDefined != stored || tail.supplyAadPrefix != supplied)
    ).collectFirst { case (what, true) => what }.orElse(differing.headOption)
  }

  /** The protection of each column, by its path. */
  private def protections(settings: FileSettings, file: OpenFile) = {
    val leaves = SchemaColumns.leaves(file.schema)
    val keys = settings.columnKeys.map(_.of(leaves, settings.caseSensitive))
    val plan = KeyPlan.of(leaves, keys, settings.unlisted, settings.caseSensitive).columns
    // As FileEncryption decides it.
    val all = plan.forall(_._2 == Plaintext)
    plan.map { case (leaf, protection) => leaf.path -> (leaf -> (if (all) FooterKey else protection)) }.toMap
  }

  private def described(protection: ColumnProtection): String = protection match {
    case Plaintext => "no key"
    case FooterKey => "the footer's key"
    case ColumnKey(id) => s"key '$id'"
  }
}
