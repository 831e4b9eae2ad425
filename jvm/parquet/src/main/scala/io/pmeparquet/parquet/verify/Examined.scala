package io.pmeparquet.parquet.verify

import io.pmeparquet.parquet.file.OpenFile

/**
 * A file that is being verified, and where its findings go. For one thread.
 *
 * @param sample which pages are opened
 * @param goOn called often; throws where the work is no longer wanted
 */
private[verify] final class Examined(
    val file: OpenFile,
    val allowClearLevels: Boolean,
    val sample: Sample,
    val counters: Counters,
    val findings: Findings,
    val goOn: () => Unit
) {
  def name: String = file.version.path.toString
}
