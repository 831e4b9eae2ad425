package io.pmeparquet.spark.options

import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.{OrcReadSettings, OrcSettings, OrcWriteSettings, PmeOptions, Settings}
import io.pmeparquet.orc.keys.{OrcScope, OrcScopes, WrappedMasterKey}
import io.pmeparquet.PmeErrors

/**
 * What options say of ORC files: their keys, and what a read or write of them requires. ''Driver only.''
 *
 * @param property wrapped master keys in a property of the table
 */
private[spark] final class OrcResolver(options: ResolvedOptions, property: Option[String]) {
  private val values = options.values

  /**
   * The keys of a read.
   *
   * @param isSparks whether it is a read of Spark's own `orc`, which reads files without encryption, too
   */
  def read(isSparks: Boolean): OrcScope = {
    val settings = OrcSettings.forRead(values, options.caseSensitive)
    options.checkPolicy()
    val allowsPlaintext = isSparks && values.find(PmeOptions.PlaintextFiles).isEmpty
    reading(if (allowsPlaintext) settings.copy(allowPlaintextFiles = true) else settings)
  }

  /** Whether a read goes on without a key that it is refused. This calls no KMS. */
  def acceptsRefusals: Boolean = OrcSettings.forRead(values, options.caseSensitive).acceptsRefusals

  /** The keys for a caller that goes on without those that it is refused. */
  def withoutColumns(): OrcScope = reading(
    OrcReadSettings.withoutColumns(Settings.forRead(values).kekLifetimeMillis)
  )

  private def reading(settings: OrcReadSettings) =
    OrcScopes.forRead(options.kmsUse(KeyPurpose.Read), wrappedKeys(forWrite = false), settings, options.conf)

  /** The checked options of a write. This calls no KMS. */
  def writeSettings: OrcWriteSettings = OrcSettings.forWrite(values, options.caseSensitive)

  /** @throws io.pmeparquet.PmeException if options of a write of Spark's own `orc` promise what it does not do */
  def refuseForSparks(): Unit = OrcSettings.refuseForSparks(values)

  /** @throws io.pmeparquet.PmeException if a mask (`orc.mask`) shows what a policy protects */
  def requireMask(mask: String): Unit = OrcSettings.requireMask(values, mask)

  /**
   * The keys of a write.
   *
   * @param masterKeys of the write
   * @param bits the length of local keys, if options say it
   */
  def write(masterKeys: Seq[String], bits: Option[Int]): OrcScope =
    OrcScopes.forWrite(
      options.kmsUse(KeyPurpose.Write),
      wrappedKeys(forWrite = true),
      masterKeys,
      bits,
      options.conf
    )

  /** Whether the user names wrapped master keys, so that those of the table do not count. */
  def namesMasterKeys: Boolean = options.own.text(PmeOptions.OrcMasterKeys).isDefined

  /**
   * Wrapped master keys: those that the user names, or else those of the table. Whoever defines a table must not choose the
   * keys of what others write to it.
   */
  private def wrappedKeys(forWrite: Boolean): Seq[WrappedMasterKey] = {
    val named = options.own.text(PmeOptions.OrcMasterKeys)
    val ofTable = if (named.isDefined) None else property.orElse(values.text(PmeOptions.OrcMasterKeys))
    if (forWrite && ofTable.isDefined && !options.isOfTrustedTable) throw PmeErrors.orcKeysOfTable
    named
      .orElse(ofTable)
      .fold(Seq.empty[WrappedMasterKey])(WrappedMasterKey.parse(_, values.text(PmeOptions.OrcWrappingKey)))
  }
}
