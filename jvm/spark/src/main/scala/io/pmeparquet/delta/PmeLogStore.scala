package io.pmeparquet.delta

import java.lang.{Boolean => JBoolean}
import java.util.{Iterator => JIterator}

import scala.collection.concurrent.TrieMap
import scala.collection.JavaConverters._

import io.delta.storage.{CloseableIterator, LogStore}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.spark.session.PmeSparkException

/**
 * The store of a Delta log, in front of that of the scheme:
 * {{{
 * spark.delta.logStore.class=io.pmeparquet.delta.PmeLogStore
 * }}}
 * Delta writes every commit through it, whichever statement or call made it. So nothing gets into the log of a table with
 * keys that its guard does not know ([[CommitGuard]]). `PmeExtensions` sets it.
 */
final class PmeLogStore(initial: Configuration) extends LogStore(initial) {
  private val stores = TrieMap.empty[String, LogStore]

  override def write(path: Path, lines: JIterator[String], overwrite: JBoolean, conf: Configuration): Unit =
    PmeSparkException.translated {
      // All of it, before the store makes any of it visible.
      val checked = new CommittedLog(path, conf).checked(lines.asScala.toVector)
      of(path).write(path, checked.iterator.asJava, overwrite, conf)
    }

  override def read(path: Path, conf: Configuration): CloseableIterator[String] = of(path).read(path, conf)

  override def listFrom(path: Path, conf: Configuration): JIterator[FileStatus] =
    of(path).listFrom(path, conf)

  override def resolvePathOnPhysicalStorage(path: Path, conf: Configuration): Path =
    of(path).resolvePathOnPhysicalStorage(path, conf)

  override def isPartialWriteVisible(path: Path, conf: Configuration): JBoolean =
    of(path).isPartialWriteVisible(path, conf)

  private def of(path: Path): LogStore = {
    val scheme = Option(path.toUri.getScheme).getOrElse("").toLowerCase(java.util.Locale.ROOT)
    stores.getOrElseUpdate(scheme, LogStores.below(scheme, initHadoopConf))
  }
}
