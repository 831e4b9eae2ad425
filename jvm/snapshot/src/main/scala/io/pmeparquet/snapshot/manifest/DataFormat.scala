package io.pmeparquet.snapshot.manifest

/**
 * The format of a table's files, as far as snapshots depend on it.
 *
 * @param name in messages
 * @param formatVersion of a manifest that lists such files
 * @param field that a manifest has for it; none in the first version, which knows one format only
 */
sealed abstract class DataFormat(val name: String, val formatVersion: Int, val field: Option[String])
    extends Serializable {

  /** Whether nothing in a file authenticates its content, so that a list states digests of all blocks. */
  def needsBlocks: Boolean = this == DataFormat.Orc
}

object DataFormat {
  case object Parquet extends DataFormat("Parquet", 1, None)
  case object Orc extends DataFormat("ORC", 2, Some("orc"))

  val all: Seq[DataFormat] = Seq(Parquet, Orc)
}
