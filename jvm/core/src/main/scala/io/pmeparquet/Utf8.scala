package io.pmeparquet

import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.ByteBuffer

/** Text in files and wrapped keys. Java replaces bytes that are no UTF-8, so that two texts could become the same. */
private[pmeparquet] object Utf8 {

  @throws[CharacterCodingException]
  def strict(bytes: Array[Byte]): String = strict(bytes, 0, bytes.length)

  @throws[CharacterCodingException]
  def strict(bytes: Array[Byte], offset: Int, length: Int): String =
    UTF_8
      .newDecoder()
      .onMalformedInput(CodingErrorAction.REPORT)
      .onUnmappableCharacter(CodingErrorAction.REPORT)
      .decode(ByteBuffer.wrap(bytes, offset, length))
      .toString
}
