package io.pmeparquet.snapshot.manifest

/**
 * The format of a table's files, as far as snapshots depend on it.
 *
 * @param name in messages
 * @param field of a manifest that names its format of files
 */
sealed abstract class DataFormat(val name: String, val field: String) extends Serializable {

  /** Whether nothing in a file authenticates its content, so that a list states digests of all blocks. */
  def needsBlocks: Boolean = this == DataFormat.Orc
}

object DataFormat {
  case object Parquet extends DataFormat("Parquet", "parquet")
  case object Orc extends DataFormat("ORC", "orc")

  val all: Seq[DataFormat] = Seq(Parquet, Orc)
}
