package io.pmeparquet.spark.orc

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.orc.OrcAdmission
import io.pmeparquet.spark.read.SplitGate
import io.pmeparquet.spark.session.{SharedConf, SparkAccess}

/** The look at a split, with the keys of its read. ''Crosses the wire.'' */
private[spark] final class OrcSplitGate private (
    gate: OrcAdmission,
    scope: OrcScope,
    conf: Broadcast[SerializableConfiguration]
) extends SplitGate {

  /** @return the wanted columns whose keys this reader is refused, if the read accepts that */
  def check(split: PartitionedFile): Seq[OrcAdmission.Refused] =
    gate.check(split.toPath, split.start, split.length, split.fileSize, conf.value.value)

  override def pass(split: PartitionedFile): Unit =
    try {
      check(split)
      ()
    } catch { case failed: Throwable => throw translate(failed, split.toPath.toString) }

  override def translate(failed: Throwable, files: String): Throwable = OrcRead.translate(failed, files)

  override def toString: String = s"OrcSplitGate($scope)"
}

private[spark] object OrcSplitGate {

  /**
   * @param conf of the read, with the key provider
   * @param wanted the columns that the read wants
   */
  def of(
      session: SparkSession,
      conf: Configuration,
      scope: OrcScope,
      dataSchema: StructType,
      wanted: StructType
  ): OrcSplitGate = {
    val byPosition = OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(conf)
    val columns = wanted.flatMap { field =>
      val position = dataSchema.fieldNames.indexOf(field.name)
      fieldsOf(field.dataType).map(OrcAdmission.Wanted(field.name, position, _))
    }
    val caseSensitive = SparkAccess.sqlConf(session).caseSensitiveAnalysis
    val shared = SharedConf.broadcast(session, conf)
    new OrcSplitGate(new OrcAdmission(scope, columns.toList, caseSensitive, byPosition), scope, shared)
  }

  /** The paths of a column's fields: Spark leaves out fields of structs that a query does not use. */
  private def fieldsOf(column: DataType): Seq[List[String]] = column match {
    case struct: StructType if struct.nonEmpty =>
      struct.flatMap(field => fieldsOf(field.dataType).map(field.name :: _))
    case _ => Seq(Nil)
  }
}
