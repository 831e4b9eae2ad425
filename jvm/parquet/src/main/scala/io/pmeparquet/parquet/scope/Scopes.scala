package io.pmeparquet.parquet.scope

import java.util.UUID

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyDesks, KeyGrants, KeyRoute, KmsSource, KmsUse}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.material.{JobKeks, KeyMaterial}
import io.pmeparquet.options.{ReadSettings, WriteSettings}
import io.pmeparquet.PmeErrors

/** Makes scopes on the driver, and finds them on executors. */
object Scopes {
  val ReadId = "pme.parquet.read.scope"
  val WriteId = "pme.parquet.write.scope"

  /**
   * The scope of equal settings, if this driver has one: its caches are for the same user and the same keys.
   *
   * @throws io.pmeparquet.PmeException if the KMS cannot be opened
   */
  def forRead(use: KmsUse, settings: ReadSettings, conf: Configuration): ReadScope =
    KnownScopes.existing(use, settings).getOrElse {
      val opening = open(use, conf, settings.kekLifetimeMillis)
      KnownScopes.reader(use, settings) {
        val access = accessOf(opening, use, KeyGrants.toRead(settings.givesOut))
        new ReadScope(newId(), settings, access, opening)
      }
    }

  /** A scope that is not shared, for a KMS that this driver has opened and that no executor calls. */
  private[parquet] def alone(source: KmsSource, route: KeyRoute, settings: ReadSettings): ReadScope = {
    val access = KeyAccess.AtDriver(KeyDesks.open(source, route, KeyGrants.toRead(settings.givesOut)))
    KnownScopes.add(new ReadScope(newId(), settings, access, new ScopeOpening(source, None)))
  }

  private[parquet] def open(use: KmsUse, conf: Configuration, lifetimeMillis: Long): ScopeOpening = {
    val kms = KmsAccess.open(use.settings, conf)
    val source = new KmsSource(kms, lifetimeMillis, noticed = SingleWrapping.noticed(use.settings, kms))
    new ScopeOpening(source, Some(use))
  }

  /** @param grants what executors may ask the driver for; executors that call the KMS have no such limit */
  private[parquet] def accessOf(opening: ScopeOpening, use: KmsUse, grants: KeyGrants): KeyAccess =
    use.route match {
      case Some(route) => KeyAccess.AtDriver(KeyDesks.open(opening.source, route, grants))
      case None => KeyAccess.AtKms(use.settings)
    }

  /**
   * The scope of one write job. It calls the KMS here, on the driver, before any file is touched.
   *
   * @throws io.pmeparquet.PmeException if the KMS lacks a key or refuses it
   */
  def forWrite(settings: WriteSettings, tableDirectory: String, conf: Configuration): WriteScope = {
    val where = s"write to $tableDirectory"
    val files = settings.files
    if (!files.masterKeys.forall(KeyMaterial.isKeyName))
      throw PmeErrors.contradiction(
        "footerKey, columnKeys and uniformKey",
        "a key id has control characters, which readers refuse",
        "Use another id."
      )
    // If prefixes differ by file, each file is checked before it is written: the names that Spark makes are long.
    if (!files.aadPrefix.exists(_.differsByFile)) {
      files.prefixToWrite(tableDirectory, "", where)
      ()
    }
    val opening = open(settings.use, conf, lifetimeMillis = 0)
    if (files.directKeys) files.masterKeys.foreach(DirectKeys.of(opening.source, _, files.dataKeyBits, where))
    // With single wrapping these are discarded: a key that cannot wrap fails here and not in a task.
    val keks =
      if (files.directKeys) None
      else Some(JobKeks.make(opening.source, files.masterKeys, files.kekBits, where))
    val scope = new WriteScope(
      newId(),
      files,
      keks.filter(_ => files.wrapsTwice),
      if (files.wrapsTwice) None
      else Some(accessOf(opening, settings.use, KeyGrants.toWrite(files.masterKeys, files.directKeys))),
      if (files.wrapsTwice) null else opening,
      tableDirectory
    )
    KnownScopes.add(scope)
  }

  private[parquet] def intern(scope: Scope): Scope = KnownScopes.intern(scope)

  /** The scope that the configuration of a task's read leads to. */
  def read(conf: Configuration): ReadScope = KnownScopes.of[ReadScope](conf.get(ReadId))

  /** The scope that the configuration of a task's write leads to. */
  def write(conf: Configuration): WriteScope = KnownScopes.of[WriteScope](conf.get(WriteId))

  /** Sweeps something as scopes are swept, for as long as somebody holds it. */
  def sweepAlso(one: Expiring): Unit = Sweeper.add(one)

  private def newId(): String = UUID.randomUUID().toString
}
