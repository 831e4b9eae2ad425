package io.pmeparquet.orc.keys

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyAudit, KeyBroker, KeyPurpose, KeySource, Kms, KmsSettings, KmsSource}
import io.pmeparquet.kms.{HadoopKmsClient, KmsAccess}
import io.pmeparquet.parquet.scope.ScopeRegistry

/** How a scope gets keys in a JVM other than the one that made it. ''Crosses the wire'' with it. */
private[keys] sealed trait OrcAccess extends Serializable {
  def open(conf: Configuration, lifetimeMillis: Long): KeySource
}

private[keys] object OrcAccess {

  def isHadoop(settings: KmsSettings): Boolean = settings.kind == "hadoop"

  def openedKms(settings: KmsSettings, conf: Configuration, audit: KeyAudit): Kms =
    KmsAccess.open(
      settings,
      if (isHadoop(settings)) {
        val own = new Configuration(conf)
        own.setBoolean(HadoopKmsClient.OpensLocalKeys, true)
        own
      } else conf,
      audit
    )

  def localKeysOf(
      kms: Kms,
      settings: KmsSettings,
      wrapped: Seq[WrappedMasterKey],
      allowed: Option[Set[OrcKeyName]],
      lifetimeMillis: Long
  ): OrcLocalKeys = {
    val made = new OrcLocalKeys(kms, isHadoop(settings), wrapped, allowed, lifetimeMillis)
    ScopeRegistry.own(made)
    made
  }

  /** `kms.callFrom=driver` */
  final case class AtDriver(broker: KeyBroker) extends OrcAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = broker
  }

  /** `kms.callFrom=executor`: then executors have master keys. */
  final case class AtKms(
      settings: KmsSettings,
      wrapped: Seq[WrappedMasterKey],
      allowed: Option[Set[OrcKeyName]]
  ) extends OrcAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = {
      val kms = openedKms(settings, conf, KeyAudit.off(KeyPurpose.Read))
      new KmsSource(localKeysOf(kms, settings, wrapped, allowed, lifetimeMillis), lifetimeMillis)
    }
  }
}
