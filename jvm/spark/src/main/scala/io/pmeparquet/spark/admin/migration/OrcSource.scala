package io.pmeparquet.spark.admin.migration

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, CatalogTableType, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.AcidFiles
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.Sha256

/**
 * A file of the source. ''Crosses the wire.''
 *
 * @param length of the file, in bytes, as listed
 * @param modified as listed
 * @param within the directories of its partition, `day=1/hour=2`; empty without partitions
 */
private[migration] final case class OrcFile(path: String, length: Long, modified: Long, within: String) {

  /** The path in the target. A source file that changes gets another name, so no run takes its old copy for the new one. */
  def target(extension: String): String = {
    val name = s"part-${Sha256.ofText(s"$path\n$length\n$modified").take(OrcFile.NameCharacters)}$extension"
    if (within.isEmpty) name else s"$within/$name"
  }
}

private[migration] object OrcFile {
  private val NameCharacters = 24
}

/**
 * The table to migrate. ''Driver only.''
 *
 * @param name for messages
 * @param files those that have bytes: a file of 0 bytes has no rows
 * @param empty how many files have none
 * @param partitions the partition columns
 * @param columns of a table of the catalog: its columns without those of partitions
 * @param root where the catalog says that the table is
 * @param property the wrapped master keys that a property of the table has
 * @param again lists the same table again
 */
private[migration] final case class OrcSource(
    name: String,
    files: Seq[OrcFile],
    empty: Int,
    partitions: StructType,
    columns: Option[StructType],
    root: Option[Path],
    property: Option[String]
)(again: () => OrcSource) {

  /** The same table by now. */
  def listAgain(): OrcSource = again()
}

private[migration] object OrcSource {
  private val Positions = OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute
  private val PositionLevels = OrcConf.FORCE_POSITIONAL_EVOLUTION_LEVEL.getAttribute

  /** @param source a path, or the name of a table in the session's catalog */
  def of(
      session: SparkSession,
      source: String,
      options: Map[String, String],
      conf: Configuration
  ): OrcSource = {
    val again = () => of(session, source, options, conf)
    val table = tableNamed(session, source)
    val path = new Path(source)
    val isPath = path.getFileSystem(conf).exists(path)
    table match {
      case Some(_) if isPath =>
        throw PmeErrors.badSource(
          source,
          "there is a table of the catalog and a path of this name",
          "Give the table with its catalog and database, or the path with its parent directory."
        )
      case Some(found) => ofTable(session, found, options, conf)(again)
      case None => ofPath(TableFiles.qualified(source, conf), conf)(again)
    }
  }

  private def tableNamed(session: SparkSession, source: String): Option[CatalogTable] =
    if (source.contains('/') || source.contains(':')) None
    else {
      val catalog = session.sessionState.catalog
      val parts = partsOf(session, source) match {
        case first +: rest if rest.size == 2 && first.equalsIgnoreCase("spark_catalog") => rest
        case other => other
      }
      val named = parts match {
        case Seq(table) => Some(TableIdentifier(table))
        case Seq(database, table) => Some(TableIdentifier(table, Some(database)))
        case _ => None
      }
      named.filter(catalog.tableExists).map(catalog.getTableMetadata)
    }

  private def partsOf(session: SparkSession, source: String): Seq[String] =
    try session.sessionState.sqlParser.parseMultipartIdentifier(source)
    // A directory such as `people-orc`, which is no identifier.
    catch { case _: ParseException => Nil }

  private def ofPath(path: Path, conf: Configuration)(again: () => OrcSource): OrcSource = {
    val found = TableFiles.list(path, conf)
    refuseLogs(path, found, conf)
    val files = filesOf(found, path, conf)
    val columns = files.map(file => columnsOf(file.within))
    columns.distinct match {
      case Seq() =>
        throw PmeErrors.badSource(
          path.toString,
          "it has no files",
          "Name the directory of a table, or a file."
        )
      case Seq(names) => made(path.toString, files, strings(names), None, None, None)(again)
      case several =>
        throw PmeErrors.notMigrated(
          path.toString,
          s"its directories have different partition columns: ${several.take(2).map(_.mkString("/")).mkString(" and ")}",
          "Name one table."
        )
    }
  }

  private def strings(names: Seq[String]) = StructType(names.map(StructField(_, StringType)))

  private def columnsOf(within: String) =
    if (within.isEmpty) Nil else WriteRules.partitionColumns(new Path(s"/t/$within/f"), "/t").reverse

  private def ofTable(
      session: SparkSession,
      table: CatalogTable,
      options: Map[String, String],
      conf: Configuration
  )(again: () => OrcSource): OrcSource = {
    val name = table.identifier.unquotedString
    requireOrc(table, name)
    refusePositions(name, table.properties ++ table.storage.properties)
    val places =
      if (table.partitionColumnNames.isEmpty) Seq(new Path(table.location) -> "")
      else
        session.sessionState.catalog.listPartitions(table.identifier).map { partition =>
          new Path(partition.location) -> table.partitionColumnNames
            .map(directory(_, partition.spec))
            .mkString("/")
        }
    val files = places.flatMap { case (place, within) =>
      val qualified = TableFiles.qualified(place.toString, conf)
      if (!qualified.getFileSystem(conf).exists(qualified)) Nil
      else {
        val found = TableFiles.list(qualified, conf)
        refuseLogs(qualified, found, conf)
        filesOf(found, qualified, conf).map { file =>
          if (file.within.nonEmpty) throw misplaced(file.path)
          file.copy(within = within)
        }
      }
    }
    if (files.isEmpty) throw PmeErrors.badSource(name, "it has no files", "Name a table that has rows.")
    val property = ResolvedOptions.ofFrame(session, options).orcKeyProperty.flatMap(table.properties.get)
    val root = table.storage.locationUri.map(uri => TableFiles.qualified(new Path(uri).toString, conf))
    made(name, files, table.partitionSchema, Some(table.dataSchema), root, property)(again)
  }

  private def directory(column: String, spec: Map[String, String]) = {
    val value = spec.getOrElse(column, "")
    val shown = if (value == null || value.isEmpty) ExternalCatalogUtils.DEFAULT_PARTITION_NAME else value
    s"${ExternalCatalogUtils.escapePathName(column)}=${ExternalCatalogUtils.escapePathName(shown)}"
  }

  private def requireOrc(table: CatalogTable, name: String): Unit = {
    def has(part: Option[String]) = part.exists(_.toLowerCase(Locale.ROOT).contains("orc"))
    val storage = table.storage
    val isOrc = table.provider.map(_.toLowerCase(Locale.ROOT)) match {
      case Some("hive") => has(storage.serde) && has(storage.inputFormat)
      case Some(other) => other == "orc" || FormatName.isOrc(other)
      case None => false
    }
    if (table.tableType == CatalogTableType.VIEW || !isOrc)
      throw PmeErrors.badSource(name, "it is not a table of ORC files", "Name a table of ORC files.")
    if (table.properties.get("transactional").exists(_.equalsIgnoreCase("true"))) throw acid(name)
  }

  private def made(
      name: String,
      files: Seq[OrcFile],
      partitions: StructType,
      columns: Option[StructType],
      root: Option[Path],
      property: Option[String]
  )(again: () => OrcSource) = {
    val (some, none) = files.sortBy(_.path).partition(_.length > 0)
    OrcSource(name, some, none.size, partitions, columns, root, property)(again)
  }

  private def filesOf(found: TableFiles, root: Path, conf: Configuration): Seq[OrcFile] = {
    val directory = if (TableFiles.statusOf(root, conf).isFile) root.getParent else root
    val above = directory.toUri.getPath.stripSuffix("/") + "/"
    found.files.map { file =>
      val parent = new Path(file.path).getParent.toUri.getPath + "/"
      val within = parent.stripPrefix(above).stripSuffix("/")
      val directories = if (within.isEmpty) Nil else within.split('/').toSeq
      if ((directories :+ directory.getName).exists(AcidFiles.isDirectory))
        throw acid(file.path)
      // Spark does not read such files, or takes them for another table.
      if (!directories.forall(_.indexOf('=') > 0)) throw misplaced(file.path)
      OrcFile(file.path, file.length, file.modified, within)
    }
  }

  private def misplaced(file: String) = PmeErrors.notMigrated(
    file,
    "its directory is no partition of the table, so readers of the table do not read it",
    "Move it into the table or elsewhere, or name its directory."
  )

  private def refuseLogs(path: Path, found: TableFiles, conf: Configuration): Unit =
    TableFiles.logs(path, found, conf).headOption.foreach { log =>
      throw PmeErrors.notMigrated(
        path.toString,
        s"${log.path} records which of its files belong to the table",
        "Write the table again with the tools of its table format."
      )
    }

  def acid(where: String): PmeException = PmeErrors.notMigrated(
    where,
    "it is of a transactional table of Hive (ACID), whose rows come from several files together",
    "In Hive, copy it to a table that is not transactional, and migrate that."
  )

  /**
   * With columns by position, a column of a file is that of another name in the table, and so are keys.
   *
   * @param settings options and properties that ORC or Hive would find
   */
  def refusePositions(where: String, settings: Map[String, String]): Unit = {
    def isSet(name: String, usual: String) =
      settings.exists { case (key, value) =>
        key.equalsIgnoreCase(name) && value != null && value.trim.toLowerCase(Locale.ROOT) != usual
      }
    Seq(Positions -> "false", PositionLevels -> "1").foreach { case (name, usual) =>
      if (isSet(name, usual))
        throw PmeErrors.notMigrated(
          where,
          s"$name is set, and a migration takes columns by their names",
          "Remove it from the options, the session and the table. If the files have other names than the table, write them again."
        )
    }
  }
}
