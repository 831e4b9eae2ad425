package io.pmeparquet.parquet.copy

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.material.FlatJson
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.bytes.SmallText
import io.pmeparquet.parquet.scope.WriteScope
import io.pmeparquet.parquet.storage.{FileReplacement, OwnFiles}
import io.pmeparquet.PmeErrors

/**
 * How a run encrypts the files of a table in place, by the names of options. It contains no secrets. A run continues
 * only one whose manifest is equal in every field, so a version of pme-parquet that writes another format, or knows
 * another option, continues none of this one's, nor this one any of its.
 */
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
  private val FormatVersion = "1"

  /**
   * ''Driver only.''
   *
   * @param path the table or the part of it to encrypt: a run over a part has not encrypted the whole
   */
  def of(write: WriteScope, path: Path): InPlaceManifest = {
    val (instance, url) = write.instance
    new InPlaceManifest(
      described(write.settings) ++
        Map(
          "formatVersion" -> FormatVersion,
          "path" -> path.toString,
          "kms.instance.id" -> instance,
          "kms.instance.url" -> url
        )
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
