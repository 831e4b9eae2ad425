package io.pmeparquet.spark.rules

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.spark.session.FormatName

/** Which crypto factory parquet-java finds in a Hadoop configuration. */
private[spark] object CryptoFactory {

  /** The name of its class. */
  def of(conf: Configuration): Option[String] =
    Option(conf.get(FormatName.CryptoFactorySetting)).filter(_.nonEmpty)

  def isOurs(conf: Configuration): Boolean = of(conf).contains(FormatName.CryptoFactoryClass)
}
