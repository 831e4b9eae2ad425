package io.pmeparquet.spark.session

import org.apache.spark.SPARK_VERSION

/**
 * Differences between Spark versions that only the version number shows. If a class or member shows a difference, we
 * look for that instead: a vendor's Spark may have it under another version.
 */
private[spark] object SparkVersions {

  /** Spark 4 added RPC over TLS; older versions ignore the setting. */
  def hasRpcOverTls(version: String): Boolean = !isThree(version)

  /** Whether a relation in the text of a view may have options besides its table's: since Spark 4. */
  val viewsMayHaveOptions: Boolean = !isThree(SPARK_VERSION)

  /** Whether the session of a `DataFrameReader` is the active one while it creates a relation: since Spark 4. */
  val readersAreActive: Boolean = !isThree(SPARK_VERSION)

  private def isThree(version: String) = version.startsWith("3.")
}
