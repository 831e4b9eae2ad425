package io.pmeparquet.parquet

import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{Kms, KmsSettings, WrappedKey}

/** Tells, once for each scope, of files whose every data key costs a call of the KMS. */
private[parquet] object SingleWrapping {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  def noticed(settings: KmsSettings, kms: Kms): Seq[WrappedKey] => Unit = settings match {
    // They are asked in this process, and cost nothing.
    case _: KmsSettings.Keystore | _: KmsSettings.Static => _ => ()
    case _ =>
      val told = new AtomicBoolean
      keys =>
        if (keys.exists(_.kekId.isEmpty) && told.compareAndSet(false, true))
          log.warn(
            s"Files were written with doubleWrapping=false: to read them, ${kms.describe} unwraps a key for each file and " +
              "column. Of a copy by pme.rekey, or one written with doubleWrapping=true, it unwraps one for each master key."
          )
  }
}
