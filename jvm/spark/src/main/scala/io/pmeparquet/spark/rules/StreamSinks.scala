package io.pmeparquet.spark.rules

import java.lang.reflect.InaccessibleObjectException

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.snapshots.SealedTable
import io.pmeparquet.PmeErrors

/**
 * The format and options of a stream's sink. Spark's file sink takes both and exposes neither, so this reads its
 * fields. Each batch has the options in its plan as well; with this check a query fails when it starts. ''Driver
 * only.''
 */
private[spark] object StreamSinks {

  /** The options that the sink was given. */
  def options(sink: AnyRef): Seq[Map[String, String]] = fields(sink).collect {
    case options: Map[_, _] if options.forall(_._1.isInstanceOf[String]) =>
      options.asInstanceOf[Map[String, String]]
    case options: CaseInsensitiveStringMap => options.asCaseSensitiveMap().asScala.toMap
  }

  def isOurs(sink: AnyRef): Boolean = fields(sink).exists(_.isInstanceOf[EncryptedFileFormat])

  /** The directory of the list of files that a sink of ours keeps beside them. */
  def log(sink: AnyRef): Path = fields(sink)
    .collectFirst { case path: Path if path.getName == SealedTable.StreamLog => path }
    .getOrElse(throw new IllegalStateException("internal error: this Spark's sink keeps its path elsewhere"))

  /**
   * Fails for a sink of Spark's own `orc` that is to encrypt with our keys. Spark gives such a sink's format none of its
   * options, so it would write plaintext.
   */
  def requireNoOrcKeys(sink: AnyRef): Unit = {
    def encrypts = options(sink).exists(found => UseOrcKeys.asksUs(found) && UseOrcKeys.encrypts(found))
    if (formats(sink).exists(UseOrcKeys.isSparks) && encrypts) throw PmeErrors.orcProviderAlone
  }

  /** A V1 sink is a table that throws if something asks for its name. */
  def nameOf(sink: AnyRef): String =
    formats(sink).headOption.fold(FormatLabel.ofClass(sink))(FormatLabel.of)

  def formats(sink: AnyRef): Seq[FileFormat] = fields(sink).collect { case format: FileFormat => format }

  private def fields(sink: AnyRef): Seq[AnyRef] =
    try
      sink.getClass.getDeclaredFields.toSeq.flatMap { field =>
        field.setAccessible(true)
        Option(field.get(sink))
      }
    catch {
      // A sink in a Java module that is closed to us is not one of Spark's.
      case _: InaccessibleObjectException => Nil
    }
}
