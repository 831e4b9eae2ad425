package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.session.SparkAccess

/** The master keys that each file of a table names, for tests that ask about every file: one job looks into all. */
object KeysOfFiles {
  def of(session: SparkSession, table: String, options: Map[String, String]): Map[String, Set[String]] = {
    val files = TableFiles.list(new Path(table), SparkAccess.hadoopConf(session, options)).files
    new FooterReading(session, options)
      .look(Seq(files))
      .head
      .map { case (file, found) =>
        val use = found.fold(failed => throw new AssertionError(failed.toString), identity)
        new Path(file.path).toUri.getPath -> use.uses.flatMap(_.masterKeyId).toSet
      }
      .toMap
  }
}
