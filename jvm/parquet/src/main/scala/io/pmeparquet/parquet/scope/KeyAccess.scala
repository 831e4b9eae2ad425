package io.pmeparquet.parquet.scope

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyDesk, KeySource, KmsSettings, KmsSource}
import io.pmeparquet.kms.KmsAccess

/** How a scope gets keys in a JVM other than the one that made it. ''Crosses the wire'' with it. */
private[parquet] sealed trait KeyAccess extends Serializable {
  def open(conf: Configuration, lifetimeMillis: Long): KeySource
}

private[parquet] object KeyAccess {

  /** `kms.callFrom=driver` */
  final case class AtDriver(desk: KeyDesk) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = desk
  }

  /** `kms.callFrom=executor` */
  final case class AtKms(settings: KmsSettings) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource =
      new KmsSource(KmsAccess.open(settings, conf), lifetimeMillis)
  }
}
