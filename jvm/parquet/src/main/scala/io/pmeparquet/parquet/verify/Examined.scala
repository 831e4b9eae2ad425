package io.pmeparquet.parquet.verify

import io.pmeparquet.parquet.file.OpenFile

/**
 * A file under verification, and the place for its findings. For one thread.
 *
 * @param sample the pages to open
 * @param goOn called often; throws if the work is no longer wanted
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
