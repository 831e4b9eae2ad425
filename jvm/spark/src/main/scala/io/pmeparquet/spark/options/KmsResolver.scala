package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Secret, SecretReference}
import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.kms.client.{ConfiguredValues, ProcessSecrets}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{OptionSpec, OptionValues}
import io.pmeparquet.spark.session.SparkAccess

/**
 * Resolves the settings of a KMS from values of options, files and secrets. ''Driver only.''
 *
 * @param options the user's own options: a KMS finds them in its configuration
 * @param withheld names of options from a table's definition: a KMS must not find them
 */
private[spark] final class KmsResolver(
    session: SparkSession,
    options: Map[String, String],
    withheld: Set[String]
) {

  /** The configuration that a KMS gets. */
  val conf: Configuration = SparkAccess.hadoopConf(session, options)
  private val secrets = new ProcessSecrets(conf, settingOf)

  private def settingOf(name: String) =
    session.conf.getOption(name).orElse(session.sparkContext.getConf.getOption(name))

  def resolve(values: OptionValues): KmsSettings = KmsAccess.settings(configured(values))

  /** The secret that an option refers to; none if it is not set. */
  def secret(values: OptionValues, option: OptionSpec): Option[Secret] = configured(values).secret(option)

  /** The secret that an argument refers to, which is no option. */
  def secret(argument: String, reference: String): Secret =
    secrets.resolve(argument, SecretReference.parse(argument, reference))

  private def configured(values: OptionValues) = new ConfiguredValues(values, conf, secrets, withheld)
}
