package io.pmeparquet.parquet.storage

import java.io.IOException
import java.util.{Collections, WeakHashMap}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  CommonPathCapabilities,
  FSDataOutputStream,
  FSDataOutputStreamBuilder,
  FileContext,
  FileSystem,
  Path
}
import org.apache.hadoop.fs.Options.Rename

import io.pmeparquet.PmeErrors

/**
 * Lets a complete file appear under its name, if the name is free, in one step. Nobody sees half of it, and if several try
 * at the same moment, exactly one succeeds. Each file system has its own step, and without one nothing is written.
 * ''Driver only.''
 */
private[pmeparquet] object Publishing {

  /**
   * Changes nothing.
   *
   * @param file a name in the directory where files are going to appear, which need not exist
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if the file system has no such step
   */
  def requireStep(file: Path, conf: Configuration): Unit = {
    PublishStep.of(Place.of(file, conf))
    ()
  }

  /**
   * As [[requireStep]], and tries the step once in each store: what a client promises, the store behind it need not do. It
   * may have another maker, or be old.
   *
   * @param directory where files are going to appear
   * @param spare names for files in it that are deleted again
   */
  def require(directory: Path, spare: () => String, conf: Configuration): Unit = {
    val place = Place.of(new Path(directory, spare()), conf)
    val step = PublishStep.of(place)
    if (step.isOfStore && !tried.containsKey(place.fs)) {
      if (needsDirectory(directory, conf)) OwnFiles.ensureDirectory(directory, conf)
      if (!holds(step, directory, spare, conf)) {
        removeIfEmpty(directory, place.fs)
        throw PmeErrors.storeOverwrites(directory.toString)
      }
      tried.put(place.fs, true)
    }
    ()
  }

  /** Whether a directory must exist before a file can be in it. */
  def needsDirectory(directory: Path, conf: Configuration): Boolean =
    !PublishStep.createsWhole(directory.getFileSystem(conf), directory)

  /**
   * @param to the name; its directory exists, if it needs one
   * @param staged a free name in the same directory, for a file system in which the file is written first
   * @return whether the name was free. It can be false although this call's file is there: a client that lost the answer
   *   to its first request asks again
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if the file system has no such step
   */
  def publish(bytes: Array[Byte], to: Path, staged: Path, conf: Configuration): Boolean =
    PublishStep.of(Place.of(to, conf)).publish(bytes, to, staged, conf)

  /** The file systems that this JVM saw keep an existing file. */
  private val tried = Collections.synchronizedMap(new WeakHashMap[FileSystem, Boolean])

  private def holds(step: PublishStep, directory: Path, spare: () => String, conf: Configuration) = {
    val name = new Path(directory, spare())
    def publish() = step.publish(Array[Byte](0), name, new Path(directory, spare()), conf)
    try publish() && !publish()
    finally OwnFiles.delete(name, conf)
  }

  /** Clients of stores leave an object that stands for a directory when they delete the last one in it. */
  private def removeIfEmpty(directory: Path, fs: FileSystem): Unit =
    if (fs.exists(directory) && fs.listStatus(directory).isEmpty) {
      fs.delete(directory, /* recursive= */ false)
      ()
    }
}

/** @param isOfStore whether it is a promise of a store behind the client */
private sealed abstract class PublishStep(val isOfStore: Boolean) {
  def publish(bytes: Array[Byte], to: Path, staged: Path, conf: Configuration): Boolean
}

private object PublishStep {

  /**
   * Hadoop's name for a condition on which an object is created: that none of its name is there. S3A has it from 3.4.2,
   * and sends `If-None-Match: *` with the request that makes the object appear.
   */
  private val Conditional = "fs.option.create.conditional.overwrite"

  /** The Cloud Storage connectors send generation 0 as a precondition if they must not overwrite. */
  private val GoogleStorage = Set("gs")

  /** A rename has `If-None-Match: *`, and is one step only with a hierarchical namespace, which alone has ACLs. */
  private val DataLake = Set("abfs", "abfss")
  private val OfS3 = Set("s3", "s3a", "s3n")

  def of(place: Place): PublishStep = {
    val (fs, path) = (place.fs, place.path)
    val scheme = place.scheme
    if (place.isLocal) Link
    else if (scheme == Place.Hdfs) HdfsRename
    else if (fs.hasPathCapability(path, Conditional)) ConditionalCreate
    else if (GoogleStorage(scheme)) NewObject
    else if (DataLake(scheme) && fs.hasPathCapability(path, CommonPathCapabilities.FS_ACLS)) DataLakeRename
    else if (DataLake(scheme)) throw PmeErrors.flatDataLake(path.toString)
    else if (OfS3(scheme)) throw PmeErrors.oldHadoopAws(path.toString)
    else throw PmeErrors.noPublication(path.toString)
  }

  /** Whether a file appears when all of it is written, so that no other name is needed before. */
  def createsWhole(fs: FileSystem, path: Path): Boolean =
    !Place.isLocal(fs) && (GoogleStorage(fs.getUri.getScheme) || fs.hasPathCapability(path, Conditional))

  /** The file is written under another name first, which is gone afterwards. */
  private final class Staged(isOfStore: Boolean)(move: (Place, Place, Configuration) => Boolean)
      extends PublishStep(isOfStore) {
    override def publish(bytes: Array[Byte], to: Path, staged: Path, conf: Configuration): Boolean =
      try {
        OwnFiles.write(staged, bytes, conf)
        move(Place.of(staged, conf), Place.of(to, conf), conf)
      } catch { case there: IOException if OwnFiles.isThere(there) => false }
      finally OwnFiles.delete(staged, conf)
  }

  private val Link = new Staged(isOfStore = false)((from, to, _) => {
    LocalFiles.publish(from.local, to.local)
    true
  })

  private val HdfsRename = new Staged(isOfStore = false)((from, to, conf) => {
    FileContext.getFileContext(to.fs.getUri, conf).rename(from.path, to.path, Rename.NONE)
    true
  })

  private val DataLakeRename = new Staged(isOfStore = true)((from, to, _) => {
    val moved = to.fs.rename(from.path, to.path)
    // A directory of the name takes the file in.
    val inside = new Path(to.path, from.path.getName)
    moved && !(to.fs.exists(inside) && to.fs.delete(inside, /* recursive= */ false))
  })

  /** An object appears when its stream is closed, and not before. */
  private final class Whole(open: Place => FSDataOutputStream) extends PublishStep(isOfStore = true) {
    override def publish(bytes: Array[Byte], to: Path, staged: Path, conf: Configuration): Boolean =
      try {
        val out = open(Place.of(to, conf))
        try out.write(bytes)
        catch {
          case failed: Throwable =>
            // Closing would publish what has been written.
            try out.abort()
            catch { case NonFatal(second) => failed.addSuppressed(second) }
            throw failed
        }
        out.close()
        true
      } catch {
        // Clients have different exceptions for a precondition that failed.
        case failed: IOException => if (OwnFiles.find(to, conf) != Found.Nothing) false else throw failed
      }
  }

  private val ConditionalCreate = new Whole(place =>
    try created(place.fs.createFile(place.path))
    catch {
      case unknown @ (_: IllegalArgumentException | _: UnsupportedOperationException) =>
        throw PmeErrors.oldHadoopAws(place.path.toString, unknown)
    }
  )

  private def created[S <: FSDataOutputStream, B <: FSDataOutputStreamBuilder[S, B]](
      builder: FSDataOutputStreamBuilder[S, B]
  ): FSDataOutputStream = {
    builder.recursive()
    builder.overwrite(false)
    // Not `opt`, which a client that does not know it would pass over.
    builder.must(Conditional, "true")
    builder.build()
  }

  private val NewObject = new Whole(place => place.fs.create(place.path, /* overwrite= */ false))
}
