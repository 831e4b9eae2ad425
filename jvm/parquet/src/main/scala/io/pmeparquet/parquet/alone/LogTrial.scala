package io.pmeparquet.parquet.alone

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyDesk, KeySource}
import io.pmeparquet.options.{FileSettings, OptionValues, Settings}
import io.pmeparquet.parquet.scope.{KeyCalls, KmsTrial, Scopes}

/**
 * Tries out the keys of a file in a table's log in the way that the crypto factory has in this process: by the driver, if
 * it knows the configuration, or by the KMS itself. It touches no file.
 *
 * @param isByDriver whether the driver calls the KMS
 * @param isAsAsked false if the options let the driver call the KMS, and it does not know this configuration
 */
private[pmeparquet] final class LogTrial private (
    source: KeySource,
    files: FileSettings,
    val isByDriver: Boolean,
    val isAsAsked: Boolean
) {

  /** The name of the KMS in messages. */
  def describe: String = source.describe

  def keys: Seq[String] = files.masterKeys

  /** @throws io.pmeparquet.PmeException if the KMS refuses the key */
  def of(masterKeyId: String, where: String): KeyCalls = KmsTrial.calls(source, files, masterKeyId, where)
}

private[pmeparquet] object LogTrial {

  /** @throws io.pmeparquet.PmeException as a write would: for the options, or if the KMS cannot be opened */
  def of(conf: Configuration): LogTrial = of(conf, ConfigurationDesks.find(conf, _))

  private[alone] def of(conf: Configuration, find: OptionValues => Option[KeyDesk]): LogTrial = {
    val values = ConfigurationOptions.of(conf, withColumns = false)
    Settings.requireKeys(values)
    find(values) match {
      case Some(desk) =>
        val files = ConfigurationScopes.settings(values, ConfigurationScopes.AtDesk).files
        new LogTrial(desk, files, isByDriver = true, isAsAsked = true)
      case None =>
        val settings = ConfigurationScopes.settings(values, ConfigurationScopes.kms(values, conf))
        val source = Scopes.open(settings.use, conf, lifetimeMillis = 0).source
        new LogTrial(source, settings.files, isByDriver = false, !ConfigurationDesks.mayAsk(values))
    }
  }
}
