package io.pmeparquet.spark.options

import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.{
  OptionValues,
  OrcReadSettings,
  OrcSettings,
  OrcWriteSettings,
  PmeOptions,
  Settings
}
import io.pmeparquet.orc.keys.{OrcScope, OrcScopes, WrappedMasterKey}
import io.pmeparquet.PmeErrors

/**
 * What options say of ORC files: their keys, and what a read or write of them requires. Made by [[ConfResolver]]. ''Driver
 * only.''
 *
 * @param own the values that the user or the session gives
 * @param property wrapped master keys in a property of the table
 * @param use the KMS of the options
 * @param checkPolicy fails if a table's definition requires less than the session
 * @param isOfTrustedTable whether the options are those of a table that the session trusts
 */
private[spark] final class OrcResolver(
    values: OptionValues,
    own: OptionValues,
    property: Option[String],
    kms: KmsResolver,
    use: => KmsUse,
    checkPolicy: => Unit,
    isOfTrustedTable: Boolean,
    caseSensitive: Boolean
) {

  /**
   * The keys of a read.
   *
   * @param isSparks whether it is a read of Spark's own `orc`, which reads files without encryption, too
   */
  def read(isSparks: Boolean): OrcScope = {
    val settings = OrcSettings.forRead(values, caseSensitive)
    checkPolicy
    val allowsPlaintext = isSparks && values.find(PmeOptions.PlaintextFiles).isEmpty
    reading(if (allowsPlaintext) settings.copy(allowPlaintextFiles = true) else settings)
  }

  /** Whether a read goes on without a key that it is refused. This calls no KMS. */
  def acceptsRefusals: Boolean = OrcSettings.forRead(values, caseSensitive).acceptsRefusals

  /** The keys for a caller that goes on without those that it is refused. */
  def unjudged(): OrcScope = reading(OrcReadSettings.unjudged(Settings.forRead(values).kekLifetimeMillis))

  private def reading(settings: OrcReadSettings) =
    OrcScopes.forRead(use, wrappedKeys(forWrite = false), settings, kms.conf)

  /** The checked options of a write. This calls no KMS. */
  def writeSettings: OrcWriteSettings = OrcSettings.forWrite(values, caseSensitive)

  /** @throws io.pmeparquet.PmeException if options of a write of Spark's own `orc` promise what it does not do */
  def refuseForSparks(): Unit = OrcSettings.refuseForSparks(values)

  /**
   * The keys of a write.
   *
   * @param masterKeys of the write
   * @param bits the length of local keys, if options say it
   */
  def write(masterKeys: Seq[String], bits: Option[Int]): OrcScope =
    OrcScopes.forWrite(use, wrappedKeys(forWrite = true), masterKeys, bits, kms.conf)

  /** Whether the user names wrapped master keys, so that those of the table do not count. */
  def namesMasterKeys: Boolean = own.text(PmeOptions.OrcMasterKeys).isDefined

  /**
   * Wrapped master keys: those that the user names, or else those of the table. Whoever defines a table must not choose the
   * keys of what others write to it.
   */
  private def wrappedKeys(forWrite: Boolean): Seq[WrappedMasterKey] = {
    val named = own.text(PmeOptions.OrcMasterKeys)
    val ofTable = if (named.isDefined) None else property.orElse(values.text(PmeOptions.OrcMasterKeys))
    if (forWrite && ofTable.isDefined && !isOfTrustedTable) throw PmeErrors.orcKeysOfTable
    named
      .orElse(ofTable)
      .fold(Seq.empty[WrappedMasterKey])(WrappedMasterKey.parse(_, values.text(PmeOptions.OrcWrappingKey)))
  }
}
