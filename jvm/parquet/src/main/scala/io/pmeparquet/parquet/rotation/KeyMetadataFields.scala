package io.pmeparquet.parquet.rotation

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import io.pmeparquet.parquet.bytes.{ThriftBounds, ThriftFields}

/**
 * The places of key metadata in a footer (`parquet.thrift`), and how to replace it. Every other byte is copied, so that
 * nothing is lost that a newer writer put there.
 */
private[parquet] object KeyMetadataFields {

  /** `FileCryptoMetaData.key_metadata` */
  val OfCryptoMetadata: ThriftFields = ThriftFields.at(2)

  /**
   * `FileMetaData.footer_signing_key_metadata`, and for columns
   * `row_groups.columns.crypto_metadata.ENCRYPTION_WITH_COLUMN_KEY.key_metadata`
   */
  val OfFooter: ThriftFields = new ThriftFields(
    Map(9 -> ThriftFields.value, 4 -> ThriftFields.at(1, 8, 2, 2))
  )

  /**
   * The bytes from `from` to `until`, which begin with a struct, with some of its key metadata replaced.
   *
   * @param changed the new value for each old one; other values stay
   */
  def replace(bytes: Array[Byte], from: Int, until: Int, fields: ThriftFields)(
      changed: Map[ByteBuffer, Array[Byte]]
  ): Array[Byte] = {
    val out = new ByteArrayOutputStream(until - from)
    var at = from
    for {
      place <- ThriftBounds.binaries(bytes, from, until, fields)
      value <- changed.get(ByteBuffer.wrap(bytes, place.from, place.until - place.from))
    } {
      out.write(bytes, at, place.lengthAt - at)
      writeLength(out, value.length)
      out.write(value, 0, value.length)
      at = place.until
    }
    out.write(bytes, at, until - at)
    out.toByteArray
  }

  /** A varint of Thrift's compact protocol: seven bits at a time, the lowest first. */
  private def writeLength(out: ByteArrayOutputStream, length: Int): Unit = {
    var left = length
    while (left >= 0x80) {
      out.write(left & 0x7f | 0x80)
      left >>>= 7
    }
    out.write(left)
  }
}
