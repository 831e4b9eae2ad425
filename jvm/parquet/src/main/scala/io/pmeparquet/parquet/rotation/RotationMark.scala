package io.pmeparquet.parquet.rotation

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.parquet.files.{Found, OwnFiles}

/**
 * A file that stands in a table's directory for as long as the table is rotated. Of two rotations at once with different aims
 * one could take away key material beside a file that the other has just made use of.
 *
 * Its name tells the aim, and nothing is read from it: who begins again what was killed is not kept out by its mark.
 *
 * ''Driver only.''
 */
final class RotationMark private (val path: Path, conf: Configuration) {
  def remove(): Unit =
    try OwnFiles.delete(path, conf)
    catch {
      // What was rotated is rotated.
      case failed: IOException =>
        RotationMark.log.warn(
          s"$path could not be removed, and blocks other rotations of the table: ${failed.getMessage}"
        )
    }
}

object RotationMark {

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** Names that readers pass over, and that are no leftovers. */
  private val Prefix = ".pme-rotating-"
  private val NameDigits = 16

  /**
   * @param aim what a rotation makes of the table's keys, the same for each run that does
   * @throws io.pmeparquet.PmeException where a rotation with another aim was begun and has not ended
   */
  def place(table: Path, aim: String, conf: Configuration): RotationMark = {
    val path = new Path(table, Prefix + Sha256.ofText(aim).take(NameDigits))
    val mark = new RotationMark(path, conf)
    // Before it looks for others: of two that begin at once, one at least sees the other. One that is there was left by a
    // run with the same aim; whatever else has its name is not written to, and is no reason to go on.
    if (!OwnFiles.createAlone(path, conf) && OwnFiles.find(path, conf) != Found.File(0))
      throw PmeErrors.planted(path.toString)
    of(table, conf).find(_.getName != path.getName).foreach { other =>
      mark.remove()
      throw PmeErrors.rotationUnderWay(table.toString, other.toString)
    }
    mark
  }

  /** Those of rotations that were begun and have not ended. */
  def of(table: Path, conf: Configuration): Seq[Path] =
    table.getFileSystem(conf).listStatus(table).toSeq.map(_.getPath).filter(isMark)

  def isMark(path: Path): Boolean = path.getName.startsWith(Prefix)
}
