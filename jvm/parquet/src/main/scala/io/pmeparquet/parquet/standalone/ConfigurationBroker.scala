package io.pmeparquet.parquet.standalone

import java.security.PrivilegedAction

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{AesKey, PmeErrors, PmeException, RecentValues}
import io.pmeparquet.keys._
import io.pmeparquet.kms.{EngineRoutes, KmsAccess}
import io.pmeparquet.material.SharedKeks
import io.pmeparquet.options.{OptionValues, PmeOptions, Settings}
import io.pmeparquet.parquet.scope.{Expiring, ScopeRegistry}

/**
 * Keys from the driver for those who have a Hadoop configuration and nothing else. An executor says which configuration
 * it has, by a digest. The driver answers only if a session of its own has the same, and opens the KMS with that of the
 * session: what a table or a task says of a KMS is never used.
 */
private[pmeparquet] object ConfigurationBroker extends Expiring {

  /** The key broker for who has this configuration; none if this process calls the KMS itself. */
  private[standalone] def find(conf: Configuration, values: OptionValues): Option[KeyBroker] =
    if (!mayAsk(values)) None
    else {
      lazy val request = ConfigurationIdentity.requestOf(conf)
      EngineRoutes.all.iterator.flatMap(ask(_, request).iterator).take(1).toList.headOption
    }

  /** Whether the options let the driver call the KMS. */
  private[standalone] def mayAsk(values: OptionValues): Boolean =
    values.choice(PmeOptions.CallFrom) != "executor" && !isDirect(values)

  /** How this process, which calls the KMS itself, records that. */
  private[standalone] def ownAudit(values: OptionValues, purpose: KeyPurpose): KeyAudit = {
    val audit = ConfigurationOptions.audit(values, purpose, EngineRoutes.ofApplication)
    if (audit.mode.isOn && EngineRoutes.all.exists(_.isWorker))
      throw PmeErrors.contradiction(
        PmeOptions.Audit.name,
        "this executor would call the KMS itself, because its driver does not know its configuration, and the record is " +
          "the driver's",
        "Set options in the session, and not in the table, read or write."
      )
    audit
  }

  private def ask(route: ConfigurationRoute, request: => String): Option[KeyBroker] =
    try route.broker(request)
    catch {
      // An engine that is not on the class path.
      case _: LinkageError => None
    }

  // Only KMSs that are in the process itself give keys out.
  private def isDirect(values: OptionValues) = values.choice(PmeOptions.KeyManagement) == "direct"

  private final class Opened(val source: RenewedSource, val keks: SharedKeks, val broker: KeyBroker)
      extends Expiring {
    override def sweep(): Unit = {
      source.sweep()
      keks.sweep()
    }
  }
  private val MaxOpened = 10000
  private val opened = new RecentValues[String, Opened](MaxOpened, Long.MaxValue)

  ScopeRegistry.own(this)

  override def sweep(): Unit = ()
  override def close(): Unit = opened.clear()

  /**
   * Answers a request for the key broker of a configuration. Brokers stay open until the application ends, since executors
   * may keep them; only an application with more configurations than are kept loses the one asked for longest ago.
   * ''Driver only.''
   *
   * @param request as [[ConfigurationIdentity.requestOf]] makes it
   * @param own the configurations of the driver's sessions
   * @param said what the application and these sessions say of records, by the name of the option
   */
  def answer(
      request: String,
      own: => Seq[Configuration],
      route: => KeyRoute,
      said: String => Seq[String] = _ => Nil
  ): Array[Byte] =
    KeyBroker.handedOver(
      try {
        // A session that asks for a record later does not get what was opened without one.
        val key = (request +: PmeOptions.auditOptions.flatMap(option => said(option.name))).mkString(" ")
        Right(
          opened
            .find(key)
            .orElse(found(request, own).map(conf => opened.get(key)(open(conf, route, said))))
            .map(_.broker)
        )
      } catch { case failed: PmeException => Left(failed) }
    )

  private def found(request: String, own: => Seq[Configuration]): Option[Configuration] = {
    val (digest, generation) = ConfigurationIdentity.in(request)
    if (generation.forall(KeyGeneration.isKnown)) own.find(ConfigurationIdentity.of(_) == digest) else None
  }

  private def open(conf: Configuration, route: KeyRoute, said: String => Seq[String]): Opened = {
    val lifetimeMillis = Settings.lifetimeMillis(ConfigurationOptions.of(conf))
    val user = UserGroupInformation.getCurrentUser
    val openKms: PrivilegedAction[KmsSource] = () => {
      val values = ConfigurationOptions.of(conf)
      val audit = ConfigurationOptions.audit(values, KeyPurpose.Read, said)
      new KmsSource(KmsAccess.open(ConfigurationOptions.kms(values, conf), conf, audit), lifetimeMillis)
    }
    val source = new RenewedSource(lifetimeMillis, () => user.doAs(openKms))
    val keks = new SharedKeks(source, lifetimeMillis)
    val made =
      new Opened(source, keks, KeyBrokers.open(source, route, KeyGrants.toConfiguration, Some(keks)))
    ScopeRegistry.own(made)
    made
  }
}

/** A KMS that is opened again after the lifetime of its keys, so that changed secrets are found. */
private[standalone] final class RenewedSource(lifetimeMillis: Long, open: () => KmsSource) extends KeySource {
  private val current = new RecentValues[Unit, KmsSource](1, lifetimeMillis)

  private def source: KmsSource = current.get(())(open())

  override def describe: String = source.describe
  override def instance: (String, String) = source.instance
  override def unwrap(keys: Seq[WrappedKey], where: String): Seq[Either[PmeException, IssuedKey]] =
    source.unwrap(keys, where)
  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    source.wrap(key, masterKeyId, where)
  override def directKey(id: String, where: String): Option[AesKey] = source.directKey(id, where)
  override def reserve(id: String, uses: Long, where: String): Unit = source.reserve(id, uses, where)

  def sweep(): Unit = {
    current.find(()).foreach(_.sweep())
    current.sweep()
  }
}
