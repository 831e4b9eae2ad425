package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression}
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.FilePlace
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * Requires that a file's directory spells the values that Spark reads from it. Names of keys follow the text of a directory,
 * and queries see values: `tenant=7` and `tenant=007` are one number, a catalog may lead a partition anywhere, and Spark's
 * versions differ in what they take for an escape. ''Crosses the wire.''
 *
 * @param columns names of partition columns that name keys, each with what makes its text of a split's values
 */
private[spark] final class SpelledPartitions private (
    columns: Seq[(String, Expression)],
    caseSensitive: Boolean
) extends Serializable {

  /** @throws io.pmeparquet.PmeException `PME_KEY_METADATA` */
  def require(split: PartitionedFile): Unit = if (columns.nonEmpty) {
    val place = FilePlace.of(split.toPath.getParent.toUri.getPath)
    columns.foreach { case (name, text) =>
      val read = Option(text.eval(split.partitionValues)).map(_.toString)
      if (!place.value(name, caseSensitive).contains(read))
        throw PmeErrors.otherSpelling(split.toPath.toString, name, read.getOrElse("NULL"))
    }
  }
}

private[spark] object SpelledPartitions {

  /** Of a read whose keys no partition names. */
  val none: SpelledPartitions = new SpelledPartitions(Nil, caseSensitive = false)

  /**
   * ''Driver only.''
   *
   * @param partitions of the table, as Spark has found them; a directory above the table spells no value of it
   * @param options of the read
   */
  def of(
      session: SparkSession,
      settings: ReadSettings,
      partitions: StructType,
      options: Map[String, String]
  ): SpelledPartitions = {
    val named = settings.columns.toSeq.flatMap(_.keyColumns)
    if (named.isEmpty) none
    else {
      val conf = SparkAccess.sqlConf(session)
      val zone = CaseInsensitiveMap(options)
        .get(DateTimeUtils.TIMEZONE_OPTION)
        .getOrElse(conf.sessionLocalTimeZone)
      val columns = for {
        (field, at) <- partitions.fields.toSeq.zipWithIndex if named.exists(conf.resolver(_, field.name))
      } yield {
        val value = BoundReference(at, field.dataType, nullable = true)
        field.name -> (Cast(value, StringType, Some(zone)): Expression)
      }
      new SpelledPartitions(columns, conf.caseSensitiveAnalysis)
    }
  }
}
