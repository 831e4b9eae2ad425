package io.pmeparquet.spark.rules

import scala.collection.JavaConverters._

import org.apache.parquet.crypto.{DecryptionPropertiesFactory, EncryptionPropertiesFactory}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{OrcNames, ParquetNames, SessionNames, SettingNames}
import io.pmeparquet.spark.options.{LateSettings, ResolvedOptions}
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Evaluates each Parquet or ORC node that is not ours by the configuration that Spark resolves for it. If that, the session or
 * the node has names that ask for encryption (`pme-parquet.*`, `parquet.encryption.*`, `parquet.crypto.*`), then what runs
 * must read them: our crypto factory, or for parquet-java's names alone another that loads. Otherwise the data would be in
 * plaintext, or not authenticated, and nobody would know. Settings of our formats (`spark.datasource.pme-parquet.*`) do not
 * count. ''Driver only.''
 */
private[pmeparquet] final class ResolvedFactory(session: => SparkSession) {
  import ResolvedFactory._

  /** What the session asks for: names as they are spelt, and values. */
  private lazy val ofSession: Map[String, String] = {
    val ofSql = SparkAccess.sqlConf(session).getAllConfs.filter { case (name, _) => asks(name) }
    val ofHadoop = session.sparkContext.hadoopConfiguration.iterator.asScala
      .map(entry => entry.getKey -> entry.getValue)
      .filter { case (name, _) => asks(name) }
    ofHadoop.toMap ++ ofSql
  }

  def requireWrite(found: FormatOptions): Unit = {
    val evaluation = new Evaluation(found, isWrite = true)
    if (found.isOrc) evaluation.requireOrc()
    if (found.stores && !found.ours) evaluation.requireFit()
  }

  def requireRead(found: FormatOptions): Unit =
    if ((found.stores || found.isDeltas) && !found.ours) {
      val evaluation = new Evaluation(found, isWrite = false)
      if (found.isOrc) evaluation.requireOrc()
      // Rules of its own evaluate Delta's settings, and not whether Spark skips its files.
      if (!found.isDeltas) evaluation.requireFit()
      evaluation.requireNoneSkipped()
    }

  /** Evaluates the settings of the session, for a write of a format that takes no options. */
  def requireSession(format: String): Unit =
    new Evaluation(new FormatOptions(format, Map.empty, stores = true)(false), isWrite = true).requireFit()

  /**
   * Options that Spark drops: those of `saveAsTable` in mode append give way to those of the table.
   *
   * @param kept the options of the table
   */
  def requireKept(found: FormatOptions, kept: FormatOptions): Unit = {
    lazy val resolved = SparkAccess.hadoopConf(session, kept.options)
    val options = ResolvedOptions.spelled(found.options).filter(_._2 != null)
    val lost = options.collect {
      case (name, value) if kept.stores && isOfConfiguration(name, found) && resolved.getRaw(name) != value =>
        name
      case (name, value) if found.ours && ParquetNames.isOption(name) && !isKept(name, value, kept) => name
    }
    refuseUnheard(lost, s"write to '${kept.format}'", ofAppend)
  }

  private def isOfConfiguration(name: String, found: FormatOptions) =
    OrcNames.concerns(name) || (asks(name) && !found.ours)

  /** Whether the table or the session has the value of an option of ours. */
  private def isKept(name: String, value: String, kept: FormatOptions) = {
    val conf = SparkAccess.sqlConf(session)
    val ofTable = kept.options.collectFirst { case (other, set) if other.equalsIgnoreCase(name) => set }
    val ofSession = conf.getAllConfs.collectFirst {
      case (other, set) if other.equalsIgnoreCase(FormatName.SessionPrefix + name) => set
    }
    ofTable.orElse(ofSession).contains(value)
  }

  private final class Evaluation(found: FormatOptions, isWrite: Boolean) {
    private def statement = s"${if (isWrite) "write" else "read"} of '${found.format}'"
    private lazy val ofNode = ResolvedOptions.spelled(found.options).filter { case (name, value) =>
      value != null && asks(name)
    }
    private lazy val names = (ofSession.keys ++ ofNode.keys).toSeq.distinct.sorted
    private lazy val resolved =
      SparkAccess.hadoopConf(session, if (found.reaches) found.options else Map.empty)
    private lazy val factory = CryptoFactory.of(resolved)
    private lazy val isOfOurs =
      names.exists(SettingNames.isFactorys) || factory.contains(FormatName.CryptoFactoryClass)

    /**
     * ORC has settings of its own. Those of a crypto factory it does not read, so that a session which has them would write
     * plaintext.
     */
    def requireOrc(): Unit = {
      (SparkAccess.hadoopNames(session) ++ ResolvedOptions.spelled(found.options).keys)
        .filter(OrcNames.concerns)
        .foreach(name => OrcNames.check(SettingNames.bare(name)))
      if (SparkAccess.sqlConf(session).getAllConfs.keys.exists(name => OrcNames.concerns(name)))
        refuseUnheard(LateSettings.of(session, resolved, OrcNames.concerns), statement, ofLate)
      if (isWrite && names.nonEmpty && resolved.get(OrcNames.Encrypt, "").trim.isEmpty)
        throw PmeErrors.orcInPlaintext(statement, names)
    }

    def requireFit(): Unit = if (names.nonEmpty) {
      names.map(SettingNames.bare).foreach(SettingNames.check)
      refuseUnheard(LateSettings.of(session, resolved, asks), statement, ofLate)
      val lost = ofNode.toSeq.collect { case (name, value) if isLost(name, value) => name }
      refuseUnheard(lost, statement, if (found.reaches) ofLate else ofSink)
      if (isWrite && !factory.contains(FormatName.CryptoFactoryClass)) requireNotEmpty()
      if (isWrite) requireNoPolicy(statement)
      val fits = factory.exists { name =>
        (!names.exists(SettingNames.isFactorys) || name == FormatName.CryptoFactoryClass) && loads(name)
      }
      if (!fits)
        throw PmeErrors.factoryDoesNotFit(statement, names, factory, FormatName.CryptoFactoryClass)
    }

    /** parquet-java's own factory takes an empty key for none, and would write plaintext. */
    private def requireNotEmpty(): Unit = {
      val set = SettingNames.OfKeys.filter(resolved.getRaw(_) != null)
      if (set.nonEmpty && set.forall(name => resolved.get(name).trim.isEmpty))
        throw PmeErrors.emptyKeys(statement, set)
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
        if (isWrite) classOf[EncryptionPropertiesFactory] else classOf[DecryptionPropertiesFactory]
      try Option(resolved.getClassByNameOrNull(name)).exists(wanted.isAssignableFrom(_))
      catch { case _: LinkageError => false }
    }
  }

  /** What encrypts by settings of a Hadoop configuration does not follow the session's policy. */
  def requireNoPolicy(statement: String): Unit =
    if (SparkAccess.sqlConf(session).getAllConfs.keys.exists(SessionNames.isPolicy))
      throw PmeErrors.policyOfFactory(statement)

  private def refuseUnheard(names: Iterable[String], statement: String, reason: (String, String)): Unit =
    if (names.nonEmpty)
      throw PmeErrors.settingsNotHeard(statement, names.toSeq.distinct.sorted, reason._1, reason._2)
}

private object ResolvedFactory {
  private val Skipping = Seq(
    "ignoreCorruptFiles" -> "spark.sql.files.ignoreCorruptFiles",
    "ignoreMissingFiles" -> "spark.sql.files.ignoreMissingFiles"
  )

  private val ofLate = (LateSettings.Why, LateSettings.Remedy)
  private val ofSink = (
    "the file sink of a stream does not pass its options on",
    "Write with format(\"pme-parquet\"), or set them in the session."
  )
  private val ofAppend = (
    "saveAsTable drops options if the table exists, and takes those of the table",
    "Set them in the session or in the table's OPTIONS, or remove them."
  )

  private def asks(name: String) = SettingNames.concerns(name)
}
