package io.pmeparquet

import java.io.{ByteArrayInputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** SHA-256, as hexadecimal digits unless a method says otherwise. */
private[pmeparquet] object Sha256 {
  private val BufferBytes = 64 * 1024

  /** The digest as text. */
  def hex(digest: Array[Byte]): String = digest.map(byte => f"$byte%02x").mkString

  /** The digest of several pieces, one after the other, as 32 bytes. */
  def ofBytes(pieces: Array[Byte]*): Array[Byte] = {
    val sha = MessageDigest.getInstance("SHA-256")
    pieces.foreach(sha.update)
    sha.digest()
  }

  /** The digest of texts, as 32 bytes. A length before each of them keeps any other list from having the same digest. */
  def ofTexts(texts: Iterable[String]): Array[Byte] = {
    val sha = MessageDigest.getInstance("SHA-256")
    texts.foreach { text =>
      val bytes = text.getBytes(UTF_8)
      sha.update(s"${bytes.length}:".getBytes(UTF_8))
      sha.update(bytes)
    }
    sha.digest()
  }

  def ofText(text: String): String = ofAll(new ByteArrayInputStream(text.getBytes(UTF_8)))

  /** The digest of the rest of a stream. */
  def ofAll(in: InputStream): String = hex(ofStream(in))

  /** The digest of the rest of a stream, as 32 bytes. */
  def ofStream(in: InputStream): Array[Byte] = {
    val sha = MessageDigest.getInstance("SHA-256")
    val buffer = new Array[Byte](BufferBytes)
    Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach(sha.update(buffer, 0, _))
    sha.digest()
  }
}
