package io.pmeparquet.spark.rules

import java.util.concurrent.ConcurrentHashMap
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.parquet.crypto.{DecryptionPropertiesFactory, EncryptionPropertiesFactory}
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.options.{OrcNames, ParquetNames, SettingNames, TellingOptions}
import io.pmeparquet.spark.options.{LateSettings, ResolvedOptions}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses a write that gives options of ours to another format: the user believes that the data is encrypted, but other
 * formats ignore options that they do not know. For a read it logs a warning. For Parquet and ORC the resolved configuration
 * decides, for reads as well ([[ResolvedFactory]]).
 *
 * As an optimizer rule it sees the writes of a session that has used the format before. [[PmeExtensions]] checks every
 * plan during analysis, so with it this rule sees all writes. ''Driver only.''
 */
private[spark] object OtherFormats extends Rule[LogicalPlan] {
  private val logger = LoggerFactory.getLogger("io.pmeparquet")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    check(SparkSession.active, plan)
    plan
  }

  def check(session: => SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val factory = new ResolvedFactory(session)
    PlanFields.nodes(plan).foreach { node =>
      FormatOptions.writes(node).foreach { found =>
        refuse(session, found)
        factory.requireWrite(found)
      }
      node match {
        case stream: WriteToStream => requireNoOrcKeys(stream.sink)
        case batch: WriteToMicroBatchDataSourceV1 => requireNoOrcKeys(batch.sink)
        case _ => ()
      }
      FormatOptions.reads(node).foreach { found =>
        factory.requireRead(found)
        misplaced(session, found).foreach { case (options, format) =>
          if (isNew(s"$format: $options")) logger.warn(PmeErrors.optionsOfOursOnRead(options, format))
        }
      }
    }
  }

  /**
   * Fails for a sink of Spark's own `orc` that is to encrypt with our keys. Spark gives such a sink's format none of its
   * options, so it would write plaintext.
   */
  private def requireNoOrcKeys(sink: AnyRef): Unit = {
    def encrypts =
      StreamSinks.options(sink).exists(found => UseOrcKeys.asksUs(found) && UseOrcKeys.encrypts(found))
    if (StreamSinks.formats(sink).exists(UseOrcKeys.isSparks) && encrypts) throw PmeErrors.orcProviderAlone
  }

  /**
   * Checks `saveAsTable`. If the table exists, Spark drops these options later, so no other check would see them.
   *
   * @param existing the table that the statement appends to
   */
  def checkTable(session: => SparkSession, table: CatalogTable, existing: => Option[CatalogTable]): Unit =
    PmeSparkException.translated {
      val found = FormatOptions.ofTable(table)
      refuse(session, found)
      existing.foreach(kept => new ResolvedFactory(session).requireKept(found, FormatOptions.ofTable(kept)))
    }

  private def refuse(session: => SparkSession, found: FormatOptions): Unit =
    misplaced(session, found).foreach { case (options, format) =>
      throw (
        if (Deltas.contains(format.toLowerCase(Locale.ROOT))) PmeErrors.deltaIgnores(options)
        else PmeErrors.optionsOfOurs(options, format)
      )
    }

  /** What [[FormatOptions]] calls Delta, and its sink of streams, in lower case. */
  private val Deltas = Set("delta", "deltasink")

  /** The options of ours, and the format that gets them, if that is another format. */
  private def misplaced(session: => SparkSession, found: FormatOptions): Option[(Seq[String], String)] = {
    val names = ResolvedOptions.spelled(found.options).keys
    // Plans are many, and options of ours are rare: only such options need the Hadoop configuration.
    if (TellingOptions.among(names, parquetEncrypts = false).isEmpty || found.ours) None
    else {
      val factory = factoryOf(session, found.options)
      val telling = TellingOptions.among(names, found.isParquet && factory.isDefined)
      // Other formats that write Parquet, such as Delta, need not pass a write's options on.
      val isHeard =
        found.format.equalsIgnoreCase("parquet") && factory.contains(FormatName.CryptoFactoryClass)
      val unheard = if (isHeard) Nil else TellingOptions.ofFactory(names)
      Some((telling ++ unheard).distinct).filter(_.nonEmpty).map(_ -> found.format)
    }
  }

  private def factoryOf(session: SparkSession, options: Map[String, String]): Option[String] =
    CryptoFactory.of(SparkAccess.hadoopConf(session, options))

  private val warned = ConcurrentHashMap.newKeySet[String]()
  private val MaxWarned = 1000

  private def isNew(what: String): Boolean = {
    if (warned.size > MaxWarned) warned.clear()
    warned.add(what)
  }
}

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

/**
 * Refuses options that ask for encryption where Spark drops them when it resolves a name: those of a table of Hive, or of a
 * view (`spark.read.options(…).table(name)`, `INSERT INTO name WITH (…)`). The rule runs before names are resolved, and
 * sees Spark's hints only by chance. ''Driver only.''
 */
private[spark] final class OptionsOfNames(session: SparkSession) extends Rule[LogicalPlan] {
  import OptionsOfNames._

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    PlanFields.nodes(plan).foreach {
      case relation: UnresolvedRelation => check(relation, "read")
      case insert: InsertIntoStatement =>
        insert.table match {
          case relation: UnresolvedRelation => check(relation, "write")
          case _ => ()
        }
      case _ => ()
    }
    plan
  }

  private def check(relation: UnresolvedRelation, verb: String): Unit = if (!relation.options.isEmpty) {
    val names = relation.options.asCaseSensitiveMap().keySet.asScala.toSeq
    val asking = names.filter { name =>
      SettingNames.concerns(name) || OrcNames.concerns(name) ||
      TellingOptions.among(Seq(name), parquetEncrypts = false).nonEmpty
    }
    if (asking.nonEmpty && isDropping(relation.multipartIdentifier))
      throw PmeErrors.settingsNotHeard(
        s"$verb of '${relation.multipartIdentifier.mkString(".")}'",
        asking.sorted,
        Reason,
        Remedy
      )
  }

  private def isDropping(name: Seq[String]): Boolean = {
    val catalog = session.sessionState.catalog
    catalog.isTempView(name) || identifier(name).exists { table =>
      catalog.tableExists(table) && {
        val found = catalog.getTableMetadata(table)
        found.tableType == CatalogTableType.VIEW || found.provider.forall(_.equalsIgnoreCase("hive"))
      }
    }
  }

  /** The name in the catalog of the session, if it is one. */
  private def identifier(name: Seq[String]): Option[TableIdentifier] = {
    def isCurrent = session.catalog.currentCatalog() == SessionCatalog
    name match {
      case Seq(table) if isCurrent => Some(TableIdentifier(table))
      case Seq(database, table) if isCurrent => Some(TableIdentifier(table, Some(database)))
      case Seq(SessionCatalog, database, table) => Some(TableIdentifier(table, Some(database)))
      case _ => None
    }
  }
}

private object OptionsOfNames {
  private val SessionCatalog = "spark_catalog"
  private val Reason = "Spark drops the options of a table of Hive, and of a view"
  private val Remedy = "Set them in the session, read or write by path, or remove them."
}
