package io.pmeparquet.spark.admin

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.keys.{KeyPurpose, Kms, NoKms}
import io.pmeparquet.orc.OrcUsage
import io.pmeparquet.parquet.inspect.{FileUsage, FileUse}
import io.pmeparquet.parquet.rotation.RotationKeys
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.SparkAccess

/**
 * Reads the footers of many files on executors: which keys they have. ''Driver only.''
 *
 * @param options of the KMS; without a KMS, this finds only what files show without keys
 */
private[admin] final class FooterReading(
    session: SparkSession,
    options: Map[String, String],
    purpose: KeyPurpose = KeyPurpose.Inspect
) {
  import FooterReading._

  private val conf = SparkAccess.hadoopConf(session, options)
  // Files may be older than the session's policy.
  private val resolved = ResolvedOptions.ofSource(session, options, purpose)

  val kms: Kms = if (resolved.namesKms) resolved.openKms(purpose) else NoKms

  /** Opens whatever the options have keys for, also files that they refuse: this scope reads no rows. */
  val scope: ReadScope = {
    DriverRoute.warnWhereReadable(session)
    RotationKeys.open(kms, None, resolved.readSettings, DriverRoute.open()).scope
  }

  /**
   * What protects each file of each part.
   *
   * @param opensColumns as in [[FileUsage]]
   */
  def look(parts: Seq[Seq[ListedFile]], opensColumns: Boolean = false): Seq[Looked] = {
    val usage = new FileUsage(scope, opensColumns)
    val step = Progress.step(session, "looking into footers", parts.map(_.size).sum)
    step.begin()
    parts.map {
      _.grouped(AtOnce)
        .flatMap(FileJob.each(session, conf, _)((file, conf) => step.counting(0)(useOf(usage, file, conf))))
        .toList
    }
  }

  /** The same files, with columns that Spark takes for one under one name. */
  def spelt(looked: Looked): Looked = {
    val inOrder = looked.sortBy(_._1.path).collect { case (_, Right(use)) => use }
    val spelling = Spellings.of(inOrder, SparkAccess.sqlConf(session).caseSensitiveAnalysis)
    looked.map { case (file, found) => file -> found.map(spelling.in) }
  }
}

private[spark] object FooterReading {
  type Looked = Seq[(ListedFile, Either[FileFailure, FileUse])]

  private val AtOnce = 1000

  private def useOf(usage: FileUsage, file: ListedFile, conf: Configuration): FileUse = {
    val path = new Path(file.path)
    ByFormat(path, conf)(usage.of(file, conf))(OrcUsage.of(path, file.length, conf))
  }
}

/**
 * Treats columns of several files whose names differ only in letter case as one column, like Spark and `columnKeys`,
 * and names it as the first file does. Otherwise a file with a readable `SALARY` would go unnoticed among files with an
 * encrypted `salary`. With `spark.sql.caseSensitive` each spelling is a column. ''Driver only.''
 *
 * @param names in the order of files
 */
private[admin] final class Spellings(names: Iterable[String], caseSensitive: Boolean) {
  private val first: Map[String, String] =
    if (caseSensitive) Map.empty
    else names.toSeq.reverseIterator.map(name => folded(name) -> name).toMap

  def apply(name: String): String = first.getOrElse(folded(name), name)

  /** The same file, with columns in these spellings. */
  def in(file: FileUse): FileUse = file.copy(
    uses = file.uses.map { use =>
      use.copy(columns = use.columns.map(apply).distinct, unreadable = use.unreadable.map(apply).distinct)
    },
    columns = file.columns.map(_.map(one => one.copy(column = apply(one.column))).distinct)
  )

  private def folded(name: String) = name.toLowerCase(Locale.ROOT)
}

private[admin] object Spellings {

  /** @param files in their order */
  def of(files: Iterable[FileUse], caseSensitive: Boolean): Spellings = {
    val names = files.flatMap { file =>
      file.columns.toSeq.flatten.map(_.column) ++ file.uses.flatMap(use => use.columns ++ use.unreadable)
    }
    new Spellings(names, caseSensitive)
  }
}
