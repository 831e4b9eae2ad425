package io.pmeparquet.snapshot.xskipper

import java.io.IOException

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * START HERE. A Parquet metadata store of Xskipper: a directory of files, each with a row for each of some data files.
 * Nobody has signed it: whoever can write to it can hide rows from those who skip by it. ''Driver only.''
 *
 * @param scope opens its files
 */
private[pmeparquet] final class XskipperStore(directory: Path, scope: ReadScope, conf: Configuration) {

  /**
   * Reads what the store says of each data file. It may say several things of one file: a refresh of Xskipper's first
   * adds rows, and then removes others.
   *
   * @param wanted which indexes to read; others need no key
   * @return what could not be read, and why
   */
  def foreach(wanted: StoreIndex => Boolean)(each: StoreRow => Unit): Seq[String] = {
    val problems = mutable.LinkedHashSet.empty[String]
    reporting(problems += _)(files()).foreach(_.foreach { file =>
      reporting(problems += _) {
        val store = new StoreFile(file, scope, conf, problems += _)
        try store.foreach(wanted)(each)
        finally store.close()
      }
    })
    problems.toVector
  }

  private def reporting[A](report: String => Any)(step: => A): Option[A] =
    try Some(step)
    catch {
      case failed @ (_: PmeException | _: IOException | _: RuntimeException) =>
        report(failed.getMessage)
        None
    }

  private def files(): Seq[Path] = {
    val all = directory.getFileSystem(conf).listStatus(directory).filter(isFile)
    val bytes = all.map(_.getLen).sum
    if (bytes > XskipperStore.MostBytes)
      throw PmeErrors.xskipperUnusable(
        directory.toString,
        s"its files are $bytes bytes long, and at most ${XskipperStore.MostBytes} bytes are read"
      )
    all.map(_.getPath).sorted.toVector
  }

  private def isFile(one: FileStatus) =
    one.isFile && !Seq("_", ".").exists(one.getPath.getName.startsWith(_))
}

private[pmeparquet] object XskipperStore {

  /** A store is read on the driver. */
  private val MostBytes = 1024L * 1024 * 1024
}
