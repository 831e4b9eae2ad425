package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.copy.InPlaceRun
import io.pmeparquet.parquet.rotation.RotationMark
import io.pmeparquet.PmeErrors

/**
 * The marks of operations that rotate files or encrypt them in place. Such an operation lists all directories below its
 * path, so one that began above or below this path may change the same files. ''Driver only.''
 */
private[admin] object TableMarks {

  def isMark(path: Path): Boolean = RotationMark.isMark(path) || InPlaceRun.isMark(path)

  /**
   * @param below the marks below the path
   * @param own the caller's mark
   * @throws io.pmeparquet.PmeException if there is another mark above or below the path
   */
  def requireNoOther(path: Path, below: Seq[Path], own: Path, conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    val above = Iterator.iterate(path.getParent)(_.getParent).takeWhile(_ != null).flatMap { directory =>
      ParentDirectories.ifReadable(directory)(fs.listStatus(directory).toSeq.map(_.getPath).filter(isMark))
    }
    // The file system may spell a path in another way, so this compares its own spellings.
    val mine = fs.makeQualified(own)
    (below.iterator ++ above).map(fs.makeQualified).find(_ != mine).foreach { other =>
      throw PmeErrors.otherUnderWay(path.toString, other.toString)
    }
  }
}
