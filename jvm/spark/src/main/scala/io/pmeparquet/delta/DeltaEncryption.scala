package io.pmeparquet.delta

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.options.{PmeOptions, PrefixedOptions, Settings}
import io.pmeparquet.parquet.inspect.{FileUse, KeyUse}
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.admin.job.{FileFailure, Progress}
import io.pmeparquet.spark.admin.sql.TableFunctions
import io.pmeparquet.spark.admin.LoggedFiles
import io.pmeparquet.spark.keys.SessionKeys
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.rules.ResolvedFactory
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

/**
 * Encrypts Delta tables, and rotates their keys: properties first, then all live files in one commit of Delta's own, which
 * changes no row. Each step can be repeated: a run that was killed is finished by the next one.
 * {{{
 * DeltaEncryption.encrypt(spark, "people", Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn"))
 * SELECT * FROM pme_delta_encrypt('people', options => map('footerKey', 'footer', 'columnKeys', 'pii: ssn'))
 * }}}
 * The session encrypts what Delta writes (docs/delta.md): it has our extension and crypto factory, a KMS and a footer key.
 * ''Driver only.''
 */
object DeltaEncryption {

  /**
   * Everything is checked before anything changes, also that the KMS can wrap with each key.
   *
   * @param table its name, its directory, or `` delta.`directory` ``
   * @param options `footerKey`, `columnKeys`, `unlistedColumns`, `algorithm` or `uniformKey`; others must be those of the
   *   session
   * @throws io.pmeparquet.PmeException if the table has other keys, if the log would show values of a protected column, if
   *   the session or the KMS does not fit, or if another session kept writing files without these keys
   */
  def encrypt(session: SparkSession, table: String, options: Map[String, String]): EncryptedDeltaTable =
    running(session, table, options) { run =>
      run.requireNoOtherKeys()
      run.done(every = false)
    }

  /**
   * Rewrites all live files of an encrypted table with new data keys, under these master keys. Versions from before stay
   * readable with the old keys, until VACUUM deletes their files. Arguments and failures are those of `encrypt`.
   */
  def rotate(session: SparkSession, table: String, options: Map[String, String]): EncryptedDeltaTable =
    running(session, table, options) { run =>
      run.requireKeys()
      run.done(every = true)
    }

  /** The same for users who have only SQL. */
  private[pmeparquet] def functions: Seq[TableFunctions.Function] = Seq(
    TableFunctions.changing(
      "pme_delta_encrypt",
      "Encrypts a Delta table, and returns a row that says what was done and what is left to do.",
      EncryptedDeltaTable.results
    )(encrypt(_, _, _)),
    TableFunctions.changing(
      "pme_delta_rotate",
      "Gives an encrypted Delta table new keys, and returns a row that says what was done and what is left to do.",
      EncryptedDeltaTable.results
    )(rotate(_, _, _))
  )

  /** For Python. */
  def encrypt(session: SparkSession, table: String, options: java.util.Map[String, String]): String =
    Progress.unwatching(encrypt(session, table, options.asScala.toMap).json)

  /** For Python. */
  def rotate(session: SparkSession, table: String, options: java.util.Map[String, String]): String =
    Progress.unwatching(rotate(session, table, options.asScala.toMap).json)

  private def running(session: SparkSession, name: String, options: Map[String, String])(
      run: DeltaEncryption => EncryptedDeltaTable
  ): EncryptedDeltaTable = PmeSparkException.translated {
    ResolvedOptions.ofFrame(session, options).checkNames()
    if (options.keys.exists(_.equalsIgnoreCase(PmeOptions.Policy.name))) throw PmeErrors.policyOfFactory(name)
    new ResolvedFactory(session).requireNoPolicy(name)
    val table = new SessionTable(session, name)
    table.active(run(new DeltaEncryption(table, options)))
  }

  private val Attempts = 4

  /**
   * What the live files of a version are.
   *
   * @param files their number
   * @param other number of files with a footer or a column that has another key than it is to have, or none; or with a
   *   column that the table does not have
   * @param shown number of files that the log has statistics of protected columns for
   */
  private[delta] final case class FilesFound(files: Long, other: Long, shown: Long) {

    /** Whether all files are as they are to be. */
    def isClean: Boolean = other == 0 && shown == 0
  }

  /** Whether the columns and the footer of a file have the keys that they are to have. */
  private[delta] def fits(use: FileUse, keys: Map[String, Option[String]], footerKey: String): Boolean =
    use.isEncrypted &&
      use.uses.filter(_.kind == KeyUse.Footer).forall(_.masterKeyId.contains(footerKey)) &&
      use.columns.exists(found =>
        found.nonEmpty && found.forall { column =>
          keys.get(DeltaTable.lower(column.column)) match {
            case None => false
            // In a session with a footer key, Delta's writer encrypts also columns that may be readable.
            case Some(None) => column.isReadable || column.masterKey.contains(footerKey)
            case Some(key) => !column.isReadable && column.masterKey == key
          }
        }
      )

  /** The failure after the last attempt. */
  private[delta] def unfinished(table: String, found: FilesFound, rewrites: Long): PmeException =
    if (rewrites == 0) PmeErrors.deltaConflicts(table, Attempts, found.other, found.files)
    else if (found.isClean) PmeErrors.deltaStillLive(table, rewrites)
    else PmeErrors.deltaPlaintextLeft(table, rewrites, found.other, found.shown)
}

/** One run on one table. Making it changes nothing, and finds what would stop it. */
private final class DeltaEncryption(table: SessionTable, options: Map[String, String]) {
  import DeltaEncryption._

  private val before = table.version
  private val session = table.session
  private val clustering = table.clustering
  private val settings = new SessionOptions(table.path, table.configuration, options)
  private val plan = {
    // The table as it will be, as far as it is known without a plan: a session that cannot write has no use for one.
    DeltaRules.requireSession(session, withKeys(settings.footerKey))
    DeltaKeyPlan.of(session, before.table, clustering, settings.effective)
  }
  DeltaRules.requireSilent(session, withKeys(plan.properties))
  // Also those that the session allows: what is tried below has the keys alone.
  if (before.table.planted.nonEmpty) throw PmeErrors.deltaProperties(table.path, before.table.planted)
  if (clustering.isEmpty && plan.order.isEmpty) throw PmeErrors.deltaUnordered(table.path)
  private val rewriting = new DeltaRewrite(table)
  prove()

  private def withKeys(keys: Map[String, String]) = new DeltaTable(
    table.path,
    before.table.properties -- before.keys.keys ++ keys,
    before.table.schema,
    before.table.partitionColumns,
    before.table.log
  )

  /** Lets the crypto factory make the keys of a file, as a task of Delta's does. No file is written. */
  private def prove(): Unit = {
    val conf = table.configuration
    plan.properties.foreach { case (name, value) => conf.set(name, value) }
    val columns = StructType(
      before.table.schema.filterNot(field => before.table.partitionColumns.contains(field.name))
    )
    val schema = new SparkToParquetSchemaConverter(SparkAccess.sqlConf(session))
      .convert(DeltaKeyPlan.inFiles(columns))
    val context = new WriteContext(schema, new java.util.HashMap[String, String])
    new PmeCryptoFactory().getFileEncryptionProperties(conf, new Path(table.path, "proof.parquet"), context)
  }

  def requireNoOtherKeys(): Unit =
    if (before.keys.nonEmpty && !isPlanned(before))
      throw PmeErrors.deltaOtherKeys(table.path, before.keys.keys.toSeq.sorted)

  private def isPlanned(version: SessionTable.Version) =
    DeltaTable.meaning(version.keys) == DeltaTable.meaning(plan.properties)

  def requireKeys(): Unit = if (before.keys.isEmpty) throw PmeErrors.deltaNoKeys(table.path)

  /**
   * Sets the properties, and rewrites files until all are as they are to be.
   *
   * @param every whether to rewrite the files also if all have these keys
   */
  def done(every: Boolean): EncryptedDeltaTable = {
    // The keys that writes of this application share were wrapped by what was the newest version of a master key then.
    if (every) SessionKeys.begin(session)
    val unfinishedRows = rewriting.finish()
    setProperties()
    val old = if (every) table.version.paths else Set.empty[String]
    val (now, found, rewritten) = rewrite(old, Nil)
    // Readers of the newest version open the last checkpoint, too.
    val result = resultOf(now, found, rewritten, rewritten.flatMap(_.rows).lastOption.orElse(unfinishedRows))
    if (every) table.checkpoint()
    result
  }

  private def rewrite(
      old: Set[String],
      rewritten: Seq[DeltaRewrite.Rewritten],
      attempt: Int = 0
  ): (SessionTable.Version, FilesFound, Seq[DeltaRewrite.Rewritten]) = {
    val now = table.version
    // Before the look: no rewrite gives a column keys that the plan does not know.
    requireUnchanged(now)
    val found = look(now)
    if (found.isClean && !(old.nonEmpty && now.paths.exists(old))) (now, found, rewritten)
    else if (attempt == Attempts) throw unfinished(table.path, found, rewritten.size)
    else rewrite(old, rewritten ++ rewriting.rewrite(plan.order.filter(_ => clustering.isEmpty)), attempt + 1)
  }

  private def setProperties(): Unit = {
    import DeltaKeyPlan.{IndexedColumns, StatisticsColumns}
    val ofStatistics =
      if (plan.statistics.nonEmpty) StatisticsColumns -> plan.statistics.mkString(",")
      else IndexedColumns -> "0"
    // A name that the table has stays: a commit that adds another one first would leave both, and one that removes it first
    // would leave the table without keys.
    val names = before.keys.keys.map(name => DeltaTable.javas(name) -> name).toMap
    val wanted = plan.properties.map { case (name, value) =>
      names.getOrElse(name, name) -> value
    } + ofStatistics
    val removed =
      before.keys.keySet ++ Set(StatisticsColumns).filter(before.table.properties.contains) -- wanted.keys
    val now = before.table.properties
    def isSame(name: String, one: String, other: String) = one == other ||
      DeltaTable.isOwn(name) && DeltaTable.meaning(Map(name -> one)) == DeltaTable.meaning(Map(name -> other))
    val changed = wanted.filterNot { case (name, value) => now.get(name).exists(isSame(name, _, value)) }
    table.alter(changed, removed.toSeq)
  }

  private def requireUnchanged(now: SessionTable.Version): Unit =
    if (
      now.table.schema != before.table.schema || !isPlanned(now) ||
      now.table.partitionColumns != before.table.partitionColumns
    ) throw PmeErrors.deltaChanged(table.path)

  /** Opens the footers of a version's live files, on executors. If one does not open, that is the failure of the run. */
  private def look(version: SessionTable.Version): FilesFound = {
    val files = version.files.select("path", "size", "modificationTime").collect().toSeq
    val listed = files.map { row =>
      ListedFile(
        LoggedFiles.at(table.path, row.getString(0)),
        row.getLong(1),
        row.getLong(2),
        hasExternalMaterial = false
      )
    }
    val readable = plan.readable
    val shown = version.files.select("stats").toLocalIterator().asScala.count { row =>
      Option(row.getString(0))
        .filter(_.nonEmpty)
        .exists(CommitGuard.shownIn(table.path, _, readable).nonEmpty)
    }
    val keys = plan.keysOf(version.table)
    val opened = LoggedFiles.looked(session, listed, settings.kms).map(_._2)
    val other = opened.count {
      case Right(use @ FileUse(_, _, Some(_), _)) => !fits(use, keys, plan.footerKey)
      case Right(use) =>
        val why = use.uses.flatMap(_.problem).headOption.getOrElse(Condition.DamagedFile.name)
        throw FileFailure(why, s"${table.path}: a live file did not open with the session's KMS: $why").raised
      case Left(failed) => throw failed.raised
    }
    FilesFound(files.size, other, shown)
  }

  private def resultOf(
      now: SessionTable.Version,
      found: FilesFound,
      rewritten: Seq[DeltaRewrite.Rewritten],
      rows: Option[Long]
  ): EncryptedDeltaTable = {
    val kept = plan.properties.keySet ++ Set(DeltaKeyPlan.StatisticsColumns, DeltaKeyPlan.IndexedColumns)
    def isKept(name: String) = kept(name) || kept(DeltaTable.javas(name))
    EncryptedDeltaTable(
      table.path,
      before.number,
      now.number,
      rewritten.map(_.removed).sum,
      rewritten.map(_.added).sum,
      found.files,
      rows,
      scala.collection.immutable.ListMap(plan.columns.map { case (name, key) => name -> key.orNull }: _*),
      now.table.properties.filter { case (name, _) => isKept(name) },
      plan.named,
      readable(now),
      EncryptedDeltaTable.left(now.removed),
      EncryptedDeltaTable.statements(table.name, now.table.properties)
    )
  }

  private def readable(now: SessionTable.Version): Seq[String] = {
    def listed(names: Seq[String]) = names.mkString(", ")
    val partitions = now.table.partitionColumns
    Seq(
      Some(s"values of partition columns (${listed(partitions)}), in names of directories and in the log")
        .filter(_ => partitions.nonEmpty),
      Some(s"minimum and maximum of ${listed(plan.statistics)}, in the log").filter(_ =>
        plan.statistics.nonEmpty
      ),
      Some(
        "nothing else of these columns; all statistics are off, as unlisted columns are under the footer key. " +
          "unlistedColumns=plaintext leaves them readable, with statistics"
      ).filter(_ => plan.isComplete),
      Some("names and types of columns, numbers of rows, sizes and times")
    ).flatten
  }
}

/** What a session's configuration says of encryption, and whether the options of a run agree with it. */
private final class SessionOptions(table: String, conf: Configuration, options: Map[String, String]) {
  import SessionOptions._

  private val byName = PrefixedOptions.once(options.toSeq)
  private val own = valuesIn(PmeOptions.FactoryPrefix)
  private val javas = valuesIn(PmeOptions.ParquetPrefix)

  private def valuesIn(prefix: String) = conf
    .getPropsWithPrefix(prefix)
    .asScala
    .map { case (name, value) =>
      DeltaTable.lower(name) -> value
    }
    .toMap

  /** The options of the KMS that the session names. */
  val kms: Map[String, String] = {
    def ofKms(prefix: String, begin: String) =
      conf.getPropsWithPrefix(prefix).asScala.toMap.filter { case (name, _) =>
        DeltaTable.lower(name).startsWith(begin)
      }
    ofKms(PmeOptions.FactoryPrefix, "kms") ++
      ofKms(PmeOptions.ParquetPrefix, "kms.").map { case (name, value) =>
        s"${PmeOptions.ParquetPrefix}$name" -> value
      }
  }

  /** The table's property for the footer key, if there is one. */
  def footerKey: Map[String, String] =
    Seq("footerkey", "uniformkey")
      .flatMap(byName.get)
      .headOption
      .orElse(ConfiguredKeys.of(conf).footer)
      .map(DeltaTable.FooterKeyName -> _)
      .toMap

  /**
   * The options of a write that Delta does: those for the table, and the session's KMS.
   *
   * @throws io.pmeparquet.PmeException if the session has other values than these options, and they count more
   */
  def effective: Map[String, String] = {
    if (byName.contains("uniformkey") && Seq("footerkey", "columnkeys").exists(byName.contains))
      throw Settings.uniformAndOthers
    options.foreach { case (name, value) => requireSame(name, value) }
    OfColumns.find(name => own.contains(DeltaTable.lower(name))).foreach { name =>
      throw PmeErrors.deltaOfSession(table, PmeOptions.FactoryPrefix + name)
    }
    val footer = footerKey.values.headOption.getOrElse(throw PmeErrors.deltaWithoutLogKey(table))
    own.get("footerkey").filter(_ != footer).foreach(_ => throw differs("footerKey"))
    val ofTable = for {
      name <- OfTables if name != "uniformKey"
      value <- byName.get(DeltaTable.lower(name))
    } yield name -> value
    ofTable.toMap ++ Map("footerKey" -> footer, "keyManagement" -> "envelope") ++ kms
  }

  private def requireSame(name: String, value: String): Unit = {
    val lower = DeltaTable.lower(name)
    val isJavas = lower.startsWith(PmeOptions.ParquetPrefix)
    val there = if (isJavas) javas.get(lower.stripPrefix(PmeOptions.ParquetPrefix)) else own.get(lower)
    val fits =
      if (OfTables.exists(_.equalsIgnoreCase(name))) lower != "algorithm" || there.forall(_ == value)
      else there.fold(Defaults.get(lower).contains(value))(_ == value)
    if (!fits) throw differs(name)
  }

  private def differs(name: String) = PmeErrors.deltaDiffers(
    table,
    name,
    if (DeltaTable.lower(name).startsWith(PmeOptions.ParquetPrefix)) name else PmeOptions.FactoryPrefix + name
  )
}

private object SessionOptions {
  private val OfColumns = Seq("columnKeys", "uniformKey", "unlistedColumns")
  // Properties of the table have these.
  private val OfTables = OfColumns ++ Seq("footerKey", "algorithm")
  private val Defaults =
    Map("plaintextfooter" -> "false", "keymaterial" -> "internal", "keymanagement" -> "envelope")
}
