package io.pmeparquet.snapshot

import java.util.{HashMap => JavaMap}

import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.manifest.{ErasedKeys, IndexEntry, Manifest, SealLine, TablePolicy}
import io.pmeparquet.snapshot.manifest.Seals
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * A version of a table whose seal has been verified.
 *
 * @param digest SHA-256 of its manifest, in hexadecimal digits
 */
final case class Version(manifest: Manifest, digest: String)(val seal: SealLine) {
  def number: Long = manifest.version
  def algorithm: String = seal.algorithm

  /** Id of the key of its seal. */
  def key: String = seal.key

  /** Whether only who has the signing key can have made it. */
  def isSigned: Boolean = algorithm != Seals.Hmac
}

/** @param files the files that the version lists, in the order of their paths */
final class TableSnapshot(val version: Version, val files: Vector[SealedFile]) {
  lazy val byPath: Map[String, SealedFile] = files.iterator.map(file => file.path -> file).toMap

  /**
   * What the version states of the key of a file's footer, or of a column, if it was destroyed.
   *
   * @param path in the table
   * @param column its name with dots; none for the footer
   * @return the name of the key, and its erasure
   */
  def erasure(path: String, column: Option[String] = None): Option[(String, ErasedKeys)] = {
    val manifest = version.manifest
    val policy = manifest.policy
    val own = column.flatMap(name => policy.columns.find(_._1.mkString(".") == name)).flatMap(_._2)
    for {
      key <- own.orElse(policy.footerKey) if manifest.erasures.nonEmpty
      name <- policy.nameAt(key, TablePolicy.placeOf(path))
      erased <- manifest.erasures.find(_.keys.contains(name))
    } yield name -> erased
  }

  /**
   * Whether the key of a file's footer was destroyed.
   *
   * @param more keys that the next version will state
   */
  def isErased(path: String, more: Seq[String] = Nil): Boolean = erasure(path).isDefined ||
    version.manifest.policy.footerAt(TablePolicy.placeOf(path)).exists(more.contains)

  /** Whether the key of a file's footer, or of one of its columns, was destroyed. */
  def hasErasedKey(path: String): Boolean = {
    val (policy, gone) = (version.manifest.policy, version.manifest.erasures.flatMap(_.keys).toSet)
    gone.nonEmpty && policy.keys.flatMap(policy.nameAt(_, TablePolicy.placeOf(path))).exists(gone)
  }
}

/**
 * What an index says of the files of a version.
 *
 * @param known by the path of the file; a file without an entry is unknown to the index
 */
final class IndexContent(val index: IndexEntry, known: JavaMap[String, ColumnSummary]) {
  def of(path: String): Option[ColumnSummary] = Option(known.get(path))
}
