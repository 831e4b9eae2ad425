package io.pmeparquet.spark.options

import java.security.PublicKey
import java.util.Arrays

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.keys.{KeyPurpose, KmsUse}
import io.pmeparquet.options.{PmeOptions, SnapshotSettings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.snapshot.{SnapshotDirectory, TableSnapshots, Version}
import io.pmeparquet.snapshot.manifest.{
  DataFormat,
  HmacSealer,
  SealCheck,
  Sealer,
  SignatureSealer,
  TablePolicy,
  VerifyKey
}
import io.pmeparquet.snapshot.xskipper.XskipperStore
import io.pmeparquet.PmeErrors

/**
 * What options say of snapshots: which ones a read accepts, and what seals a new one. ''Driver only.''
 */
private[spark] final class SnapshotResolver(options: ResolvedOptions) {
  val settings: SnapshotSettings = SnapshotSettings.of(options.values)

  def conf: Configuration = options.conf

  /** Opens parts, and gets the keys of HMACs. */
  lazy val scope: ReadScope =
    Scopes.forRead(options.kmsUse(KeyPurpose.Seal), TableSnapshots.acceptingParts(options.readSettings), conf)

  lazy val kmsUse: KmsUse = options.kmsUse(KeyPurpose.Seal)

  private lazy val verifyKey: Option[PublicKey] =
    options.secret(PmeOptions.VerifyKey).map(VerifyKey.ofPem(PmeOptions.VerifyKey.name, _))

  /** @throws io.pmeparquet.PmeException if verifyKey leads to no public key */
  def requireVerifyKey(): Unit = {
    verifyKey
    ()
  }

  def directory(table: Path): SnapshotDirectory = new SnapshotDirectory(table, settings.location, conf)

  /** The snapshots of a table, for a read. */
  def snapshots(directory: SnapshotDirectory): TableSnapshots = snapshots(directory, verifyKey)

  /** The snapshots of a table, for whoever seals it: the signing key verifies what it has signed. */
  def ownSnapshots(directory: SnapshotDirectory): TableSnapshots =
    snapshots(directory, verifyKey.orElse(signingKey.map(_._2.publicKey)))

  private def snapshots(directory: SnapshotDirectory, key: Option[PublicKey]) = new TableSnapshots(
    directory,
    settings,
    new SealCheck(key, settings.footerKey, options.readSettings.allowedMasterKeys, scope.keySource(conf)),
    scope,
    conf
  )

  private lazy val signingKey =
    options.values.text(PmeOptions.SigningKey).map(_.trim).filter(_.nonEmpty).map { id =>
      id -> options.openKms(KeyPurpose.Seal).signingKey(id, s"option ${PmeOptions.SigningKey.name}")
    }

  /** The names of keys that options have: those of the footer, and all. Some may be templates over partition columns. */
  def namedKeys: (Option[String], Set[String]) = {
    val values = options.values
    val footer = values.text(PmeOptions.UniformKey).orElse(values.text(PmeOptions.FooterKey))
    footer -> (footer.toSet ++ values.columnKeys.toSeq.flatMap(
      _.entries.map(_.masterKeyId)
    ) ++ values.keysOfTags)
  }

  /**
   * @param before the version that the next one continues
   * @param format of the files that it lists
   * @param policy what the next version will state of keys, as far as it is known
   * @throws io.pmeparquet.PmeException if options name a signing key that cannot be used, or another one than verifyKey, or
   *   none where one is needed
   */
  def requireSigner(before: Option[Version], format: DataFormat, policy: Option[TablePolicy] = None): Unit = {
    val stated = policy.orElse(before.map(_.manifest.policy)).filter(_.footerKey.isDefined)
    sealer(stated.getOrElse(TablePolicy(Some(""), Nil)), before, mayChangeKey = false, format)
    ()
  }

  /**
   * Seals new versions: with the signing key, or else with an HMAC. Files of ORC have no key that every reader has, and so
   * none for an HMAC.
   *
   * @param policy which key the table's footers have
   * @param before the version that the next one continues. It was verified with verifyKey, if that is set.
   * @param mayChangeKey whether another key than verifyKey may sign the version after it
   */
  def sealer(
      policy: TablePolicy,
      before: Option[Version],
      mayChangeKey: Boolean,
      format: DataFormat
  ): Sealer =
    signingKey match {
      case Some((id, key)) =>
        val isOther = verifyKey.exists(public => !Arrays.equals(public.getEncoded, key.publicKey.getEncoded))
        if (isOther && (before.isEmpty || !mayChangeKey))
          throw PmeErrors.contradiction(
            s"${PmeOptions.SigningKey.name} and ${PmeOptions.VerifyKey.name}",
            s"verifyKey is not the public key of '$id', so readers with this verifyKey would refuse the table",
            "Change one of them."
          )
        new SignatureSealer(id, key)
      case None if verifyKey.isDefined =>
        throw PmeErrors.missingOption(PmeOptions.SigningKey.name, "to seal a table with verifyKey")
      case None if format == DataFormat.Orc =>
        throw PmeErrors.missingOption(PmeOptions.SigningKey.name, "to seal a table of ORC files")
      case None if policy.hasFooterTemplate =>
        throw PmeErrors.missingOption(
          PmeOptions.SigningKey.name,
          "to seal a table whose partitions name the keys of footers, as no key for an HMAC is every reader's,"
        )
      case None =>
        val key = policy.footerKey.orElse(settings.footerKey).getOrElse {
          throw PmeErrors.missingOption(PmeOptions.SigningKey.name, "to seal a table without encryption")
        }
        new HmacSealer(key, scope.keySource(conf), before.filterNot(_.isSigned).map(_.key))
    }
}

/**
 * What options say of a store of Xskipper's. ''Driver only.''
 *
 * @param options of the read, whose keys open the store
 */
private[spark] final class StoreResolver(text: String, options: ResolvedOptions) {

  /** The directory of the store, qualified. */
  val directory: Path =
    try {
      val path = new Path(text)
      path.getFileSystem(options.conf).makeQualified(path)
    } catch {
      case _: IllegalArgumentException =>
        throw PmeErrors.badOption(PmeOptions.XskipperStore.name, text, "the path of a directory")
    }

  /** The store, plaintext or encrypted. */
  lazy val store: XskipperStore = {
    val accepting = TableSnapshots.acceptingParts(options.readSettings).copy(allowPlaintextFiles = true)
    new XskipperStore(
      directory,
      Scopes.forRead(options.kmsUse(KeyPurpose.Seal), accepting, options.conf),
      options.conf
    )
  }
}

private[spark] object StoreResolver {

  /**
   * The store of Xskipper's by which a read skips files. The read itself or its session names it, and never a stored
   * definition: whoever makes a store can hide rows.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the read accepts only what is signed
   */
  def of(options: ResolvedOptions): Option[StoreResolver] =
    options.own.text(PmeOptions.XskipperStore).map(_.trim).filter(_.nonEmpty).map { directory =>
      SnapshotSettings.of(options.values).requireUnsignedAllowed()
      new StoreResolver(directory, options)
    }
}
