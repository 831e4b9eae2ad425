package io.pmeparquet.kms

import java.util.Locale

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyAudit, Kms, KmsSettings}
import io.pmeparquet.kms.audit.KeyRecords
import io.pmeparquet.kms.client.{ClientClassKms, ClientClassSettings, DriverOptionReader}
import io.pmeparquet.kms.local.{KeystoreKms, KeystoreSettings, StaticKms, StaticSettings}
import io.pmeparquet.kms.vault.{VaultKms, VaultSettings}
import io.pmeparquet.options.{ClientKind, PmeOptions}
import io.pmeparquet.PmeErrors

/**
 * The register of KMSs: what the option `kms` may say, how the options of each become settings, and how settings become
 * a KMS. Clouds, Hadoop and other classes that implement parquet-java's `KmsClient` are listed in `ClientKind` of core.
 */
object KmsAccess {

  /** The KMSs that need code of their own here, by the value of option `kms`. Each has a case in `open`. */
  private val own: Seq[(String, DriverOptionReader => KmsSettings)] = Seq(
    "keystore" -> (KeystoreSettings.of(_)),
    "static" -> (StaticSettings.of(_)),
    "vault" -> (VaultSettings.of(_))
  )

  /** Every short name that the option `kms` takes. */
  val names: Seq[String] = own.map(_._1) ++ ClientKind.all.map(_.name)

  /**
   * The settings that options make, with all secrets resolved. ''Driver only.''
   *
   * @throws io.pmeparquet.PmeException for what is missing, of no use or unsafe
   */
  def settings(values: DriverOptionReader): KmsSettings = {
    val kms = values.text(PmeOptions.Kms).get.trim
    own
      .collectFirst { case (name, make) if name == kms.toLowerCase(Locale.ROOT) => make(values) }
      .orElse(ClientKind.named(kms).map(ClientClassSettings.ofKind(_, values)))
      .orElse(if (kms.contains('.')) Some(ClientClassSettings.ofClass(kms, values)) else None)
      .getOrElse {
        throw PmeErrors.badOption(
          PmeOptions.Kms.name,
          kms,
          s"${names.mkString(", ")}, or the full name of a KmsClient class"
        )
      }
  }

  /**
   * Opens the KMS that settings describe. All that asks a KMS for anything comes through here.
   *
   * @param audit what for, and how that is recorded
   */
  def open(settings: KmsSettings, conf: Configuration, audit: KeyAudit): Kms =
    KeyRecords.recording(opened(settings, conf), audit)

  private def opened(settings: KmsSettings, conf: Configuration): Kms = settings match {
    case keystore @ KeystoreSettings(name, storeType, content, password, timeoutMillis) =>
      val file = () => keystore.localFile(conf)
      KeystoreKms.open(name, storeType, content.map(_.insecureBytes), password, timeoutMillis, file)
    case StaticSettings(keys) => StaticKms.parse(keys)
    case vault: VaultSettings => new VaultKms(vault)
    case client: ClientClassSettings => ClientClassKms.open(client, conf)
    case other => throw new IllegalStateException(s"internal error: no KMS client for ${other.kind}")
  }
}
