package io.pmeparquet.orc.tail

import java.io.Closeable
import javax.crypto.SecretKey

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path}

/**
 * An ORC file that is open to be looked at: it is opened once for its end and the footers of its stripes. For one thread.
 *
 * @param length of the file, in bytes, as listed: ORC's reader must be given the same
 * @param open opens it: ORC's reader must get the same bytes
 */
final class OpenedOrc private (val path: Path, val length: Long, open: () => FSDataInputStream)
    extends Closeable {
  private val bytes = new OrcBytes(length, open)

  /** @throws io.pmeparquet.PmeException if the file is damaged or contradicts itself */
  lazy val tail: OrcTail = TailReader.read(path, length, bytes)

  /** The end of the file with the keys in it; none if the file is empty. It is read again. */
  def end: Option[OrcEnd] = if (length == 0) None else Some(TailReader.end(path, length, bytes))

  /**
   * Some bytes of the file.
   *
   * @throws io.pmeparquet.PmeException if it does not have them
   */
  def read(offset: Long, length: Int): Array[Byte] = Damage.of(path.toString)(bytes.read(offset, length))

  /** The encrypted streams of all stripes, in the order of their places. */
  def encryptedStreams: Iterator[OrcStream] =
    tail.stripes.iterator.flatMap(StripeCheck.encryptedStreams(tail, _, bytes))

  /**
   * Checks whether a local key is the file's: whether it opens statistics of the file, or an index of its stripe.
   *
   * @throws io.pmeparquet.PmeException `PME_NOT_AUTHENTIC` if it does not, or nothing shows whether it does
   */
  def checkKey(local: OrcLocalKey, key: SecretKey): Unit = local.stripe match {
    case None => KeyCheck.require(tail, local.variant, key)
    case Some(stripe) =>
      val index = StripeCheck.indexOf(tail, stripe, local.variant, bytes)
      KeyCheck.requireOfStripe(tail, local.variant, stripe, index, key)
  }

  /**
   * Checks the stripes that begin in a part of the file, as ORC's reader chooses them ([[StripeCheck]]).
   *
   * @param start the first byte of the part
   * @param partLength its bytes
   * @throws io.pmeparquet.PmeException if a footer is damaged or contradicts the file's
   */
  def checkStripes(start: Long, partLength: Long): Unit =
    StripeCheck.requireFooters(tail, tail.stripesIn(start, partLength), bytes)

  /**
   * Checks the statistics of stripes that everybody can read ([[StripeCheck]]).
   *
   * @throws io.pmeparquet.PmeException if they are damaged, or not of all stripes and columns
   */
  def checkStripeStatistics(): Unit = StripeCheck.requireStatistics(tail, bytes)

  /** The columns that have Bloom filters in the first stripe, by their ids. */
  def bloomColumns: Set[Int] = StripeCheck.bloomColumns(tail, bytes)

  override def close(): Unit = bytes.close()
}

object OpenedOrc {

  /**
   * Checks the keys of a file's statistics.
   *
   * @param keyOf the local key of a variant; none if it need not open
   * @throws io.pmeparquet.PmeException `PME_NOT_AUTHENTIC` if one does not open what it should
   */
  def requireKeys(tail: OrcTail)(keyOf: OrcVariant => Option[SecretKey]): Unit =
    for (variant <- tail.variants; key <- keyOf(variant)) KeyCheck.require(tail, variant, key)

  /**
   * @param length of the file, in bytes, as listed: ORC's reader must be given the same
   * @throws io.pmeparquet.PmeException if the file is damaged or contradicts itself
   */
  def tailOf(path: Path, length: Long, conf: Configuration): OrcTail = using(path, length, conf)(_.tail)

  /** Opens a file, and closes it after this use. */
  def using[A](path: Path, length: Long, conf: Configuration)(use: OpenedOrc => A): A =
    using(path, length, () => path.getFileSystem(conf).open(path))(use)

  /** The same for a file that is opened in another way. */
  def using[A](path: Path, length: Long, open: () => FSDataInputStream)(use: OpenedOrc => A): A = {
    val file = new OpenedOrc(path, length, open)
    try use(file)
    finally file.close()
  }
}
