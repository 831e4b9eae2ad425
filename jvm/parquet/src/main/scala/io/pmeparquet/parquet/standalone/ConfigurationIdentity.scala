package io.pmeparquet.parquet.standalone

import java.util.{Base64, Locale, UUID}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.kms.client.ConfigurationDigest
import io.pmeparquet.options.{OptionSpec, ParquetNames, PmeOptions}
import io.pmeparquet.Sha256

/**
 * What two processes of an application compare, to know whether they would open the same KMS: a digest of every setting
 * that a client could look at. Settings that engines add for one read or write are left out, and so are options that say
 * which keys to use. The less is left out, the rarer another's KMS is taken for one's own.
 */
private[standalone] object ConfigurationIdentity {
  def of(conf: Configuration): String = {
    val entries = conf.asScala
      .filter(entry => counts(entry.getKey) && !isDefault(conf, entry.getKey))
      .map(entry => entry.getKey -> valueOf(conf, entry.getKey, entry.getValue))
      .toSeq
    // Secrets may be in settings of Spark.
    val referred = ConfigurationOptions.referredTo(conf).map(name => name -> String.valueOf(conf.get(name)))
    val texts = (entries.sorted ++ referred).flatMap { case (name, value) => Seq(name, value) }
    Base64.getEncoder.encodeToString(Sha256.ofTexts(texts))
  }

  /**
   * With the settings that it refers to in their places, because they may be ones that are left out. Properties of the
   * JVM and variables of the environment stay references: processes may have others, and the driver's count.
   */
  private def valueOf(conf: Configuration, name: String, raw: String): String = {
    val text = String.valueOf(raw)
    val refers = Variable.findAllMatchIn(text).exists(found => conf.getRaw(found.group(1)) != null)
    if (refers || Nested.findFirstIn(text).isDefined)
      try String.valueOf(conf.get(name))
      // Settings that refer to each other without an end. Nothing can read this one.
      catch { case _: IllegalStateException => text }
    else text
  }

  // As Hadoop has them.
  private val Variable = """\$\{([^}$\s]+)}""".r
  private val Nested = """\$\{[^}]*\$\{""".r

  /** What a process asks the driver for: a key broker for its configuration, and for its generation of keys. */
  def requestOf(conf: Configuration): String = of(conf) + KeyGeneration.of(conf).fold("")(s"$Separator" + _)

  /** The digest in a request, and the generation. */
  def in(request: String): (String, Option[String]) = {
    val (digest, generation) = request.span(_ != Separator)
    digest -> (if (generation.isEmpty) None else Some(generation.drop(1)))
  }

  // Not in base64.
  private val Separator = ' '

  private def counts(name: String): Boolean =
    if (name == KeyGeneration.Name) false
    else if (Ours.exists(name.startsWith)) !OfKeys.contains(name.toLowerCase(Locale.ROOT))
    else
      !Engines.exists(name.startsWith) && !OfStatements.contains(name.toLowerCase(Locale.ROOT)) &&
      !ConfigurationDigest.isOfHiveTable(name)

  private val Ours = Seq(PmeOptions.FactoryPrefix, PmeOptions.ParquetPrefix)

  // Delta adds the properties of a table to the configuration of a write. Other settings of Spark's may be a client's.
  private val Engines =
    Seq(
      "spark.sql.",
      "spark.databricks.",
      "org.apache.spark.",
      "mapreduce.",
      "mapred.",
      "yarn.",
      "parquet.",
      "delta."
    )

  // Delta reads its checkpoints with some of these, and writes with the last one on Spark 4.2.
  private val OfStatements = Set(
    "returning_batch",
    "ignorecorruptfiles",
    "ignoremissingfiles",
    "mergeschema",
    "datetimerebasemode",
    "int96rebasemode",
    "writepartitioncolumns"
  )

  private val OfKms: Set[OptionSpec] =
    (PmeOptions.kmsOptions ++ PmeOptions.auditOptions ++ Seq(
      PmeOptions.InstanceId,
      PmeOptions.InstanceUrl,
      PmeOptions.AccessToken,
      // The driver keeps keys as long as the configuration says for which it opened the KMS.
      PmeOptions.CacheLifetime
    )).toSet

  private val OfKeys: Set[String] = PmeOptions.all
    .filterNot(OfKms.contains)
    .flatMap(option => (PmeOptions.FactoryPrefix + option.name) +: ParquetNames.of(option).toSeq)
    .map(_.toLowerCase(Locale.ROOT))
    .toSet

  /** Hadoop's own defaults come with its classes, which processes load at different times. */
  private def isDefault(conf: Configuration, name: String): Boolean =
    Option(conf.getPropertySources(name)).exists(_.lastOption.exists(_.endsWith("-default.xml")))
}

/**
 * Which key-encryption keys the writers of a configuration share. With another generation, they take new ones from the
 * KMS, though the keys from before have not expired. The driver that starts it need not reach executors or key brokers: the
 * configuration of each later task has it.
 */
private[pmeparquet] object KeyGeneration {
  val Name = "pme.parquet.key.generation"

  def of(conf: Configuration): Option[String] = Option(conf.get(Name))

  // As many as there were rotations.
  private val begun = ConcurrentHashMap.newKeySet[String]()

  /** Starts a new one, for all whose configurations are copies of this one that are made from now on. */
  def begin(conf: Configuration): Unit = {
    val generation = UUID.randomUUID().toString
    begun.add(generation)
    conf.set(Name, generation)
  }

  /** Whether this process started it. Any other is not answered, because each one that is answered costs memory. */
  def isKnown(generation: String): Boolean = begun.contains(generation)
}
