package io.pmeparquet.delta

import scala.util.control.NonFatal

import io.delta.storage.{AzureLogStore, GCSLogStore, HDFSLogStore, LogStore, S3SingleDriverLogStore}
import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkEnv

import io.pmeparquet.spark.session.{DeltaClasses, GuardSetting}
import io.pmeparquet.PmeErrors

/** Which store is behind the guard of Delta's commits: that which Delta would take without it. ''Driver only.'' */
private[delta] object LogStores {

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
