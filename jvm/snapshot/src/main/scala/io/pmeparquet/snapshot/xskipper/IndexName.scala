package io.pmeparquet.snapshot.xskipper

/** The names of index columns in a store, which each version makes in its own way ("Column name generation"). */
private[snapshot] object IndexName {

  /**
   * @param version of the store
   * @param columns that the index is of, with dots between the parts of nested ones
   * @param kind Xskipper's name of the index
   */
  def of(version: Int, columns: Seq[String], kind: String): String = version match {
    case 0 => s"${columns.mkString(":")}_$kind"
    case 1 => s"${columns.mkString("_")}_$kind"
    case _ =>
      val cleaned = columns.map(_.replace("#", "##").replace(".", "$#$"))
      s"${cleaned.mkString("_")}_${kind}_${cleaned.map(_.length).mkString("-")}"
  }

  /** The column of a partition column's values, from version 4 on. */
  def ofPartition(column: String): String = s"virtual_$column"
}
