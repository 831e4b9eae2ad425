package io.pmeparquet.spark.options

import io.pmeparquet.options.WriteSettings
import io.pmeparquet.parquet.scope.{Expiring, Scopes, WriteScope}
import io.pmeparquet.Handover

/**
 * The scope of a write that was made before its job begins, so that the KMS is not asked again. One job takes it, and none
 * that comes when the KMS may say otherwise. It holds keys and settings no longer than that. ''Driver only.''
 */
private[spark] final class PreparedWrite private (handed: Handover[(WriteSettings, String), WriteScope])
    extends Expiring {

  /** Whether it waits for a write with these settings to this directory. */
  def waitsFor(settings: WriteSettings, tableDirectory: String): Boolean =
    handed.waitsFor(settings -> tableDirectory)

  /** For the job's settings. None where these are others, or where it was taken or is too old. */
  def take(settings: WriteSettings, tableDirectory: String): Option[WriteScope] =
    handed.take(settings -> tableDirectory)

  override def sweep(): Unit = handed.sweep()
}

private[spark] object PreparedWrite {
  private val MaxMillis = 60000L

  def of(settings: WriteSettings, tableDirectory: String, scope: WriteScope): PreparedWrite = {
    val made = new PreparedWrite(new Handover(settings -> tableDirectory, scope, MaxMillis))
    Scopes.sweepAlso(made)
    made
  }
}
