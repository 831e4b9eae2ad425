package io.pmeparquet.spark.admin.migration

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.types.StructType

import io.pmeparquet.columns.ColumnNames
import io.pmeparquet.orc.blocks.VerifiedFile
import io.pmeparquet.orc.keys.{OrcKeyName, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcTail, OrcType}
import io.pmeparquet.orc.AcidFiles
import io.pmeparquet.orc.OrcAdmission
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.PmeErrors

/**
 * What a file of the source says about itself. ''Crosses the wire.''
 *
 * @param encrypted its encrypted leaf columns, by their names in Spark, each with a key
 * @param bloom the leaf columns that have Bloom filters
 */
private[migration] final case class OrcFacts(
    rows: Long,
    encrypted: List[(List[String], OrcKeyName)],
    bloom: List[List[String]]
)

/**
 * Opens the footers of a file, and every encrypted column with its key: a migration that lacked a key would copy masks.
 * ''Crosses the wire'', with the scope.
 *
 * @param table the columns in the catalog, with CHAR and VARCHAR as types; none for a path
 * @param partitions names of the partition columns
 * @param seal what snapshots say of the files
 */
private[migration] final class OrcFileCheck(
    scope: OrcScope,
    table: Option[StructType],
    partitions: List[String],
    caseSensitive: Boolean,
    seal: Option[Broadcast[FileSeal]]
) extends Serializable {
  private val fit = table.map(new OrcTypeFit(_, caseSensitive))

  /** @throws io.pmeparquet.PmeException if the file cannot be migrated */
  def of(file: OrcFile, conf: Configuration): OrcFacts = {
    val path = new Path(file.path)
    // What the file says of its keys decides those of the target.
    val listed = seal.map(_.value).flatMap { one =>
      one.requireLength(path, file.length)
      one.blocks(path).map(new VerifiedFile(path, _, conf))
    }
    def open() = listed.fold(path.getFileSystem(conf).open(path))(_.open())
    OpenedOrc.using(path, file.length, () => open()) { opened =>
      requireMigratable(opened, conf)
      facts(opened.tail, opened.bloomColumns)
    }
  }

  private def requireMigratable(file: OpenedOrc, conf: Configuration): Unit = {
    val tail = file.tail
    OrcFileCheck.check(tail, table.isDefined, partitions, caseSensitive)
    fit.flatMap(_.misfit(tail.types, OrcFileCheck.isPositional(tail))).foreach { case (column, why) =>
      throw PmeErrors.migratedPartly(tail.file, column, why)
    }
    // All columns of the file, whether or not the table has them.
    val wanted = tail.types.head.fieldNames.toList.zipWithIndex.map { case (name, at) =>
      OrcAdmission.Wanted(name, at)
    }
    val refused = new OrcAdmission(scope, wanted, caseSensitive).check(file, 0, file.length, conf)
    refused.headOption.foreach(one => throw one.denied)
  }

  private def facts(tail: OrcTail, bloom: Set[Int]) = OrcFacts(
    tail.rows,
    tail.protection.toList.flatMap { one =>
      one.keys.map(key => nameOf(tail, one.column) -> OrcKeyName(key.name, key.version))
    },
    tail.types.toList.filter(column => column.isLeaf && bloom(column.id)).map(nameOf(tail, _))
  )

  private def nameOf(tail: OrcTail, column: OrcType): List[String] = {
    val own = column.name.toList
    if (!OrcFileCheck.isPositional(tail)) own
    else {
      val known = table.fold(Seq.empty[String])(_.fieldNames.toSeq)
      val at = tail.types.head.fieldNames.indexOf(own.head)
      known.lift(at).getOrElse(own.head) :: own.tail
    }
  }
}

/** What ORC files can have and a migration does not carry over, by name. */
private[migration] object OrcFileCheck {

  /** What ORC takes for no name, where Spark looks at the beginning only. */
  private val NoName = "_col[0-9]+".r

  /**
   * @param isNamed whether a catalog names the columns of files that do not
   * @param partitions names of the partition columns
   * @throws io.pmeparquet.PmeException for the first thing that is not carried over
   */
  def check(tail: OrcTail, isNamed: Boolean, partitions: Seq[String], caseSensitive: Boolean): Unit = {
    val root = tail.types.head
    if (root.kind != "STRUCT")
      throw refused(tail, s"its rows are of type ${root.kind}, and not of columns", "Leave it out.")
    if (AcidFiles.isOne(tail)) throw OrcSource.acid(tail.file)
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
    tail.types.head.fieldNames
      .find(name => partitions.exists(ColumnNames.isSame(_, name, caseSensitive)))
      .foreach { name =>
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

  private def refused(tail: OrcTail, why: String, remedy: String) =
    PmeErrors.notMigrated(tail.file, why, remedy)
}
