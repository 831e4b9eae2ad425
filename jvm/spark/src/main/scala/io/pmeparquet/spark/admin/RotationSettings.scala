package io.pmeparquet.spark.admin

import io.pmeparquet.parquet.rotation.FileRotation
import io.pmeparquet.PmeErrors

/**
 * What a rotation changes.
 *
 * @param newKms the options of the KMS to move keys to; none: keys stay in their KMS
 * @param masterKeys the new master key of each old one; keys under other master keys do not change. None: each key
 *   keeps its master key, and moves to the newest version of it
 * @param keyMaterial `internal` or `external`; none: it stays where it is
 * @param dryRun writes nothing, and asks the KMS to wrap nothing
 * @param allowUnused whether `masterKeys` may name master keys that no key is under
 */
final case class RotationSettings(
    newKms: Option[Map[String, String]] = None,
    masterKeys: Option[Map[String, String]] = None,
    keyMaterial: Option[String] = None,
    dryRun: Boolean = false,
    allowUnused: Boolean = false
) {
  private[admin] def check(): Unit = {
    keyMaterial.filterNot(Set(FileRotation.Internal, FileRotation.External)).foreach { other =>
      throw PmeErrors.badOption("key_material", other, "internal or external")
    }
    // If a run stops half-way, the user runs it again. With a chain, the second run could not tell which keys the first
    // had already moved.
    masterKeys.foreach(_.foreach { case (from, to) =>
      masterKeys.flatMap(_.get(to)).filter(_ => from != to).foreach { further =>
        throw PmeErrors.contradiction(
          "master_keys",
          s"it maps '$from' to '$to', and '$to' to '$further'",
          "Rotate them in two runs."
        )
      }
    })
  }
}
