package io.pmeparquet.spark.admin.erase

import org.apache.hadoop.fs.Path

import io.pmeparquet.spark.admin.LiveFiles

/**
 * What is to be erased.
 *
 * @param table its directory
 * @param keys ids of master keys
 * @param partitions values of columns that directories have, or that files state: those of all files under the keys
 * @param also further tables whose rows under the keys are to be erased
 * @param others tables that must have nothing under the keys
 * @param live what Python knows of Delta tables
 * @param by who erases, for the certificate
 */
private[admin] final case class ErasureRequest(
    table: Path,
    keys: Seq[String],
    partitions: Map[String, String],
    also: Seq[Path],
    others: Seq[Path],
    live: Seq[LiveFiles],
    by: String
) {

  /** The tables whose rows are to be erased, by their names in results. */
  val tables: Set[String] = (table +: also).map(_.toString).toSet

  /** All that are looked at, each once. */
  def looked: Seq[Path] = (table +: (also ++ others)).distinct
}
