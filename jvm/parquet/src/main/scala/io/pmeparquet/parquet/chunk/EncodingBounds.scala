package io.pmeparquet.parquet.chunk

import org.apache.parquet.column.{ColumnDescriptor, Encoding}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.PmeErrors

/**
 * Checks what levels and packed values of a page claim, without decoding them: decoders allocate as much as a run or a
 * block claims to hold, and some wait forever for missing levels. It takes one step for each run.
 */
private[parquet] final class EncodingBounds(descriptor: ColumnDescriptor, where: String) {
  import EncodingBounds._

  private val repetitionBits = bitsFor(descriptor.getMaxRepetitionLevel)
  private val definitionBits = bitsFor(descriptor.getMaxDefinitionLevel)
  private val isBoolean = descriptor.getPrimitiveType.getPrimitiveTypeName == PrimitiveTypeName.BOOLEAN

  /**
   * Checks a V1 page's body of `size` bytes: repetition levels, definition levels, each after its length, and values.
   *
   * @throws io.pmeparquet.PmeException if a part makes an impossible claim
   */
  def checkV1(
      page: Array[Byte],
      size: Int,
      count: Int,
      repetition: Encoding,
      definition: Encoding,
      values: Encoding
  ): Unit = checked { of =>
    val walk = new EncodingWalk(page, 0, size)
    of("repetition levels")
    walk.prefixedLevels(repetitionBits, repetition, count)
    of("definition levels")
    walk.prefixedLevels(definitionBits, definition, count)
    of("values")
    this.values(walk, values, count)
  }

  /**
   * As `checkV1` for a V2 page: the repetition levels at `levelsAt`, the definition levels after them, and the values.
   */
  def checkV2(
      levels: Array[Byte],
      levelsAt: Int,
      repetitionBytes: Int,
      definitionBytes: Int,
      page: Array[Byte],
      size: Int,
      count: Int,
      values: Encoding
  ): Unit = checked { of =>
    val definitionAt = levelsAt + repetitionBytes
    of("repetition levels")
    new EncodingWalk(levels, levelsAt, definitionAt).levels(repetitionBits, count)
    of("definition levels")
    new EncodingWalk(levels, definitionAt, definitionAt + definitionBytes).levels(definitionBits, count)
    of("values")
    this.values(new EncodingWalk(page, 0, size), values, count)
  }

  private def checked(walk: (String => Unit) => Unit): Unit = {
    var part = ""
    try walk(part = _)
    catch {
      case unbounded: UnboundedEncoding =>
        throw PmeErrors.damaged(
          where,
          s"the $part of a page do not match its header: ${unbounded.getMessage}"
        )
    }
  }

  private def values(walk: EncodingWalk, encoding: Encoding, count: Int): Unit = encoding match {
    case dictionary if dictionary.usesDictionary => walk.indices(count)
    case Encoding.RLE if isBoolean => if (count > 0) walk.prefixed(_.runs(1, count))
    case Encoding.DELTA_BINARY_PACKED | Encoding.DELTA_LENGTH_BYTE_ARRAY => walk.deltas(count)
    case Encoding.DELTA_BYTE_ARRAY =>
      walk.deltas(count)
      walk.deltas(count)
    case _ => ()
  }
}

private object EncodingBounds {
  def bitsFor(level: Int): Int = Integer.SIZE - Integer.numberOfLeadingZeros(level)
}
