package io.pmeparquet.spark.admin.migration

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.types.StructType

import io.pmeparquet.orc.keys.{OrcKeyName, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcTail, OrcType}
import io.pmeparquet.orc.OrcAdmission
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
 */
private[migration] final class OrcLook(
    scope: OrcScope,
    table: Option[StructType],
    partitions: List[String],
    caseSensitive: Boolean
) extends Serializable {
  private val fit = table.map(new OrcTypeFit(_, caseSensitive))

  /** @throws io.pmeparquet.PmeException if the file cannot be migrated */
  def of(file: OrcFile, conf: Configuration): OrcFacts =
    OpenedOrc.using(new Path(file.path), file.length, conf) { opened =>
      requireMigratable(opened, conf)
      facts(opened.tail, opened.bloomColumns)
    }

  private def requireMigratable(file: OpenedOrc, conf: Configuration): Unit = {
    val tail = file.tail
    OrcRefusals.check(tail, table.isDefined, partitions, caseSensitive)
    fit.flatMap(_.misfit(tail.types, OrcRefusals.isPositional(tail))).foreach { case (column, why) =>
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
    if (!OrcRefusals.isPositional(tail)) own
    else {
      val known = table.fold(Seq.empty[String])(_.fieldNames.toSeq)
      val at = tail.types.head.fieldNames.indexOf(own.head)
      known.lift(at).getOrElse(own.head) :: own.tail
    }
  }
}
