package io.pmeparquet.parquet.copy

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.AccessDeniedException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.AccessControlException

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.material.FlatJson
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.bytes.SmallText
import io.pmeparquet.parquet.scope.WriteScope
import io.pmeparquet.parquet.storage.{FileReplacement, Found, OwnFiles, RunDirectory}

/**
 * One run that encrypts the files of a table in place: a hidden directory within the table's, where tasks write, and
 * next to it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether it continues an earlier run that has not ended
 */
final class InPlaceRun private (
    private val hidden: Path,
    private val own: RunDirectory,
    val goesOn: Boolean
) extends Serializable {

  /** Gives the work a directory for one file of one attempt, and removes it afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = own.attempt(conf, stays = false)(work)._2

  /** @throws io.pmeparquet.PmeException if this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit = own.requireRunning(conf)

  /** @throws io.pmeparquet.PmeException if an attempt has claimed a file */
  def requireUnclaimed(file: Path, conf: Configuration): Unit =
    if (OwnFiles.find(claimOf(file), conf) != Found.Nothing) throw PmeErrors.claimedBefore(file.toString)

  /**
   * Makes this the only attempt that replaces a file. If key material comes with the file, those of two attempts must
   * not mix. Call it within [[attempt]].
   *
   * @throws io.pmeparquet.PmeException if another attempt is, or this run is over
   */
  def claim(file: Path, conf: Configuration): Unit = {
    val claim = claimOf(file)
    requireRunning(conf)
    if (!OwnFiles.createExclusively(claim, conf)) throw PmeErrors.claimedBefore(file.toString)
    requireRunning(conf)
  }

  private def claimOf(file: Path) = own.in(s"claim-${Sha256.ofText(file.toString)}")

  /**
   * Ends the run. ''Driver only.''
   *
   * @param complete whether nothing is left to continue; otherwise the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = RunDirectory.tidy(hidden) {
    // If another run has ended this one, everything else belongs to the other.
    if (complete && own.isRunning(conf)) OwnFiles.delete(hidden, conf) else own.delete(conf)
  }
}

object InPlaceRun {

  /** The hidden directory's name in a table's directory. */
  private val Hidden = ".pme-encrypting"
  private val Manifest = "manifest.json"

  /** The mark of a directory whose files are being encrypted. */
  def mark(table: Path): Path = new Path(table, Hidden)
  def isMark(path: Path): Boolean = path.getName == Hidden

  /**
   * Begins a run, or continues one that has not ended, whose tasks are then stopped.
   *
   * @param like a file of the table
   * @throws io.pmeparquet.PmeException if a run with other settings has begun and has not ended
   */
  def begin(table: Path, manifest: InPlaceManifest, like: FileStatus, conf: Configuration): InPlaceRun = {
    val hidden = mark(table)
    val file = new Path(hidden, Manifest)
    val fs = hidden.getFileSystem(conf)
    val run = new InPlaceRun(hidden, RunDirectory.in(hidden, table), goesOn = fs.exists(file))
    var placed = false
    try {
      manifest.place(table, file, like, conf)
      placed = true
      run.own.beginAlone(keep = Set(Manifest), conf)
      // Two runs that begin at once may both have found no manifest, and written theirs.
      manifest.require(table, file, conf)
      run
    } catch {
      case failed: Throwable =>
        val why = failed match {
          case lost: IOException if !isDenied(lost) && isTaken(run, file, placed, conf) =>
            PmeErrors.runIsOver(table.toString, lost)
          case other => other
        }
        run.end(complete = false, conf)
        throw why
    }
  }

  /** Who may not write finds nothing of its own, as one does whose files another run has removed. */
  private def isDenied(failed: IOException) = failed match {
    case _: AccessControlException | _: AccessDeniedException => true
    case _ => false
  }

  /**
   * Another run that has begun removes what this one is writing, and everything when it ends.
   *
   * @param placed whether this run has placed the manifest, or found an equal one
   */
  private def isTaken(run: InPlaceRun, manifest: Path, placed: Boolean, conf: Configuration) =
    try {
      val fs = run.hidden.getFileSystem(conf)
      if (placed) !run.own.isRunning(conf) || !fs.exists(manifest)
      else fs.listStatus(run.hidden).exists(_.isDirectory)
    } catch {
      case _: FileNotFoundException => true
      // The caller then reports the first failure.
      case _: IOException => false
    }
}

/** How a run encrypts the files of a table in place, by the names of options. It contains no secrets. */
final class InPlaceManifest private (val settings: Map[String, String]) {

  /**
   * Writes the manifest, or compares it with an existing one.
   *
   * @param like the file whose permissions it gets
   * @throws io.pmeparquet.PmeException if the existing one differs, or if the file system cannot do what this needs
   */
  def place(table: Path, file: Path, like: FileStatus, conf: Configuration): Unit = {
    val fs = file.getFileSystem(conf)
    // Its directory does not exist yet, and this must not make it if it is going to refuse.
    val inStore = FileReplacement.of(file.getParent, conf).inStore
    if (settings("keyMaterial") == "external" && inStore)
      throw PmeErrors.unsupported(
        table.toString,
        "encrypting this table in place with keyMaterial=external",
        "an object store cannot guarantee that a file and its key material come from the same attempt",
        "Remove keyMaterial, or encrypt to a copy."
      )
    if (fs.exists(file)) require(table, file, conf)
    else {
      OwnFiles.ensureDirectory(file.getParent, conf)
      FileReplacement.of(file, conf).write(like, () => ())(_.write(InPlaceManifest.json(settings)))
    }
  }

  /** @throws io.pmeparquet.PmeException if there is a different one */
  def require(table: Path, file: Path, conf: Configuration): Unit = {
    OwnFiles.requireDirectory(file.getParent, conf)
    OwnFiles.requireFile(file, conf)
    val before = InPlaceManifest.read(file, conf)
    val differing =
      (before.keySet ++ settings.keySet).toSeq.sorted.filter(n => before.get(n) != settings.get(n))
    if (differing.nonEmpty)
      throw PmeErrors.encryptionUnderWay(
        table.toString,
        file.toString,
        differing.map(n => (n, before.getOrElse(n, "nothing"), settings.getOrElse(n, "nothing")))
      )
  }
}

object InPlaceManifest {

  /**
   * ''Driver only.''
   *
   * @param path the table or the part of it to encrypt: a run over a part has not encrypted the whole
   */
  def of(write: WriteScope, path: Path): InPlaceManifest = {
    val (instance, url) = write.instance
    new InPlaceManifest(
      described(write.settings) ++
        Map("path" -> path.toString, "kms.instance.id" -> instance, "kms.instance.url" -> url)
    )
  }

  /** How files are encrypted, by the names of options. */
  private[pmeparquet] def described(settings: FileSettings): Map[String, String] = {
    val columns = settings.columnKeys.map(_.entries.map(one => s"${one.masterKeyId}: ${one.pattern.text}"))
    Map(
      "footerKey" -> settings.footerKey,
      "columnKeys" -> columns.fold("none")(_.mkString("; ")),
      "unlistedColumns" -> settings.unlisted.optionValue,
      "algorithm" -> settings.algorithm.name,
      "plaintextFooter" -> settings.plaintextFooter.toString,
      "dataKeyBits" -> settings.dataKeyBits.fold("default")(_.toString),
      "kekBits" -> settings.kekBits.toString,
      "doubleWrapping" -> settings.doubleWrapping.toString,
      "keyMaterial" -> (if (settings.externalMaterial) "external" else "internal"),
      "keyManagement" -> (if (settings.directKeys) "direct" else "envelope"),
      "aadPrefix" -> settings.aadPrefix.fold("none")(_.template),
      "storeAadPrefix" -> settings.storeAadPrefix.toString,
      "spark.sql.caseSensitive" -> settings.caseSensitive.toString
    )
  }

  private def json(settings: Map[String, String]) =
    FlatJson
      .write(settings.toSeq.sorted.map { case (name, value) => name -> FlatJson.Text(value) })
      .getBytes(UTF_8)

  private def read(file: Path, conf: Configuration): Map[String, String] = {
    val text =
      SmallText.read(file, conf, length => PmeErrors.badManifest(file.toString, s"it is $length bytes long"))
    try
      FlatJson.parse(text).map {
        case (name, FlatJson.Text(value)) => name -> value
        case (name, FlatJson.Flag(value)) => name -> value.toString
      }
    catch { case bad: FlatJson.Malformed => throw PmeErrors.badManifest(file.toString, bad.getMessage) }
  }
}
