package io.pmeparquet.spark.session

import org.apache.spark.SPARK_VERSION

/**
 * What differs between versions of Spark where only the version tells. Where a class or member tells, we look for that:
 * a vendor's Spark may have it under another version.
 */
private[spark] object SparkVersions {

  /** RPC over TLS came with Spark 4; older ones take no notice of the setting. */
  def hasRpcOverTls(version: String): Boolean = !isThree(version)

  /** Whether a relation in a view's text may have options beside its table's, as since Spark 4. */
  val viewsMayHaveOptions: Boolean = !isThree(SPARK_VERSION)

  private def isThree(version: String) = version.startsWith("3.")
}
