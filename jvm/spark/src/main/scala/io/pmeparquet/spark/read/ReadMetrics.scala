package io.pmeparquet.spark.read

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.pmeparquet.parquet.bytes.{ReadCounter, ReadCounters}

/**
 * The costs of a V2 scan, which the SQL tab shows. Spark creates each metric by its class name, without arguments, and
 * adds up what the tasks counted.
 */
private[spark] sealed abstract class ReadMetric(
    override val name: String,
    override val description: String,
    private[spark] val of: ReadCounters => ReadCounter
) extends CustomSumMetric

final class ReadRequests extends ReadMetric("pmeReads", "reads of files", _.reads)
final class BytesRead extends ReadMetric("pmeBytesRead", "bytes read of files", _.bytes)
final class ModulesDecrypted extends ReadMetric("pmeModules", "modules decrypted", _.modules)
final class FootersRead extends ReadMetric("pmeFooters", "footers opened", _.footers)
final class KeysOpened extends ReadMetric("pmeKeys", "data keys opened", _.keys)

private[spark] object ReadMetrics {
  private val all =
    Seq(new ReadRequests, new BytesRead, new ModulesDecrypted, new FootersRead, new KeysOpened)

  def supported: Array[CustomMetric] = all.toArray

  def of(counters: ReadCounters): Array[CustomTaskMetric] =
    all.map(metric => TaskMetric(metric.name, metric.of(counters).sum): CustomTaskMetric).toArray
}

private final case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
