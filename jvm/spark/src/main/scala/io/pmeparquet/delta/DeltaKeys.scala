package io.pmeparquet.delta

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog, TableChange}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.DeltaClasses

/**
 * The changes of a Delta table's keys that `encrypt_table` and `rotate` make. No other commit may change them: the guard
 * of commits checks whether one of these is under way on its thread. ''Driver only.''
 */
private[delta] object DeltaKeys {
  private val allowed = new ThreadLocal[Path]
  // Delta's catalog, which also knows tables by their path.
  private val Catalog = "spark_catalog"

  def isAllowed(table: Path): Boolean =
    Option(allowed.get).exists(_.toUri.getPath == table.toUri.getPath)

  /**
   * Changes properties of the table at a path in one commit.
   *
   * @param changes of one kind: Delta makes a commit for each kind, in an order by chance
   */
  def change(session: SparkSession, path: String, changes: Seq[TableChange]): Unit = if (changes.nonEmpty) {
    // By reflection: it is a class in Spark 4.1, and an interface in Spark 4.2.
    val manager = DeltaClasses.ask(session.sessionState, "catalogManager")
    val catalog =
      manager.getClass
        .getMethod("catalog", classOf[String])
        .invoke(manager, Catalog)
        .asInstanceOf[TableCatalog]
    allowed.set(new Path(path))
    try catalog.alterTable(Identifier.of(Array("delta"), path), changes: _*)
    finally allowed.remove()
  }
}
