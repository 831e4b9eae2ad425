package io.pmeparquet.orc

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.orc.keys.{OrcKeyName, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcEnd, OrcKey, OrcLocalKey, OrcVariant}
import io.pmeparquet.parquet.rotation.{EndReplacement, FileNeeds, FileRotation, RotatedFooter}
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile}
import io.pmeparquet.PmeErrors

/**
 * The rotation of ORC files whose local keys are wrapped, as key material. Stripes and statistics stay byte for byte:
 * encrypted local keys are in the file's footer, which is not encrypted. ''Crosses the wire.''
 *
 * Where the master key itself encrypts local keys, nothing can rotate them: ORC decrypts a local key with its own
 * encrypted form as initialization vector, so under another master key no encrypted form of a given local key can be found.
 *
 * @param masterKeys as in [[FileRotation]]
 * @param external whether the rotation is to put key material next to files, which ORC does not have
 */
final class OrcRotation(
    scope: OrcScope,
    protected val masterKeys: Option[Map[String, String]],
    external: Boolean
) extends FileRotation {
  import OrcRotation._

  override def firstKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    opened(file.path, file.length, conf) { (_, keyed) =>
      val own = keyed.local.flatMap(_.material).map(_.wrappedKey)
      own.filter(key => target(key.masterKeyId).isDefined).distinct
    }.getOrElse(Nil)

  override def furtherKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] = Nil

  override def look(file: ListedFile, conf: Configuration): FileNeeds =
    opened(file.path, file.length, conf) { (found, keyed) =>
      if (keyed.local.isEmpty) FileNeeds.Nothing("it is not encrypted")
      else {
        FileReplacement.of(new Path(file.path), conf)
        keyed.requireRotatable()
        scope.useConf(conf)
        for (one <- keyed.local; material <- one.material if target(material.masterKeyId).isDefined)
          found.checkKey(one.of, scope.localKey(one.name, one.of.encrypted, file.path).toSecretKey)
        val materials = keyed.local.flatMap(_.material)
        FileNeeds.Keys(
          keyed.local.map(_.wrappedKey).distinct,
          FileRotation.Internal,
          more = false,
          (met(materials) ++ keyed.local.filter(_.material.isEmpty).flatMap(named)).distinct
        )
      }
    }.getOrElse(FileNeeds.Nothing("it is empty"))

  /** How the rotation names a master key, or else how everybody does. */
  private def named(one: KeyedLocal) = {
    val meant = one.ids.filter(id => masterKeys.exists(_.contains(id)))
    if (meant.isEmpty) one.ids.take(1) else meant
  }

  override def change(
      file: ListedFile,
      changes: Map[WrappedKey, WrappedKey],
      conf: Configuration
  ): Option[RotatedFooter] = {
    val replacement = EndReplacement.of(file, conf)
    opened(file.path, replacement.length, conf) { (_, keyed) =>
      val done = changes.values.toSet
      val targeted = keyed.local.map(_.wrappedKey).filter(key => target(key.masterKeyId).isDefined)
      val left = targeted.filterNot(done)
      if (left.exists(!changes.contains(_)) || (left.nonEmpty && !replacement.isListed))
        throw PmeErrors.changedMeanwhile(file.path)
      if (left.forall(key => changes(key) == key)) None
      else Some(write(keyed, changes, replacement, conf))
    }.getOrElse(throw PmeErrors.changedMeanwhile(file.path))
  }

  private def write(
      keyed: KeyedOrc,
      changes: Map[WrappedKey, WrappedKey],
      replacement: EndReplacement,
      conf: Configuration
  ): RotatedFooter = {
    keyed.requireRotatable()
    val (end, after) = keyed.end.withKeys(keyed.keyOf(changes), keyed.changed(changes))
    // The new keys open what the old ones opened: if not, the file stays.
    scope.useConf(conf)
    OpenedOrc.requireKeys(after) { variant =>
      val name = OrcKeyName(variant.key.name, variant.key.version)
      // A key that stays need not be one of this user's.
      if (target(keyed.idBefore(variant)).isEmpty) None
      else Some(scope.localKey(name, variant.encryptedKey, keyed.file).toSecretKey)
    }
    replacement.write(keyed.end.footerOffset, end, keyed.end.sha256)
  }

  private def opened[A](file: String, length: Long, conf: Configuration)(
      use: (OpenedOrc, KeyedOrc) => A
  ): Option[A] = OpenedOrc.using(new Path(file), length, conf) { found =>
    found.end.map(end => use(found, new KeyedOrc(end, scope)))
  }

  /** A file with its keys. */
  private final class KeyedOrc(val end: OrcEnd, scope: OrcScope) {
    val file: String = end.tail.file
    val local: Seq[KeyedLocal] = end.localKeys.map { one =>
      val name = OrcKeyName(one.variant.key.name, one.variant.key.version)
      new KeyedLocal(one, name, scope.materialOf(name, one.encrypted, file))
    }

    def requireRotatable(): Unit = {
      AcidFiles.refuse(end.tail)
      end.requireKnown()
      if (external) throw PmeErrors.orcKeyMaterial(file)
      local.find(one => one.material.isEmpty && one.ids.exists(target(_).isDefined)).foreach { one =>
        throw PmeErrors.orcKeyDerived(file, one.name.text)
      }
    }

    /** The master key of a variant's first local key, as its key material has it. */
    def idBefore(variant: OrcVariant): String = idOf(end.tail.variants(variant.id))

    private def idOf(variant: OrcVariant) =
      local.find(one => one.of.variant.id == variant.id).map(_.wrappedKey.masterKeyId).get

    /** The new master key of a variant, to which all its local keys must go. */
    def keyOf(changes: Map[WrappedKey, WrappedKey])(variant: OrcVariant): OrcKey = {
      val own = local.filter(_.of.variant.id == variant.id)
      own.map(one => changes.get(one.wrappedKey).map(_.masterKeyId)).distinct match {
        case Seq(None) => variant.key
        case Seq(Some(id)) =>
          val name = OrcKeyName.parse(id)
          variant.key.copy(name = name.name, version = name.version)
        case _ =>
          throw PmeErrors.keyMetadata(
            file,
            s"local keys under '${variant.key.display}' name several master keys"
          )
      }
    }

    def changed(
        changes: Map[WrappedKey, WrappedKey]
    )(variant: OrcVariant, encrypted: Array[Byte]): Array[Byte] = {
      val name = OrcKeyName(variant.key.name, variant.key.version)
      val rewrapped = scope.materialOf(name, encrypted, file).flatMap { material =>
        changes.get(material.wrappedKey).filter(_ != material.wrappedKey).map(material.rewrapped)
      }
      rewrapped.fold(encrypted)(_.toJson(internal = true).getBytes(UTF_8))
    }
  }
}

private object OrcRotation {

  /** @param material none if the master key itself encrypts the local key */
  final class KeyedLocal(val of: OrcLocalKey, val name: OrcKeyName, val material: Option[KeyMaterial]) {

    /** How users may name its master key. */
    def ids: Seq[String] = material.fold(name.kmsIds.reverse)(one => Seq(one.masterKeyId))

    /** What a KMS unwraps; nothing if it is not wrapped. */
    def wrappedKey: WrappedKey = material.fold(WrappedKey(ids.head, "", None))(_.wrappedKey)
  }
}
