package io.pmeparquet.parquet.scope

import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{Kms, KmsSettings, WrappedKey}
import io.pmeparquet.Audience

/** Warns once per scope about files whose every data key costs a KMS call. */
private[parquet] object SingleWrapping {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  def noticed(settings: KmsSettings, kms: Kms): Seq[WrappedKey] => Unit =
    // Calls within this process cost nothing.
    if (settings.isInProcess) _ => ()
    else {
      val warned = new AtomicBoolean
      keys =>
        if (keys.exists(_.kekId.isEmpty) && warned.compareAndSet(false, true))
          log.warn(
            s"Files were written with doubleWrapping=false, so ${kms.describe} has to unwrap a key for each file and " +
              s"column. To have one call for each master key, copy the table with ${Audience.current.rekey} or write it " +
              "with doubleWrapping=true."
          )
    }
}
