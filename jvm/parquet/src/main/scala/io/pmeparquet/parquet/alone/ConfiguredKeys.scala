package io.pmeparquet.parquet.alone

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.options.{NamedKeys, Settings}

/**
 * What the crypto factory finds in a Hadoop configuration, for rules that judge a statement before anything is written.
 * They must not look for names of options themselves: names differ in case, and one level of options overrides another.
 */
private[pmeparquet] object ConfiguredKeys {

  /** @throws io.pmeparquet.PmeException for options that every write would refuse */
  def of(conf: Configuration): NamedKeys = Settings.namedKeys(ConfigurationOptions.of(conf))

  /**
   * Whether a file in a table's log would get a key.
   *
   * @throws io.pmeparquet.PmeException as [[of]]
   */
  def forLogs(conf: Configuration): Boolean = {
    val named = Settings.namedKeys(ConfigurationOptions.of(conf, withColumns = false))
    Seq(named.footer, named.uniform).flatten.exists(_.nonEmpty)
  }
}
