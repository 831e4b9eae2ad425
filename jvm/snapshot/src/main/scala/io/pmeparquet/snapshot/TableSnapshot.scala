package io.pmeparquet.snapshot

import java.util.{HashMap => JavaMap}

import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.manifest.{IndexEntry, Manifest, SealLine}
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
}

/**
 * What an index says of the files of a version.
 *
 * @param known by the path of the file; a file without an entry is unknown to the index
 */
final class IndexContent(val index: IndexEntry, known: JavaMap[String, ColumnSummary]) {
  def of(path: String): Option[ColumnSummary] = Option(known.get(path))
}
