package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeErrors}
import io.pmeparquet.orc.{OrcUsage, OrcVerification}
import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.verify.{FileVerification, Finding, Opened, Verified}

/**
 * Verifies the files of a table, of which some may be ORC files. ''Crosses the wire.''
 *
 * @param keys of ORC files, of a read that accepts refusals; none if the options name no KMS
 */
private[admin] final class OrcVerifying(parquet: FileVerification, keys: Option[OrcScope])
    extends Serializable {

  /** @param goOn called often; throws if the work is no longer wanted */
  def of(file: ListedFile, conf: Configuration, goOn: () => Unit): Verified = {
    val verified = parquet.of(file, conf, goOn)
    val isNoParquet = verified.findings.exists(_.condition == Condition.DamagedFile.name)
    val path = new Path(file.path)
    if (isNoParquet && OrcUsage.isOrc(path, conf)) ofOrc(path, file.length, conf, goOn) else verified
  }

  private def ofOrc(path: Path, length: Long, conf: Configuration, goOn: () => Unit): Verified = {
    val name = path.toString
    val done = OrcVerification.of(path, length, conf, keys.map(_.provider).orNull, goOn)
    val findings = done.findings.map { one =>
      Finding(name, one.stripe, one.column, condition = one.condition, message = one.problem)
    }
    val closed = done.masked.map { column =>
      val failed = PmeErrors.orcNotVerified(name, column)
      Finding(name, column = Some(column), condition = failed.condition.name, message = failed.problem)
    }
    // Nothing in ORC has a tag.
    Verified(findings ++ closed, Opened(files = 1, untaggedPages = done.stripes.toLong, bytes = length))
  }
}
