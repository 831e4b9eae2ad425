package io.pmeparquet.orc.tail

import scala.collection.mutable

import org.apache.hadoop.fs.Path

/** The footer of a file, parsed. Its parts are compared with each other, and with where the file has room for them. */
private[tail] final class OrcFooter(wire: Wire) {
  private val stripes = mutable.ArrayBuffer.empty[RawStripe]
  private val types = mutable.ArrayBuffer.empty[RawType]
  private val metadata = mutable.LinkedHashMap.empty[String, Array[Byte]]
  private var encryption = Option.empty[IndexedSeq[OrcType] => OrcEncryption]
  private var software = Option.empty[String]
  private var rows = 0L
  private var stride, writer, statistics = 0

  wire.fields {
    case 3 => stripes += OrcStripe.parse(wire.message("a stripe's entry in its footer"))
    case 4 => types += OrcTypes.parse(wire.message("a type"), types.size)
    case 5 => addMetadata(wire.message("an entry of its metadata"))
    case 6 => rows = wire.once.long()
    case 7 =>
      OrcStatistics.parse(wire.message("the statistics of a column"), strict = false)
      statistics += 1
    case 8 => stride = wire.once.int()
    case 9 => writer = wire.once.int()
    case 10 => encryption = Some(OrcEncryption.parse(wire.once.message("its encryption")))
    case 12 => software = Some(wire.once.text())
  }

  private def addMetadata(entry: Wire): Unit = {
    var name = ""
    var value = Array.emptyByteArray
    entry.fields {
      case 1 => name = entry.once.text()
      case 2 => value = entry.once.blob(OrcLimits.FooterBytes)
    }
    // ORC's reader takes the first of a name, and other readers the last.
    Damage.require(metadata.put(name, value).isEmpty, s"its metadata has two entries '$name'")
  }

  def tail(path: Path, length: Long, postScript: PostScript): OrcTail = {
    val columns = OrcTypes.tree(types.toIndexedSeq)
    Damage.require(
      statistics == 0 || statistics == columns.size,
      s"it has ${columns.size} columns, but statistics of $statistics"
    )
    val encrypted = encryption.map(_(columns))
    requireStatistics(encrypted, postScript)
    val variants = encrypted.fold(0)(_.variants.size)
    val placed = OrcStripe.all(stripes.toSeq, length - postScript.tailBytes, variants, stride)
    val counted = placed.iterator.map(_.rows).sum
    Damage.require(rows == counted, s"it states $rows rows, but its stripes have $counted")
    new OrcTail(
      path,
      length,
      rows,
      postScript.compression,
      postScript.version,
      OrcWriter(writer, postScript.writerVersion, software),
      columns,
      placed,
      encrypted,
      stride,
      metadata.toMap,
      length - postScript.ownBytes - postScript.footerBytes - postScript.metadataBytes,
      postScript.metadataBytes
    )
  }

  /** ORC's reader finds the encrypted statistics of stripes by adding up the lengths of those before. */
  private def requireStatistics(encrypted: Option[OrcEncryption], postScript: PostScript): Unit = {
    val lengths = encrypted.fold(Seq.empty[Long])(_.variants.flatMap(_.statisticsBytes))
    val room = postScript.encryptedBytes.toLong
    Damage.require(
      lengths.forall(_ <= room) && lengths.foldLeft(0L)((sum, more) => (sum + more).min(room + 1)) <= room,
      s"the encrypted statistics of its stripes have more than the $room bytes that its postscript states"
    )
  }
}
