package io.pmeparquet.spark.admin

import java.io.FileNotFoundException
import java.nio.file.AccessDeniedException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.slf4j.LoggerFactory

import io.pmeparquet.parquet.copy.InPlaceRun
import io.pmeparquet.parquet.rotation.RotationMark
import io.pmeparquet.PmeErrors

/**
 * What tells that files are being encrypted in their places or rotated. Listings reach into all directories below, so what
 * was begun above a path, or below it, may change the same files. ''Driver only.''
 */
private[admin] object TableMarks {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  def isMark(path: Path): Boolean = RotationMark.isMark(path) || InPlaceRun.isMark(path)

  /**
   * @param found what is below the path
   * @param own the mark of who asks
   * @throws io.pmeparquet.PmeException where another one is there, above or below
   */
  def requireNoOther(path: Path, found: TableFiles, own: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    val above = Iterator.iterate(path.getParent)(_.getParent).takeWhile(_ != null).flatMap { directory =>
      whereAllowed(directory)(fs.listStatus(directory).toSeq.map(_.getPath).filter(isMark))
    }
    // Compared by what the file system makes of them.
    val mine = fs.makeQualified(own)
    (found.marks.iterator ++ above).map(fs.makeQualified).find(_ != mine).foreach { other =>
      throw PmeErrors.otherUnderWay(path.toString, other.toString)
    }
  }

  /** Looks at a place above a table, where rights may have ended. */
  def whereAllowed[A](place: Path)(look: => Seq[A]): Seq[A] =
    try look
    catch {
      case refused @ (_: AccessDeniedException | _: AccessControlException | _: FileNotFoundException) =>
        log.debug(s"$place could not be checked: ${refused.getMessage}")
        Nil
    }
}
