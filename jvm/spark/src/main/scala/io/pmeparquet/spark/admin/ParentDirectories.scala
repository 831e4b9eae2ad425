package io.pmeparquet.spark.admin

import java.io.FileNotFoundException
import java.nio.file.AccessDeniedException

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.slf4j.LoggerFactory

/** Directories above a table, which the user need not have the right to read. ''Driver only.'' */
private[admin] object ParentDirectories {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** What is in a directory; nothing if the user may not read it, or it does not exist. */
  def ifReadable[A](directory: Path)(look: => Seq[A]): Seq[A] =
    try look
    catch {
      case refused @ (_: AccessDeniedException | _: AccessControlException | _: FileNotFoundException) =>
        log.debug(s"$directory could not be checked: ${refused.getMessage}")
        Nil
    }
}
