package io.pmeparquet.orc.tail

import java.util.Random

import org.apache.orc.OrcProto

/** Random changes of the end of a file, each with its name. */
object Mutation {
  def any(file: Rewritten, random: Random): (String, Array[Byte]) = random.nextInt(6) match {
    case 0 => flipped(file, random)
    case 1 => cut(file, random)
    case 2 =>
      "a footer of random fields" -> file.withTail(
        file.stored(scrambled(file.footer.build().toByteArray, random)),
        file.postScript
      )
    case 3 => footer(file, random)
    case 4 =>
      "a stripe footer of random fields" -> file.withStripeFooter(
        file.stored(scrambled(file.stripeFooter.build().toByteArray, random))
      )
    case _ => stripeFooter(file, random)
  }

  private def flipped(file: Rewritten, random: Random) = {
    val bytes = file.bytes
    val flips = 1 + random.nextInt(3)
    (0 until flips).foreach { _ =>
      val at = file.footerAt + random.nextInt(bytes.length - file.footerAt)
      bytes(at) = (bytes(at) ^ (1 << random.nextInt(8))).toByte
    }
    s"$flips bits of the tail" -> bytes
  }

  private def cut(file: Rewritten, random: Random) = {
    val length =
      if (random.nextBoolean()) random.nextInt(file.bytes.length) else file.footerAt + random.nextInt(50)
    s"cut to $length bytes" -> file.bytes.take(length)
  }

  /** Some bytes of a message replaced, so that lengths and tags become others. */
  private def scrambled(bytes: Array[Byte], random: Random): Array[Byte] = {
    val changed = bytes.clone()
    (0 to random.nextInt(3)).foreach(_ =>
      changed(random.nextInt(changed.length)) = random.nextInt(256).toByte
    )
    changed
  }

  private def huge(random: Random): Long = random.nextInt(5) match {
    case 0 => Long.MaxValue - random.nextInt(10)
    case 1 => -1L - random.nextInt(10)
    case 2 => Int.MaxValue.toLong + random.nextInt(20) - 10
    case 3 => 1L << (20 + random.nextInt(43))
    case _ => random.nextInt(1000).toLong
  }

  private def footer(file: Rewritten, random: Random) = {
    val changed = file.footer
    val stripe = changed.getStripesBuilder(random.nextInt(changed.getStripesCount))
    val variant = changed.getEncryptionBuilder.getVariantsBuilder(random.nextInt(6))
    val kind = changed.getTypesBuilder(random.nextInt(changed.getTypesCount))
    val value = huge(random)
    val choice = random.nextInt(14)
    choice match {
      case 0 => stripe.setOffset(value)
      case 1 => stripe.setIndexLength(value)
      case 2 => stripe.setDataLength(value)
      case 3 => stripe.setFooterLength(value)
      case 4 => stripe.setNumberOfRows(value)
      case 5 => stripe.setEncryptStripeId(value)
      case 6 => variant.setRoot(value.toInt)
      case 7 => variant.setKey(value.toInt)
      case 8 => variant.getStripeStatisticsBuilder(0).setLength(value)
      case 9 => kind.addSubtypes(value.toInt)
      case 10 => kind.setKind(OrcProto.Type.Kind.values()(random.nextInt(19)))
      case 11 => changed.setRowIndexStride(value.toInt)
      case 12 => changed.setNumberOfRows(value)
      case _ => kind.addFieldNames("f")
    }
    s"value $value in place $choice of the footer" -> file.withFooter(changed)
  }

  private def stripeFooter(file: Rewritten, random: Random) = {
    val changed = file.stripeFooter
    val value = huge(random)
    val choice = random.nextInt(7)
    val stream = changed.getStreamsBuilder(random.nextInt(changed.getStreamsCount))
    val variant = changed.getEncryptionBuilder(random.nextInt(changed.getEncryptionCount))
    choice match {
      case 0 => stream.setLength(value)
      case 1 => stream.setColumn(value.toInt)
      case 2 => stream.setKind(OrcProto.Stream.Kind.values()(random.nextInt(13)))
      case 3 =>
        changed.getColumnsBuilder(random.nextInt(changed.getColumnsCount)).setDictionarySize(value.toInt)
      case 4 => variant.getStreamsBuilder(0).setLength(value)
      case 5 =>
        variant
          .getEncodingBuilder(0)
          .setKind(OrcProto.ColumnEncoding.Kind.DICTIONARY_V2)
          .setDictionarySize(value.toInt)
      case _ => variant.getStreamsBuilder(0).setColumn(value.toInt)
    }
    s"value $value in place $choice of a stripe footer" -> file.withStripeFooter(changed)
  }
}
