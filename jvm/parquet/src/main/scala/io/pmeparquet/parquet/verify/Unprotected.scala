package io.pmeparquet.parquet.verify

import io.pmeparquet.parquet.file.OpenFile
import io.pmeparquet.parquet.inspect.FoundProtection

/**
 * The parts of a file without modules, which therefore cannot fail to open. ''Crosses the wire''.
 *
 * @param files 1 for a plaintext file
 * @param readable columns of an encrypted file that have no key in at least one row group
 * @param encrypted columns of it that have a key in at least one row group
 */
final case class Unprotected(
    files: Long = 0,
    readable: Set[String] = Set.empty,
    encrypted: Set[String] = Set.empty
)

private[parquet] object Unprotected {

  def of(file: OpenFile): Unprotected =
    if (!file.isEncrypted) Unprotected(files = 1)
    else {
      val chunks = FoundProtection.chunks(file.footer, file.version.path)
      val (readable, encrypted) = FoundProtection.of(chunks)(_ => None).partition(_.isReadable)
      Unprotected(0, readable.map(_.column).toSet, encrypted.map(_.column).toSet)
    }
}
