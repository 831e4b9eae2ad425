package io.pmeparquet.orc.tail

import scala.collection.JavaConverters._

import org.apache.orc.{EncryptionAlgorithm, OrcProto}

/**
 * A master key that a file names. Equal in all its fields means: the same key.
 *
 * @param algorithm `AES_CTR_128` or `AES_CTR_256`, which every local key under it is for
 */
final case class OrcKey private[orc] (name: String, version: Int, algorithm: EncryptionAlgorithm) {

  /** As messages and reports name it: `pii@0`. */
  def display: String = s"$name@$version"
}

/**
 * What readers without a key get.
 *
 * @param name `nullify`, `redact`, `sha256`, or the name of a class
 * @param columns the ids of the columns that it masks
 */
final case class OrcMask private[tail] (name: String, parameters: Seq[String], columns: Seq[Int])

/**
 * An encrypted copy of a column and all columns in it.
 *
 * @param id its place in the list, by which stripes refer to it
 * @param root the id of the column
 * @param encryptedKey the local key of its statistics, encrypted by the master key
 * @param statisticsBytes the lengths of its encrypted statistics of stripes, of a column each
 * @param fileStatistics the encrypted statistics of the file, empty if there are none
 */
final class OrcVariant private[tail] (
    val id: Int,
    val root: Int,
    val key: OrcKey,
    val encryptedKey: Array[Byte],
    val statisticsBytes: Seq[Long],
    val fileStatistics: Array[Byte]
) {
  override def toString: String = s"variant $id of column $root with ${key.display}"
}

/**
 * What the footer says of encryption.
 *
 * @param variants in the order in which ORC's reader tries them
 */
final case class OrcEncryption private[tail] (
    keys: IndexedSeq[OrcKey],
    masks: Seq[OrcMask],
    variants: IndexedSeq[OrcVariant]
)

private[tail] object OrcEncryption {
  def of(stated: OrcProto.Encryption, types: IndexedSeq[OrcType]): OrcEncryption = {
    val count = stated.getVariantsCount
    Damage.require(
      count <= OrcLimits.VariantsOfColumn * types.size,
      s"it has $count encryption variants for ${types.size} columns"
    )
    val keys = stated.getKeyList.asScala.map(key).toVector
    val masks = stated.getMaskList.asScala.map(mask(_, types)).toVector
    val variants = Vector.tabulate(count)(id => variant(stated.getVariants(id), id, keys, types))
    requireWork(variants, types)
    OrcEncryption(keys, masks, variants)
  }

  /** Whoever compares columns with their variants has as many pairs. */
  private def requireWork(variants: IndexedSeq[OrcVariant], types: IndexedSeq[OrcType]): Unit = {
    val columns = variants.foldLeft(0L) { (sum, one) =>
      val root = types(one.root)
      sum + root.maximumId - root.id + 1
    }
    Damage.require(
      columns <= OrcLimits.VariantColumns,
      s"its encryption variants have $columns columns together, and at most ${OrcLimits.VariantColumns} are accepted"
    )
  }

  private def key(stated: OrcProto.EncryptionKey): OrcKey = {
    Damage.require(stated.hasKeyName, "an encryption key has no name")
    val number = OrcMessages
      .unknownValue(stated, OrcProto.EncryptionKey.ALGORITHM_FIELD_NUMBER)
      .getOrElse(stated.getAlgorithm.getNumber.toLong)
    val algorithm = EncryptionAlgorithm.values.find(_.getSerialization.toLong == number).getOrElse {
      throw Damage.unknown(s"it names an unknown encryption algorithm, number $number")
    }
    OrcKey(OrcMessages.text(stated.getKeyNameBytes), stated.getKeyVersion, algorithm)
  }

  private def mask(stated: OrcProto.DataMask, types: IndexedSeq[OrcType]): OrcMask = {
    val name = OrcMessages.text(stated.getNameBytes)
    val parameters =
      Vector.tabulate(stated.getMaskParametersCount)(at =>
        OrcMessages.text(stated.getMaskParametersBytes(at))
      )
    val columns = stated.getColumnsList.asScala.map(_.toInt).toVector
    columns.find(_ >= types.size).foreach { id =>
      throw Damage(s"mask '$name' is for column $id, which does not exist")
    }
    OrcMask(name, parameters, columns)
  }

  private def variant(
      stated: OrcProto.EncryptionVariant,
      id: Int,
      keys: IndexedSeq[OrcKey],
      types: IndexedSeq[OrcType]
  ): OrcVariant = {
    val root = types.lift(stated.getRoot).getOrElse {
      throw Damage(s"encryption variant $id is for column ${stated.getRoot}, which does not exist")
    }
    val key = keys.lift(stated.getKey).getOrElse {
      throw Damage(s"encryption variant $id has key number ${stated.getKey}, which does not exist")
    }
    val statistics = stated.getStripeStatisticsList.asScala.toVector
    statistics.foreach { one =>
      Damage.require(
        one.getKind == OrcProto.Stream.Kind.STRIPE_STATISTICS,
        s"a stream of statistics has the kind ${one.getKind}"
      )
      Damage.require(
        root.holds(one.getColumn),
        s"encryption variant $id of column ${root.id} has statistics of column ${one.getColumn}"
      )
    }
    Damage.require(stated.hasEncryptedKey, s"encryption variant $id has no local key")
    val local = stated.getEncryptedKey
    Damage.require(!local.isEmpty, s"encryption variant $id has an empty local key")
    Damage.require(
      local.size <= OrcLimits.LocalKeyBytes,
      s"the local key of encryption variant $id has ${local.size} bytes, and at most ${OrcLimits.LocalKeyBytes} are accepted"
    )
    Damage.require(
      stated.getFileStatistics.size <= OrcLimits.StatisticsBytes,
      s"the statistics of encryption variant $id have ${stated.getFileStatistics.size} bytes"
    )
    new OrcVariant(
      id,
      root.id,
      key,
      local.toByteArray,
      statistics.map(_.getLength),
      stated.getFileStatistics.toByteArray
    )
  }
}
