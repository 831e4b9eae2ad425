package io.pmeparquet.spark.rules

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{DecryptionPropertiesFactory, EncryptionPropertiesFactory}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.SettingNames
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Judges each Parquet or ORC node that is not ours by the configuration that Spark resolves for it. If that, the session or
 * the node has names that ask for encryption (`pme-parquet.*`, `parquet.encryption.*`, `parquet.crypto.*`), then what runs
 * must read them: our crypto factory, or for parquet-java's names alone another that loads. Otherwise the data would be in
 * plaintext, or not authenticated, and nobody would know. Settings of our formats (`spark.datasource.pme-parquet.*`) do not
 * count. ''Driver only.''
 */
private[rules] final class ResolvedFactory(session: => SparkSession) {
  import ResolvedFactory._

  /** What the session asks for: names as they are spelt, and values. */
  private lazy val ofSession: Map[String, String] = {
    val ofSql = SparkAccess.sqlConf(session).getAllConfs.filter { case (name, _) => asks(name) }
    val ofHadoop = session.sparkContext.hadoopConfiguration.iterator.asScala
      .map(entry => entry.getKey -> entry.getValue)
      .filter { case (name, _) => asks(name) }
    ofHadoop.toMap ++ ofSql
  }

  def requireWrite(found: FormatOptions): Unit =
    if (found.stores && !found.ours) new Judgement(found, "write").requireFit()

  def requireRead(found: FormatOptions): Unit =
    if ((found.stores || found.isDeltas) && !found.ours) {
      val judgement = new Judgement(found, "read")
      // Rules of its own judge Delta's settings, and not whether Spark skips its files.
      if (!found.isDeltas) judgement.requireFit()
      judgement.requireNoneSkipped()
    }

  /** Refuses settings of the session that nobody hears, for a format whose own rules judge the others. */
  def requireHeard(statement: String): Unit = if (ofSession.nonEmpty) {
    ofSession.keys.map(SettingNames.bare).foreach(SettingNames.check)
    refuseUnheard(lateIn(SparkAccess.hadoopConf(session, Map.empty)), statement, ofLate)
  }

  /** Spark takes its prefix away only from what was set before it started. */
  private def lateIn(resolved: Configuration): Iterable[String] = ofSession.collect {
    case (name, value)
        if SettingNames.hasSparkPrefix(name) && resolved.getRaw(SettingNames.bare(name)) != value &&
          session.sparkContext.getConf.get(name, null) != value =>
      name
  }

  /**
   * Options that Spark drops: those of `saveAsTable` in mode append give way to those of the table.
   *
   * @param kept the options of the table
   */
  def requireKept(found: FormatOptions, kept: FormatOptions): Unit = if (kept.stores && !found.ours) {
    val resolved = SparkAccess.hadoopConf(session, kept.options)
    val lost = asking(found).collect { case (name, value) if resolved.getRaw(name) != value => name }
    refuseUnheard(lost, s"write to '${kept.format}'", ofAppend)
  }

  private final class Judgement(found: FormatOptions, verb: String) {
    private def statement = s"$verb of '${found.format}'"
    private val ofNode = asking(found)
    private val names = (ofSession.keys ++ ofNode.keys).toSeq.distinct.sorted
    private lazy val resolved =
      SparkAccess.hadoopConf(session, if (found.reaches) found.options else Map.empty)
    private lazy val factory = CryptoFactory.of(resolved)
    private lazy val isOfOurs =
      names.exists(SettingNames.isFactorys) || factory.contains(FormatName.CryptoFactoryClass)

    def requireFit(): Unit = if (names.nonEmpty) {
      names.map(SettingNames.bare).foreach(SettingNames.check)
      refuseUnheard(lateIn(resolved), statement, ofLate)
      refuseUnheard(
        ofNode.toSeq.collect { case (name, value) if isLost(name, value) => name },
        statement,
        if (found.reaches) ofLate else ofSink
      )
      val fits = factory.exists { name =>
        (!names.exists(SettingNames.isFactorys) || name == FormatName.CryptoFactoryClass) && loads(name)
      }
      if (!fits)
        throw PmeErrors.factoryDoesNotFit(
          statement,
          names,
          factory,
          FormatName.CryptoFactoryClass
        )
    }

    def requireNoneSkipped(): Unit = if (names.nonEmpty && isOfOurs)
      for ((option, ofSession) <- Skipping) {
        val set = found.options.collectFirst { case (name, value) if name.equalsIgnoreCase(option) => value }
        val setting = SparkAccess.sqlConf(session).getConfString(ofSession, "false")
        if (set.getOrElse(setting).trim.equalsIgnoreCase("true"))
          throw PmeErrors.skippedFiles(set.fold(ofSession)(_ => option), statement)
      }

    private def isLost(name: String, value: String) =
      (SettingNames.hasSparkPrefix(name) || !found.reaches) &&
        resolved.getRaw(SettingNames.bare(name)) != value

    private def loads(name: String) = {
      val wanted =
        if (verb == "write") classOf[EncryptionPropertiesFactory] else classOf[DecryptionPropertiesFactory]
      loaded(name, resolved).exists(wanted.isAssignableFrom)
    }
  }

  private def refuseUnheard(names: Iterable[String], statement: String, reason: (String, String)): Unit =
    if (names.nonEmpty)
      throw PmeErrors.settingsNotHeard(statement, names.toSeq.distinct.sorted, reason._1, reason._2)
}

private object ResolvedFactory {
  private val Skipping = Seq(
    "ignoreCorruptFiles" -> "spark.sql.files.ignoreCorruptFiles",
    "ignoreMissingFiles" -> "spark.sql.files.ignoreMissingFiles"
  )

  private val ofLate = (
    "Spark takes spark.hadoop. away only from settings that it has when it starts",
    "Set them without spark.hadoop. in a running session, or before Spark starts, or remove them."
  )
  private val ofSink = (
    "the file sink of a stream does not pass its options on",
    "Write with format(\"pme-parquet\"), or set them in the session."
  )
  private val ofAppend = (
    "saveAsTable drops options if the table exists, and takes those of the table",
    "Set them in the session or in the table's OPTIONS, or remove them."
  )

  private def asks(name: String) = SettingNames.concerns(name)

  private def asking(found: FormatOptions): Map[String, String] =
    ConfResolver.spelled(found.options).filter { case (name, value) => value != null && asks(name) }

  private def loaded(name: String, conf: Configuration): Option[Class[_]] =
    try Option(conf.getClassByNameOrNull(name))
    catch { case _: LinkageError => None }
}
