package io.pmeparquet.parquet.rotation

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.material.FlatJson
import io.pmeparquet.material.FlatJson.{Flag, Text}
import io.pmeparquet.parquet.storage.{Found, OwnFiles}

/**
 * A file in a table's directory for as long as a rotation of the table runs. Of two concurrent rotations with different
 * aims, one could remove key material next to a file that the other has just started to use.
 *
 * Its name contains the aim, and nothing reads its content: the mark of a killed rotation does not stop whoever runs
 * the same one again.
 *
 * ''Driver only.''
 */
final class RotationMark private (val path: Path, conf: Configuration) {
  def remove(): Unit =
    try OwnFiles.delete(path, conf)
    catch {
      // The rotation itself is complete.
      case failed: IOException =>
        RotationMark.log.warn(
          s"$path could not be removed, and blocks other rotations of the table: ${failed.getMessage}"
        )
    }
}

object RotationMark {

  private val FormatVersion = "1"
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** A prefix that readers ignore, and that does not mark leftovers. */
  private val Prefix = ".pme-rotating-"
  private val NameDigits = 16

  /**
   * What a rotation makes of a table's keys, as text that is the same on every Spark and Scala: each of them continues
   * what another one has begun.
   *
   * @param masterKeys the new master key of each old one; none: each key keeps its master key
   * @param keyMaterial where key material goes; none: it stays where it is
   * @param toOther whether keys move to another KMS
   * @param instanceId of the KMS that keys are in afterwards
   */
  def aim(
      masterKeys: Option[Map[String, String]],
      keyMaterial: Option[String],
      toOther: Boolean,
      instanceId: String,
      instanceUrl: String
  ): String = {
    val fields = Seq(
      "formatVersion" -> Text(FormatVersion),
      "kms.instance.id" -> Text(instanceId),
      "kms.instance.url" -> Text(instanceUrl),
      "otherKms" -> Flag(toOther),
      "keyMaterial" -> Text(keyMaterial.getOrElse("unchanged")),
      "masterKeys" -> Text(if (masterKeys.isDefined) "named" else "unchanged")
    )
    val names = masterKeys.toSeq.flatten.sorted
    FlatJson.write(fields ++ names.map { case (from, to) => s"masterKeys.$from" -> Text(to) })
  }

  /**
   * @param aim the result of [[aim]], the same for each run that does the same
   * @throws io.pmeparquet.PmeException if a rotation with another aim has begun and has not ended
   */
  def place(table: Path, aim: String, conf: Configuration): RotationMark = {
    val path = pathOf(table, aim)
    val mark = new RotationMark(path, conf)
    // Before it looks for others: of two rotations that begin at once, at least one sees the other. An existing mark is
    // from a run with the same aim; anything else of its name is not written to, and does not let this one continue.
    if (!OwnFiles.createExclusively(path, conf) && OwnFiles.find(path, conf) != Found.File(0))
      throw PmeErrors.planted(path.toString)
    of(table, conf).find(_.getName != path.getName).foreach { other =>
      mark.remove()
      throw PmeErrors.rotationUnderWay(table.toString, other.toString)
    }
    mark
  }

  /** Where the mark of an operation with this aim is. */
  def pathOf(table: Path, aim: String): Path = new Path(table, Prefix + Sha256.ofText(aim).take(NameDigits))

  /** The marks of rotations that have begun and not ended. */
  def of(table: Path, conf: Configuration): Seq[Path] =
    table.getFileSystem(conf).listStatus(table).toSeq.map(_.getPath).filter(isMark)

  def isMark(path: Path): Boolean = path.getName.startsWith(Prefix)
}
