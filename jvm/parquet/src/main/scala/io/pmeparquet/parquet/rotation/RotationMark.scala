package io.pmeparquet.parquet.rotation

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.parquet.files.{Found, OwnFiles}

/**
 * A file in a table's directory for as long as the table is being rotated. Of two concurrent rotations with different
 * goals, one could remove separate key material that the other has just started to use.
 *
 * Its name contains the goal, and nothing is read from it: its own mark does not block a rotation that is started again
 * after it was killed.
 *
 * ''Driver only.''
 */
final class RotationMark private (val path: Path, conf: Configuration) {
  def remove(): Unit =
    try OwnFiles.delete(path, conf)
    catch {
      // The rotation is complete.
      case failed: IOException =>
        RotationMark.log.warn(
          s"$path could not be removed, and blocks other rotations of the table: ${failed.getMessage}"
        )
    }
}

object RotationMark {

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** Names that readers ignore, and that do not count as leftovers. */
  private val Prefix = ".pme-rotating-"
  private val NameDigits = 16

  /**
   * @param aim what a rotation does with the table's keys, equal for each run that does the same
   * @throws io.pmeparquet.PmeException if an unfinished rotation has another goal
   */
  def place(table: Path, aim: String, conf: Configuration): RotationMark = {
    val path = new Path(table, Prefix + Sha256.ofText(aim).take(NameDigits))
    val mark = new RotationMark(path, conf)
    // Placed before it looks for others: if two begin at once, at least one sees the other. An existing mark was left
    // by a run with the same goal; anything else of its name is not written to, and does not permit the run to go on.
    if (!OwnFiles.createAlone(path, conf) && OwnFiles.find(path, conf) != Found.File(0))
      throw PmeErrors.planted(path.toString)
    of(table, conf).find(_.getName != path.getName).foreach { other =>
      mark.remove()
      throw PmeErrors.rotationUnderWay(table.toString, other.toString)
    }
    mark
  }

  /** The marks of unfinished rotations. */
  def of(table: Path, conf: Configuration): Seq[Path] =
    table.getFileSystem(conf).listStatus(table).toSeq.map(_.getPath).filter(isMark)

  def isMark(path: Path): Boolean = path.getName.startsWith(Prefix)
}
