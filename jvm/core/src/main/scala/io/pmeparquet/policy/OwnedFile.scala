package io.pmeparquet.policy

import java.io.IOException
import java.nio.file.{Files, LinkOption, Path}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * A local file that nobody but its owner, who is this user or root, can change or replace: neither the file nor a
 * directory above it. A directory in which each user can only remove his own files, such as `/tmp`, may be among them.
 */
private[pmeparquet] object OwnedFile {

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if others could change it */
  def require(file: Path): Unit = {
    val whole = file.toAbsolutePath
    def refused(why: String): PmeException = PmeErrors.policyRefused(file.toString, why, Remedy)
    // A link would lead to directories that are not looked at here, and so would '..'.
    if (whole != whole.normalize || realOf(whole) != whole)
      throw refused("its path has symbolic links or '..'; name the file itself")
    if (!Files.isRegularFile(whole, LinkOption.NOFOLLOW_LINKS)) throw refused("it is not a file")
    Iterator.iterate(whole)(_.getParent).takeWhile(_ != null).foreach { part =>
      val (owner, mode) =
        factsOf(part).getOrElse(throw refused(s"$part shows neither its owner nor its mode"))
      if (owner != Root && !ownUid.contains(owner)) throw refused(s"$part belongs to another user")
      val isShared = (mode & SharedWrite) != 0
      if (isShared && (part == whole || (mode & Sticky) == 0)) throw refused(s"others can write to $part")
    }
  }

  private def realOf(file: Path) =
    try file.toRealPath()
    catch { case _: IOException => throw PmeErrors.policyUnreadable(file.toString, "there is no such file") }

  /** The number of the owner, and the mode. */
  private def factsOf(part: Path): Option[(Int, Int)] =
    try {
      val found = Files.readAttributes(part, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS).asScala
      for (uid <- found.get("uid"); mode <- found.get("mode"))
        yield uid.asInstanceOf[Int] -> mode.asInstanceOf[Int]
    } catch { case NonFatal(_) => None }

  /** The number of the user of this process: that of a file which it makes. */
  private lazy val ownUid: Option[Int] =
    try {
      val own = Files.createTempFile("pme", ".policy")
      try factsOf(own).map(_._1)
      finally Files.delete(own)
    } catch { case NonFatal(_) => None }

  private val Root = 0
  private val SharedWrite = Integer.parseInt("022", 8)
  private val Sticky = Integer.parseInt("1000", 8)
  private val Remedy =
    "Let only its owner, who is this user or root, write to the file and the directories above it, or sign the policy and " +
      "set spark.datasource.pme-parquet.policyKey."
}
