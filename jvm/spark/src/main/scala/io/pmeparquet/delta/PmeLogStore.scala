package io.pmeparquet.delta

import java.lang.{Boolean => JBoolean}
import java.util.{Iterator => JIterator}

import scala.collection.concurrent.TrieMap
import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import io.delta.storage.{
  AzureLogStore,
  CloseableIterator,
  GCSLogStore,
  HDFSLogStore,
  LogStore,
  S3SingleDriverLogStore
}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.SparkEnv

import io.pmeparquet.spark.session.{DeltaClasses, GuardSetting, PmeSparkException}
import io.pmeparquet.PmeErrors

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

/** Which store is behind the guard of Delta's commits: that which Delta would take without it. ''Driver only.'' */
private object LogStores {

  /**
   * The store of a scheme: the one that the session named, or Delta's default.
   *
   * @throws io.pmeparquet.PmeException if the named class is not one
   */
  def below(scheme: String, conf: Configuration): LogStore =
    Option(SparkEnv.get).flatMap(env => GuardSetting.storeBelow(env.conf, scheme)) match {
      case Some(name) => made(name, conf)
      case None =>
        scheme match {
          case "s3" | "s3a" | "s3n" => new S3SingleDriverLogStore(conf)
          case "abfs" | "abfss" | "adl" | "wasb" | "wasbs" => new AzureLogStore(conf)
          case "gs" => new GCSLogStore(conf)
          case _ => new HDFSLogStore(conf)
        }
    }

  private def made(name: String, conf: Configuration): LogStore = {
    val found =
      try Class.forName(name, true, Thread.currentThread.getContextClassLoader)
      catch { case _: ClassNotFoundException | _: LinkageError => throw PmeErrors.deltaStore(name) }
    if (classOf[LogStore].isAssignableFrom(found))
      found.getConstructor(classOf[Configuration]).newInstance(conf).asInstanceOf[LogStore]
    else adapted(name, conf)
  }

  /** A store of Delta's older interface, which is in Delta for Spark. */
  private def adapted(name: String, conf: Configuration): LogStore =
    try {
      val stores = DeltaClasses.named("storage.LogStore$").getField("MODULE$").get(null)
      val make = stores.getClass.getMethods.find(_.getName == "createLogStoreWithClassName").get
      val store = make.invoke(stores, name, SparkEnv.get.conf, conf)
      val adaptor = DeltaClasses.named("storage.LogStoreInverseAdaptor").getConstructors.head
      adaptor.newInstance(store, conf).asInstanceOf[LogStore]
    } catch { case NonFatal(_) => throw PmeErrors.deltaStore(name) }
}
