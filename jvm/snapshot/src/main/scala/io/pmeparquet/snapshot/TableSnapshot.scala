package io.pmeparquet.snapshot

import io.pmeparquet.snapshot.manifest.Manifest
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * A version of a table whose seal has been verified.
 *
 * @param digest SHA-256 of its manifest, in hexadecimal digits
 * @param algorithm of its seal
 * @param key id of the key of its seal
 */
final case class Version(manifest: Manifest, digest: String, algorithm: String, key: String) {
  def number: Long = manifest.version
}

/** @param files the files that the version lists, in the order of their paths */
final class TableSnapshot(val version: Version, val files: Vector[SealedFile]) {
  lazy val byPath: Map[String, SealedFile] = files.iterator.map(file => file.path -> file).toMap
}
