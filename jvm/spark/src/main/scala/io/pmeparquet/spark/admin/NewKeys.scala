package io.pmeparquet.spark.admin

import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.keys.SessionKeys

/** Makes the KMS wrap anew for all that write by our crypto factory. ''Driver only.'' */
object NewKeys {

  /**
   * For Python. Statements of this application that begin from now on use no key-encryption key from before, whatever their
   * session.
   *
   * @param session may not have a generation of its own, which would count more
   */
  def begin(session: SparkSession): Unit = SessionKeys.begin(session)
}
