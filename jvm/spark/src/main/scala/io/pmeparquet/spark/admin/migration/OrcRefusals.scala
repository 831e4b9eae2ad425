package io.pmeparquet.spark.admin.migration

import java.util.Locale

import org.apache.orc.OrcConf

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.tail.{OrcTail, OrcType}

/** What ORC files can have and a migration does not carry over, by name. */
private[migration] object OrcRefusals {

  private val AcidDirectory = "(delete_delta|delta|base)_[0-9]+(_[0-9]+)*(_v[0-9]+)?".r
  private val AcidColumns =
    Seq("operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row")
  private val Positions = OrcConf.FORCE_POSITIONAL_EVOLUTION.getAttribute
  private val PositionLevels = OrcConf.FORCE_POSITIONAL_EVOLUTION_LEVEL.getAttribute

  /** What ORC takes for no name, where Spark looks at the beginning only. */
  private val NoName = "_col[0-9]+".r

  /** Whether Hive names directories of transactions like this. */
  def isAcidDirectory(name: String): Boolean = AcidDirectory.pattern.matcher(name).matches()

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

  /**
   * @param isNamed whether a catalog names the columns of files that do not
   * @param partitions names of the partition columns
   * @throws io.pmeparquet.PmeException for the first thing that is not carried over
   */
  def check(tail: OrcTail, isNamed: Boolean, partitions: Seq[String], caseSensitive: Boolean): Unit = {
    val root = tail.types.head
    if (root.kind != "STRUCT")
      throw refused(tail, s"its rows are of type ${root.kind}, and not of columns", "Leave it out.")
    if (root.fieldNames.map(_.toLowerCase(Locale.ROOT)) == AcidColumns.map(_.toLowerCase(Locale.ROOT)))
      throw acid(tail.file)
    if (tail.userMetadata.keys.exists(_.startsWith("hive.acid"))) throw acid(tail.file)
    if (root.fieldNames.isEmpty && tail.rows > 0)
      throw refused(
        tail,
        s"it has ${tail.rows} rows and no column, and Parquet files have columns",
        "Leave it out."
      )
    if (isPositional(tail) && !isNamed)
      throw refused(
        tail,
        "its columns have no names but their numbers (_col0), as Hive writes them",
        "Give the name of the catalog's table as the source: it knows the names."
      )
    if (isPositional(tail) && !root.fieldNames.forall(NoName.pattern.matcher(_).matches()))
      throw refused(
        tail,
        "Spark takes its columns for columns without names, and ORC does not: each name begins with _col",
        "Write it again with other names."
      )
    refusePartitions(tail, partitions, caseSensitive)
    tail.types.foreach(checkType(tail, _, caseSensitive))
  }

  /** Whether Spark takes the columns of a file by position. */
  def isPositional(tail: OrcTail): Boolean = {
    val names = tail.types.head.fieldNames
    names.nonEmpty && names.forall(_.startsWith("_col"))
  }

  private def refusePartitions(tail: OrcTail, partitions: Seq[String], caseSensitive: Boolean): Unit =
    tail.types.head.fieldNames.find(name => partitions.exists(same(_, name, caseSensitive))).foreach { name =>
      throw refused(
        tail,
        s"it has column '$name', which is a partition column as well",
        "Write the table again without it in the files."
      )
    }

  private def checkType(tail: OrcTail, column: OrcType, caseSensitive: Boolean): Unit = {
    val name = column.leaf.display
    def no(why: String, remedy: String) = throw refused(tail, s"column '$name' $why", remedy)
    column.kind match {
      case "UNION" => no("is a union, which Spark and Parquet do not have", "Write it as a struct.")
      case "GEOMETRY" | "GEOGRAPHY" => no(s"is of type ${column.kind}", "Write it as binary.")
      case "TIMESTAMP_INSTANT" if OrcTypeFit.noted(column).isEmpty =>
        no(
          "is a TIMESTAMP WITH LOCAL TIME ZONE, which Spark does not read from ORC",
          "Write it as TIMESTAMP, with the time zone that it is to have."
        )
      case "DECIMAL" if column.precision.isEmpty =>
        no("is a decimal without precision, as Hive 0.11 writes them", "Write it with a precision and scale.")
      case "STRUCT" if column.id > 0 && column.fieldNames.isEmpty =>
        no("is a struct without fields, which Parquet does not have", "Leave it out.")
      case kind if !OrcTypeFit.noted(column).forall(_.exists(OrcTypeFit.isStoredAs(_, kind))) =>
        no(s"is stored as $kind, and notes a type of Spark that is not stored so", "Write it again.")
      case _ => ()
    }
    if (!caseSensitive)
      column.fieldNames.groupBy(_.toLowerCase(Locale.ROOT)).values.find(_.size > 1).foreach { alike =>
        throw refused(
          tail,
          s"it has columns whose names differ only in letter case: ${alike.map(n => s"'$n'").mkString(", ")}",
          "Set spark.sql.caseSensitive=true, or write them with other names."
        )
      }
  }

  private def same(one: String, other: String, caseSensitive: Boolean) =
    if (caseSensitive) one == other else one.equalsIgnoreCase(other)

  private def refused(tail: OrcTail, why: String, remedy: String) =
    PmeErrors.notMigrated(tail.file, why, remedy)
}
