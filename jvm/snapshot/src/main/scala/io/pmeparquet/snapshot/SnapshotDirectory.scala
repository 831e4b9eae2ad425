package io.pmeparquet.snapshot

import java.io.{EOFException, FileNotFoundException, IOException}
import java.util.UUID

import scala.annotation.{nowarn, tailrec}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.util.functional.FutureIO

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.parquet.storage.{Found, OwnFiles, Publishing}
import io.pmeparquet.snapshot.manifest.{FileEntry, ManifestJson}

/**
 * The directory of a table's snapshots, as names and bytes. Nothing that it reads is trusted yet. ''Driver only.''
 *
 * @param table the table's directory
 * @param location option `snapshotLocation`
 */
final class SnapshotDirectory(val table: Path, location: Option[String], conf: Configuration) {
  import SnapshotDirectory._

  /** Where the snapshots are. */
  val path: Path = {
    val named = location.fold(new Path(table, Name))(new Path(_))
    named.getFileSystem(conf).makeQualified(named)
  }

  /** The table with links resolved, as manifests state it: its path, and before it the bucket or cluster if there is one. */
  lazy val tableLocation: String = {
    val place = OwnFiles.resolved(table, conf).toUri
    Option(place.getAuthority).filter(_.nonEmpty).fold("")(authority => s"//$authority") + place.getPath
      .stripSuffix("/")
  }

  /** Whether the name of the table is a link, which whoever can write next to the table can point elsewhere. */
  lazy val isLink: Boolean = OwnFiles.hasLinks(table, conf) && OwnFiles.find(table, conf) == Found.Other

  /**
   * The versions that have a manifest, in ascending order; none if there is no directory.
   *
   * A listing is not one moment: a local file system lists names first, and then looks at each file. If meanwhile the next
   * version is published, and the newest one expires, neither is in the listing. So a directory without a manifest is listed
   * again.
   */
  def versions: Seq[Long] = {
    @tailrec def look(more: Int): Seq[Long] = list() match {
      case None => Nil
      case Some(files) =>
        val found = files.map(_.getPath.getName).collect { case ManifestName(number) => number.toLong }
        if (found.isEmpty && more > 0) look(more - 1) else found.filter(_ > 0).sorted
    }
    look(MoreListings)
  }

  /** The files of all existing parts, and the staged files of parts. */
  private[snapshot] def parts: Seq[StoredPart] = list().toSeq.flatten.filter(_.isFile).flatMap { file =>
    file.getPath.getName match {
      case name @ PartName(staged) => Some(StoredPart(name, staged != null, file.getModificationTime))
      case _ => None
    }
  }

  /** What is in the directory; none if there is no directory. */
  private[snapshot] def list(): Option[Seq[FileStatus]] = {
    val fs = path.getFileSystem(conf)
    try if (isS3A(fs) && !isDirectory(fs)) None else Some(fs.listStatus(path).toSeq)
    catch { case _: FileNotFoundException => None }
  }

  // Other file systems for the same names may answer otherwise.
  private def isS3A(fs: FileSystem) =
    Iterator.iterate[Class[_]](fs.getClass)(_.getSuperclass).takeWhile(_ != null).exists(_.getName == S3A)

  /**
   * Most tables have no snapshots, and each query asks. S3A lists once to answer this, but three times asks for what is
   * not there to list it: a listing without an entry does not show whether there is a directory.
   */
  @nowarn("cat=deprecation")
  private def isDirectory(fs: FileSystem) = fs.isDirectory(path)

  def manifestPath(version: Long): Path = new Path(path, f"snapshot-$version%010d.json")

  /** @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED` if it is missing or too long */
  def manifest(version: Long): Array[Byte] = read(manifestPath(version), None)

  def partPath(name: String): Path = new Path(path, name)

  /** A file of a part, whose length and digest are those of its entry. */
  def part(entry: FileEntry): Array[Byte] = {
    val file = partPath(entry.name)
    if (entry.length > MostPartBytes)
      throw PmeErrors.snapshotDamaged(
        file.toString,
        s"it is stated to be ${entry.length} bytes long, more than any part is"
      )
    val bytes = read(file, Some(entry.length))
    if (Sha256.hex(Sha256.ofBytes(bytes)) != entry.sha256)
      throw PmeErrors.snapshotNotAuthentic(
        file.toString,
        "the file has another digest than the manifest states"
      )
    bytes
  }

  /** @return the name of a new part */
  def newPart(): String = s"part-${UUID.randomUUID}.parquet"

  /** @return the name of a new file of an index */
  def newIndex(): String = s"index-${UUID.randomUUID}.parquet"

  /** @throws io.pmeparquet.PmeException where something is there */
  def write(name: String, bytes: Array[Byte]): Unit = {
    makeDirectory()
    OwnFiles.write(new Path(path, name), bytes, conf)
  }

  /**
   * Changes nothing, and so asks only the client of the file system.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if two processes could publish the same version here
   */
  def requireStep(): Unit = Publishing.requireStep(manifestPath(1), conf)

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if two processes could publish the same version here */
  def requirePublishing(): Unit = Publishing.require(path, () => newStaged(), conf)

  /** @return false if another process has published this version, or this call's file is there after all */
  def publish(version: Long, bytes: Array[Byte]): Boolean = {
    makeDirectory()
    Publishing.publish(bytes, manifestPath(version), new Path(path, newStaged()), conf)
  }

  private lazy val needsDirectory = Publishing.needsDirectory(path, conf)

  private def makeDirectory(): Unit = if (needsDirectory) OwnFiles.ensureDirectory(path, conf)

  private def newStaged() = s"$Staged${newPart()}"

  def delete(name: String): Unit = OwnFiles.delete(new Path(path, name), conf)

  def deleteManifest(version: Long): Unit = OwnFiles.delete(manifestPath(version), conf)

  private def read(file: Path, expected: Option[Long]): Array[Byte] = {
    def damaged(why: String, cause: Throwable = null) = PmeErrors.snapshotDamaged(file.toString, why, cause)
    try {
      val opening = file.getFileSystem(conf).openFile(file)
      val length = expected.filterNot(_ => hasLinks).getOrElse {
        val status = fileStatus(file)
        opening.withFileStatus(status)
        status.getLen
      }
      expected.filter(_ != length).foreach { stated =>
        throw damaged(s"it is $length bytes long, but the manifest states $stated")
      }
      if (expected.isEmpty && length > MostManifestBytes)
        throw damaged(s"it is $length bytes long; a manifest has at most $MostManifestBytes")
      // An object store is not asked for what is known. What its digest covers is read, and nothing behind it.
      opening.opt("fs.option.openfile.length", length.toString)
      val in = FutureIO.awaitFuture(opening.build())
      try {
        val bytes = new Array[Byte](length.toInt)
        in.readFully(0, bytes)
        bytes
      } finally in.close()
    } catch {
      case missing: FileNotFoundException => throw damaged("the file is missing", missing)
      case cut: EOFException => throw damaged("the file is cut", cut)
      case failed: org.apache.hadoop.fs.ChecksumException =>
        throw damaged("its checksum does not match", failed)
    }
  }

  private lazy val hasLinks = OwnFiles.hasLinks(path, conf)

  private def fileStatus(file: Path): FileStatus = {
    if (hasLinks && OwnFiles.find(file, conf) == Found.Other)
      throw PmeErrors.snapshotDamaged(file.toString, "it is a link")
    val status = file.getFileSystem(conf).getFileStatus(file)
    if (status.isDirectory) throw PmeErrors.snapshotDamaged(file.toString, "it is a directory")
    status
  }
}

/**
 * @param isStaged whether it has no name of its own yet
 * @param modified in milliseconds since 1970
 */
private[snapshot] final case class StoredPart(name: String, isStaged: Boolean, modified: Long)

object SnapshotDirectory {

  /** The usual directory. Engines pass over names that begin with an underscore. */
  val Name = "_pme_snapshots"

  private val ManifestName = "snapshot-([0-9]{10})\\.json".r
  private val Staged = ".pme-"
  private val MoreListings = 2
  private val S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
  // Exact, because nothing else in the directory may be deleted.
  private val PartName = s"(\\.pme-)?(?:${ManifestJson.PartName}|${ManifestJson.IndexName})".r
  private[snapshot] val MostManifestBytes = 16 * 1024 * 1024
  private[snapshot] val MostPartBytes = 256 * 1024 * 1024

  /** Whether a directory has the usual directory of snapshots. */
  @throws[IOException]
  def isIn(directory: Path, conf: Configuration): Boolean =
    OwnFiles.find(new Path(directory, Name), conf) != Found.Nothing
}
