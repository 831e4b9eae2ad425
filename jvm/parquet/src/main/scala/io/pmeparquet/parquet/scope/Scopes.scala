package io.pmeparquet.parquet.scope

import java.util.concurrent.atomic.AtomicBoolean
import java.util.UUID

import scala.reflect.ClassTag

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.columns.FilePlace
import io.pmeparquet.keys._
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.material.{JobKeks, KeyMaterial}
import io.pmeparquet.options.{FileSettings, ReadSettings, WriteSettings}
import io.pmeparquet.parquet.storage.ErasureNotes

/** Makes scopes on the driver, and finds them by the id in a Hadoop configuration. */
object Scopes {
  val ReadId = "pme.parquet.read.scope"
  val WriteId = "pme.parquet.write.scope"

  /**
   * The scope of a read. Reads with equal settings share one on this driver, since its caches are for the same user and
   * the same keys.
   *
   * @throws io.pmeparquet.PmeException if the KMS cannot be opened
   */
  def forRead(use: KmsUse, settings: ReadSettings, conf: Configuration): ReadScope = {
    val fits = (scope: ReadScope) =>
      scope.settings == settings && scope.opening != null && scope.opening.use.contains(use)
    ScopeRegistry.shared(fits)(open(use, conf, settings.kekLifetimeMillis)) { opening =>
      val access = accessOf(opening, use, KeyGrants.toRead(settings.givesOut))
      new ReadScope(newId(), settings, access, opening)
    }
  }

  /** A scope that no other read shares, for a KMS that this driver has opened and that no executor calls. */
  private[parquet] def unshared(source: KmsSource, route: KeyRoute, settings: ReadSettings): ReadScope = {
    val access = KeyAccess.AtDriver(KeyBrokers.open(source, route, KeyGrants.toRead(settings.givesOut)))
    ScopeRegistry.register(new ReadScope(newId(), settings, access, new ScopeOpening(source, None)))
  }

  /** A scope whose keys come from a key broker that the driver has opened. */
  private[parquet] def readThroughBroker(broker: KeyBroker, settings: ReadSettings): ReadScope =
    ScopeRegistry.register(new ReadScope(newId(), settings, KeyAccess.AtDriver(broker), opening = null))

  /**
   * The same for a write. The driver makes the key-encryption keys, and all that write with the same configuration share
   * them.
   */
  private[parquet] def writeThroughBroker(broker: KeyBroker, files: FileSettings): WriteScope = {
    val masterKeys = masterKeysOf(files, None, "write")
    checkFiles(files, masterKeys, "", "write")
    val keks =
      if (files.wrapsTwice)
        Some(JobKeks.shared(broker, broker.instance, masterKeys, files.kekBits, "write"))
      else None
    val access = if (files.wrapsTwice) None else Some(KeyAccess.AtDriver(broker))
    ScopeRegistry.register(
      new WriteScope(
        newId(),
        files,
        Some(masterKeys.toSet),
        keks,
        access,
        opening = null,
        tableDirectory = ""
      )
    )
  }

  private[parquet] def open(use: KmsUse, conf: Configuration, lifetimeMillis: Long): ScopeOpening = {
    val kms = KmsAccess.open(use.settings, conf, use.audit)
    val noticed = warnOfSingleWrapping(use.settings, kms)
    val source = new KmsSource(kms, lifetimeMillis, noticed = noticed, halfUsed = warnOfUses)
    new ScopeOpening(source, Some(use))
  }

  /** @param grants what executors may ask the driver for; executors that call the KMS themselves are not limited */
  private[parquet] def accessOf(opening: ScopeOpening, use: KmsUse, grants: KeyGrants): KeyAccess =
    use.route match {
      case Some(route) => KeyAccess.AtDriver(KeyBrokers.open(opening.source, route, grants))
      case None => KeyAccess.AtKms(use.settings)
    }

  /**
   * The scope of one write job. It asks the KMS here, on the driver, before the write touches any file.
   *
   * @param tableDirectory the path of the table's directory; empty if it is unknown
   * @param places where its files will be, if names of keys depend on it; none: each task asks for keys as it meets values,
   *   which is only for writes that nothing is deleted for
   * @throws io.pmeparquet.PmeException if the KMS does not have a key, or denies it
   */
  def forWrite(
      settings: WriteSettings,
      tableDirectory: String,
      conf: Configuration,
      places: Option[Seq[FilePlace]] = None
  ): WriteScope = {
    val where = if (tableDirectory.isEmpty) "write" else s"write to $tableDirectory"
    val files = settings.files
    val masterKeys = masterKeysOf(files, places, where)
    if (files.keyColumns.nonEmpty) requireApart(masterKeys, settings.use.settings.kind == "azure", where)
    checkFiles(files, masterKeys, tableDirectory, where)
    val opening = open(settings.use, conf, lifetimeMillis = 0)
    if (files.directKeys) masterKeys.foreach(DirectKeys.of(opening.source, _, files.dataKeyBits, where))
    // Single wrapping makes these and throws them away, to find a key that cannot wrap here and not in a task.
    val keks =
      if (files.directKeys) None
      else Some(JobKeks.make(opening.source, masterKeys, files.kekBits, where))
    val scope = new WriteScope(
      newId(),
      files,
      Some(masterKeys.toSet),
      keks.filter(_ => files.wrapsTwice),
      if (files.wrapsTwice) None
      else Some(accessOf(opening, settings.use, KeyGrants.toWrite(masterKeys.toSet, files.directKeys))),
      if (files.wrapsTwice) null else opening,
      tableDirectory
    )
    ScopeRegistry.register(scope)
  }

  /**
   * The scope of one batch of a stream. Which keys it needs is not known before it runs. A key that the KMS refuses
   * fails the batch, which then adds no file.
   */
  def forBatch(settings: WriteSettings, tableDirectory: String, conf: Configuration): WriteScope = {
    val files = settings.files
    val where = s"write to $tableDirectory"
    checkFiles(files, files.masterKeys, tableDirectory, where)
    val route = settings.use.route.filter(_ => files.wrapsTwice).getOrElse {
      throw PmeErrors.unsupported(
        where,
        "a stream with keys by partition that asks the KMS for each file",
        "tasks find out which keys they need, and the driver makes these",
        "Use kms.callFrom=driver, doubleWrapping=true and keyManagement=envelope."
      )
    }
    val opening = open(settings.use, conf, lifetimeMillis = 0)
    val keks = new LateKeks(
      opening.source,
      names => requireApart(names, settings.use.settings.kind == "azure", where)
    )
    val broker = KeyBrokers.open(keks.source, route, KeyGrants.toBatch(files.mayUse), Some(keks))
    ScopeRegistry.register(
      new WriteScope(
        newId(),
        files,
        masterKeys = None,
        Some(JobKeks.asNeeded(broker, files.kekBits, where)),
        access = None,
        new ScopeOpening(opening.source, opening.use, Some(keks)),
        tableDirectory
      )
    )
  }

  /**
   * Makes the keys that templates name and the KMS does not have. Plain names may be misspelt, so their keys are not made.
   *
   * @return whether it made any, so that settings of the KMS must be read again
   */
  def createMissing(
      settings: WriteSettings,
      tableDirectory: String,
      conf: Configuration,
      places: Seq[FilePlace]
  ): Boolean = {
    val where = s"write to $tableDirectory"
    val files = settings.files
    val masterKeys = masterKeysOf(files, Some(places), where)
    requireApart(masterKeys, settings.use.settings.kind == "azure", where)
    checkFiles(files, masterKeys, tableDirectory, where)
    val kms = KmsAccess.open(settings.use.settings, conf, settings.use.audit)
    val administration = kms.administration.getOrElse {
      throw PmeErrors.unsupported(
        where,
        "createKeys=true",
        s"${kms.describe} does not make keys, or not from here",
        "Use a keystore in a local file, Vault or the KMS of a cloud, or make the keys with the KMS's own tools."
      )
    }
    val states = administration.states(masterKeys, where)
    val missing = masterKeys.filter(states(_) == KeyState.Missing)
    masterKeys.find(states(_).isGone).foreach(id => throw PmeErrors.keyDestroyed(where, id, kms.describe))
    missing.filter(files.masterKeys.contains).headOption.foreach { id =>
      throw PmeErrors.keyNotFound(where, id, kms.describe)
    }
    requireNotErased(missing, administration, tableDirectory, conf, kms.describe)
    if (missing.nonEmpty) administration.create(missing, where)
    missing.nonEmpty
  }

  /** Some KMSs forget keys that were destroyed; the table does not. */
  private def requireNotErased(
      missing: Seq[String],
      administration: KeyAdministration,
      table: String,
      conf: Configuration,
      kms: String
  ): Unit = {
    lazy val names = administration.namesOf(missing, table)
    val erased =
      if (missing.isEmpty) Set.empty[String]
      else
        ErasureNotes
          .of(new Path(table), conf)
          .flatMap(_._2.headOption.flatMap(ErasureNotes.parsed))
          .flatMap(ErasureNotes.keyNames(_))
          .toSet
    missing.find(id => erased(names(id))).foreach(id => throw PmeErrors.nameOfDestroyedKey(table, id, kms))
  }

  private def masterKeysOf(files: FileSettings, places: Option[Seq[FilePlace]], where: String): Seq[String] =
    if (files.keyColumns.isEmpty) files.masterKeys
    else
      places
        .getOrElse(
          throw PmeErrors.unsupported(
            where,
            "a key whose name depends on values",
            "this write does not know which values its rows have",
            "Write with df.write or INSERT."
          )
        )
        .flatMap(place => files.at(place, s"$where, ${place.display}").masterKeys)
        .distinct

  /** Of names that differ only in case, Azure makes one key, and a keystore may. */
  private def requireApart(masterKeys: Seq[String], isAzure: Boolean, where: String): Unit = {
    def lower(name: String) = name.toLowerCase(java.util.Locale.ROOT)
    val alike = masterKeys.groupBy(lower).values.find(_.size > 1)
    val capital = if (isAzure) masterKeys.find(name => lower(name) != name) else None
    (alike.map(_.mkString("' and '")) ++ capital).headOption.foreach { names =>
      throw PmeErrors.unsupported(
        where,
        s"a key by value with the name '$names'",
        "in some KMSs names that differ only in case are one key",
        "Use values in small letters, or buckets."
      )
    }
  }

  private def checkFiles(
      files: FileSettings,
      masterKeys: Seq[String],
      tableDirectory: String,
      where: String
  ): Unit = {
    if (!masterKeys.forall(KeyMaterial.isKeyName))
      throw PmeErrors.contradiction(
        "footerKey, columnKeys and uniformKey",
        "a key id has control characters, which readers refuse",
        "Use another id."
      )
    // If AAD prefixes differ by file, each is checked before that file is written: Spark makes long names.
    if (!files.aadPrefix.exists(_.differsByFile)) {
      files.prefixToWrite(tableDirectory, "", where)
      ()
    }
  }

  def read(conf: Configuration): ReadScope = of[ReadScope](conf.get(ReadId))
  def write(conf: Configuration): WriteScope = of[WriteScope](conf.get(WriteId))

  private def of[S <: Scope](id: String)(implicit kind: ClassTag[S]): S =
    Option(id).flatMap(ScopeRegistry.live).collect { case scope: S => scope }.getOrElse {
      throw new IllegalStateException(
        "internal error: this JVM was not handed the encryption settings of this read or write"
      )
    }

  private[pmeparquet] def newId(): String = UUID.randomUUID().toString

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  private def warnOfUses(keyId: String): Unit = log.warn(
    s"With keyManagement=direct, this application has encrypted with key '$keyId' half as often as one key may (2^32 " +
      "times), and writes beyond that fail. Other applications are not counted. Use another key for new tables, or " +
      "keyManagement=envelope."
  )

  /** Warns once per scope about files whose every data key costs a KMS call. */
  private def warnOfSingleWrapping(settings: KmsSettings, kms: Kms): Seq[WrappedKey] => Unit =
    // Calls within this process cost nothing.
    if (settings.isInProcess) _ => ()
    else {
      val warned = new AtomicBoolean
      keys =>
        if (keys.exists(_.kekId.isEmpty) && warned.compareAndSet(false, true))
          log.warn(
            s"Files were written with doubleWrapping=false, so ${kms.describe} has to unwrap a key for each file and " +
              s"column. To have one call for each master key, copy the table with ${Audience.current.rekey} or write it " +
              "with doubleWrapping=true."
          )
    }
}
