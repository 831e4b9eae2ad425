package io.pmeparquet.orc.tail

/**
 * A master key that a file names. Equal in all its fields means: the same key.
 *
 * @param algorithm `AES_CTR_128` or `AES_CTR_256`, which every local key under it is for
 */
final case class OrcKey private[tail] (name: String, version: Int, algorithm: OrcAlgorithm) {

  /** As messages and reports name it: `pii@0`. */
  def display: String = s"$name@$version"
}

/** @param keyBytes the length of a local key */
sealed abstract class OrcAlgorithm(val name: String, val keyBytes: Int) extends Serializable {
  override def toString: String = name
}

object OrcAlgorithm {
  case object AesCtr128 extends OrcAlgorithm("AES_CTR_128", 16)
  case object AesCtr256 extends OrcAlgorithm("AES_CTR_256", 32)

  private[tail] def of(number: Int): OrcAlgorithm = number match {
    case 1 => AesCtr128
    case 2 => AesCtr256
    case other => throw Damage.unknown(s"it names an unknown encryption algorithm, number $other")
  }
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
 * @param provider the kind of key provider that wrote it: `UNKNOWN`, `HADOOP`, `AWS`, `GCP`, `AZURE`
 * @param variants in the order in which ORC's reader tries them
 */
final case class OrcEncryption private[tail] (
    keys: IndexedSeq[OrcKey],
    masks: Seq[OrcMask],
    variants: IndexedSeq[OrcVariant],
    provider: String
)

private[tail] object OrcEncryption {
  private val Providers = IndexedSeq("UNKNOWN", "HADOOP", "AWS", "GCP", "AZURE")
  private val StripeStatistics = 100

  /** A variant before its key is known: the order of the parts in the message is free. */
  private final case class RawVariant(
      root: Int,
      key: Int,
      encryptedKey: Option[Array[Byte]],
      statisticsColumns: Seq[Int],
      statisticsBytes: Seq[Long],
      fileStatistics: Array[Byte]
  )

  def parse(wire: Wire): IndexedSeq[OrcType] => OrcEncryption = {
    val masks = Seq.newBuilder[OrcMask]
    val keys = IndexedSeq.newBuilder[OrcKey]
    val variants = IndexedSeq.newBuilder[RawVariant]
    var provider = 0
    wire.fields {
      case 1 => masks += mask(wire.message("a mask"))
      case 2 => keys += key(wire.message("an encryption key"))
      case 3 => variants += variant(wire.message("an encryption variant"))
      case 4 => provider = wire.once.int()
    }
    types => {
      val known = keys.result()
      val found = variants.result()
      Damage.require(
        found.size <= OrcLimits.VariantsOfColumn * types.size,
        s"it has ${found.size} encryption variants for ${types.size} columns"
      )
      val placed = found.zipWithIndex.map { case (raw, id) => checked(raw, id, known, types) }
      requireWork(placed, types)
      OrcEncryption(
        known,
        masks.result().map(checked(_, types)),
        placed,
        Providers.lift(provider).getOrElse(s"number $provider")
      )
    }
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

  private def mask(wire: Wire): OrcMask = {
    var name = ""
    val parameters = Seq.newBuilder[String]
    val columns = Seq.newBuilder[Int]
    wire.fields {
      case 1 => name = wire.once.text()
      case 2 => parameters += wire.text()
      case 3 => wire.ints(columns += _)
    }
    OrcMask(name, parameters.result(), columns.result())
  }

  private def key(wire: Wire): OrcKey = {
    var name = Option.empty[String]
    var version, algorithm = 0
    wire.fields {
      case 1 => name = Some(wire.once.text())
      case 2 => version = wire.once.int()
      case 3 => algorithm = wire.once.int()
    }
    OrcKey(
      name.getOrElse(throw Damage("an encryption key has no name")),
      version,
      OrcAlgorithm.of(algorithm)
    )
  }

  private def variant(wire: Wire): RawVariant = {
    var root, key = 0
    var encrypted = Option.empty[Array[Byte]]
    val streams = Seq.newBuilder[OrcStream]
    var statistics = Array.emptyByteArray
    wire.fields {
      case 1 => root = wire.once.int()
      case 2 => key = wire.once.int()
      case 3 => encrypted = Some(wire.once.blob(OrcLimits.LocalKeyBytes))
      case 4 => streams += OrcStream.parse(wire.message("a stream of statistics"))
      case 5 => statistics = wire.once.blob(OrcLimits.StatisticsBytes)
    }
    val found = streams.result()
    found.foreach { one =>
      Damage.require(one.kind == StripeStatistics, s"a stream of statistics has the kind ${one.kind}")
    }
    RawVariant(root, key, encrypted, found.map(_.column), found.map(_.length), statistics)
  }

  private def checked(mask: OrcMask, types: IndexedSeq[OrcType]): OrcMask = {
    mask.columns.find(_ >= types.size).foreach { id =>
      throw Damage(s"mask '${mask.name}' is for column $id, which does not exist")
    }
    mask
  }

  private def checked(
      raw: RawVariant,
      id: Int,
      keys: IndexedSeq[OrcKey],
      types: IndexedSeq[OrcType]
  ): OrcVariant = {
    val root = types.lift(raw.root).getOrElse {
      throw Damage(s"encryption variant $id is for column ${raw.root}, which does not exist")
    }
    val key = keys.lift(raw.key).getOrElse {
      throw Damage(s"encryption variant $id has key number ${raw.key}, which does not exist")
    }
    raw.statisticsColumns.find(!root.holds(_)).foreach { column =>
      throw Damage(s"encryption variant $id of column ${raw.root} has statistics of column $column")
    }
    val encrypted = raw.encryptedKey.getOrElse(throw Damage(s"encryption variant $id has no local key"))
    Damage.require(encrypted.nonEmpty, s"encryption variant $id has an empty local key")
    new OrcVariant(id, raw.root, key, encrypted, raw.statisticsBytes, raw.fileStatistics)
  }
}
