package io.pmeparquet.parquet.scope

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.DecryptionKeyRetriever

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.material.{KeyMaterial, KeyMetadata}
import io.pmeparquet.options.AadPrefix
import io.pmeparquet.parquet.storage.MaterialFiles

/**
 * The keys of one file, from its key metadata. parquet-java asks it whenever it finds some.
 *
 * @param aadPrefix the prefix that opens the file; none if the caller only reads the names of its keys, and unwraps
 *   none
 */
final class FileKeys(
    path: Path,
    conf: Configuration,
    scope: ReadScope,
    aadPrefix: Option[Array[Byte]] = None
) extends DecryptionKeyRetriever {

  private[parquet] lazy val material: Map[String, KeyMaterial] = {
    // Spark's source of a stream moves each file after the batch that reads it.
    val clean = conf.getValByRegex("(?i)^cleanSource$").values.asScala
    if (clean.exists(_.equalsIgnoreCase("archive"))) throw PmeErrors.archivedMaterial(path.toString)
    MaterialFiles.read(path, conf)
  }

  /** parquet-java does not pass the column that it asks for. */
  override def getKey(keyMetadata: Array[Byte]): Array[Byte] = {
    val where = s"$path, footer or column"
    keyOf(KeyMetadata.parse(keyMetadata, where), where).insecureBytes
  }

  /** @param column the name of the key's column; none for the footer */
  private[parquet] def keyOf(keyMetadata: Array[Byte], column: Option[String]): AesKey = {
    val where = whereOf(column)
    val metadata = KeyMetadata.parse(keyMetadata, where)
    metadata match {
      case wrapped: KeyMetadata.Wrapped => requireOwn(materialOf(wrapped, where), column, where)
      case _: KeyMetadata.Direct => ()
    }
    keyOf(metadata, where)
  }

  private def keyOf(metadata: KeyMetadata, where: String): AesKey = metadata match {
    case KeyMetadata.Direct(keyId) =>
      if (!scope.settings.directKeys) throw PmeErrors.directKeyRefused(where, keyId)
      requireAllowed(keyId, where)
      scope.unwrapper(conf).direct(keyId, where)
    case wrapped: KeyMetadata.Wrapped => scope.unwrapper(conf).unwrap(materialOf(wrapped, where), where)
  }

  /** Nothing authenticates what a footer's key material states; this reports a mix-up as such. */
  private def requireOwn(one: KeyMaterial, column: Option[String], where: String): Unit =
    if (one.isFooterKey != column.isEmpty) {
      val owner = if (one.isFooterKey) "the footer's key" else "a column's key"
      throw PmeErrors.keyMetadata(where, s"it holds the key material of $owner")
    }

  /**
   * Unwraps the keys of several columns at once, before readers ask for them one by one.
   *
   * @param keyMetadata the key metadata of each column, by its name
   * @throws io.pmeparquet.PmeException if key metadata is unusable, but not if a key is refused
   */
  private[parquet] def prepare(keyMetadata: Seq[(String, Array[Byte])]): Unit = {
    val materials = keyMetadata.flatMap { case (name, metadata) =>
      val where = whereOf(Some(name))
      KeyMetadata.parse(metadata, where) match {
        case wrapped: KeyMetadata.Wrapped => Some(materialOf(wrapped, where))
        case _: KeyMetadata.Direct => None
      }
    }
    scope.unwrapper(conf).prepare(materials, path.toString)
  }

  /**
   * The id of a key's master key, whether or not the options allow it.
   *
   * @param column the key's column; none for the footer
   */
  private[parquet] def masterKeyOf(keyMetadata: Array[Byte], column: Option[String]): String = {
    val where = whereOf(column)
    KeyMetadata.parse(keyMetadata, where) match {
      case KeyMetadata.Direct(keyId) => keyId
      case wrapped: KeyMetadata.Wrapped => found(wrapped, where).masterKeyId
    }
  }

  /** Whether the key metadata itself has the footer's wrapped key, or names the key. */
  private[parquet] def isInFooter(keyMetadata: Array[Byte]): Boolean =
    KeyMetadata.parse(keyMetadata, whereOf(None)) match {
      case KeyMetadata.External(_) => false
      case KeyMetadata.Internal(_) | KeyMetadata.Direct(_) => true
    }

  /** The material needed to recover the key; none for one that is not wrapped. */
  private[parquet] def materialOf(keyMetadata: Array[Byte], column: Option[String]): Option[KeyMaterial] = {
    val where = whereOf(column)
    KeyMetadata.parse(keyMetadata, where) match {
      case wrapped: KeyMetadata.Wrapped => Some(materialOf(wrapped, where))
      case _: KeyMetadata.Direct => None
    }
  }

  private def materialOf(wrapped: KeyMetadata.Wrapped, where: String): KeyMaterial = {
    val one = found(wrapped, where)
    requireAllowed(one.masterKeyId, where)
    requireApart(one, where)
    one
  }

  /**
   * A key that the master key itself wrapped may be a KEK, and what that KEK wrapped must not open as a module of this
   * file. Nor do our writers make such files: their data keys could pass for KEKs, and their pages for wrapped keys.
   */
  private def requireApart(one: KeyMaterial, where: String): Unit =
    for (prefix <- aadPrefix if one.kek.isEmpty && !AadPrefix.isApart(prefix))
      throw PmeErrors.aadPrefixOfSingleWrapping(where, prefix.length)

  private def found(wrapped: KeyMetadata.Wrapped, where: String): KeyMaterial = wrapped match {
    case KeyMetadata.Internal(own) => own
    case KeyMetadata.External(reference) =>
      material.getOrElse(
        reference,
        throw PmeErrors.keyMetadata(where, s"the key material has no entry '$reference'")
      )
  }

  private def requireAllowed(masterKeyId: String, where: String): Unit =
    scope.settings.allowedMasterKeys.filterNot(_.contains(masterKeyId)).foreach { allowed =>
      throw PmeErrors.keyMetadata(
        where,
        s"it names master key '$masterKeyId', but footerKey and columnKeys name others " +
          s"(${allowed.texts.toSeq.sorted.mkString(", ")})"
      )
    }

  private def whereOf(column: Option[String]): String =
    s"$path, ${column.fold("footer")(name => s"column '$name'")}"

  /** The key that the options name for files that name none. */
  private[parquet] def footerKeyWithoutMetadata: AesKey = {
    val keyId =
      scope.settings.keyOfFilesWithoutMetadata.getOrElse(throw PmeErrors.noKeyMetadata(path.toString))
    scope.unwrapper(conf).direct(keyId, s"$path, footer")
  }
}
