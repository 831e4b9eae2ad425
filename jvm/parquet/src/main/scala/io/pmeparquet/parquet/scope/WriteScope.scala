package io.pmeparquet.parquet.scope

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.columns.{ColumnKeys, KeyPlan, LeafColumn}
import io.pmeparquet.keys.{Invocations, KeySource, KeyUses}
import io.pmeparquet.material.{DataKeyWrapper, DoubleWrapper, JobKeks, KeyMetadata, SingleWrapper}
import io.pmeparquet.options.FileSettings

/**
 * @param keks the key encryption keys of double wrapping, which the driver makes: executors then need no KMS, and the
 *   scope holds no access to one
 * @param access how executors get data keys wrapped if there are no `keks`
 * @param masterKeys every master key of the job: none of `settings` is used that is not among them; none if tasks find
 *   them out
 * @param tableDirectory path of the table's directory, for `aadPrefix` and templates of keys
 */
final class WriteScope private[parquet] (
    id: String,
    val settings: FileSettings,
    masterKeys: Option[Set[String]],
    keks: Option[JobKeks],
    access: Option[KeyAccess],
    @transient private[parquet] val opening: ScopeOpening,
    val tableDirectory: String
) extends Scope(id) {
  @transient private var opened: KeySource = _
  @transient @volatile private var lastPlan: WriteScope.Planned = _

  /** The key of each column of a file. All files of a job have the same columns, so each JVM computes this once. */
  private[parquet] def plan(leaves: Seq[LeafColumn], columnKeys: Option[ColumnKeys]): KeyPlan = {
    val last = lastPlan
    if (last != null && last.leaves == leaves && last.columnKeys == columnKeys) last.plan
    else {
      val plan = KeyPlan.of(leaves, columnKeys, settings.unlisted, settings.caseSensitive)
      lastPlan = new WriteScope.Planned(leaves, columnKeys, plan)
      plan
    }
  }

  private[parquet] def mayUse(masterKey: String): Boolean =
    masterKeys.fold(settings.mayUse(masterKey))(_(masterKey))

  /** The id and URL of the KMS. ''Driver only.'' */
  private[parquet] def instance: (String, String) = keks.fold(opening.source.instance)(_.instance)

  def wrapper(conf: Configuration): DataKeyWrapper = keks match {
    case Some(made) => new DoubleWrapper(made)
    case None => new SingleWrapper(open(conf))
  }

  def open(conf: Configuration): KeySource = synchronized {
    if (opened == null)
      opened = Option(opening).map(_.source).getOrElse {
        access
          .getOrElse(throw new IllegalStateException("internal error: no KMS in scope"))
          .open(conf, lifetimeMillis = 0)
      }
    opened
  }

  @transient private lazy val direct = new ConcurrentHashMap[String, ReservedUses]

  /**
   * What counts encryptions with a data key, before they happen: for a key of one file here, for one of the KMS itself
   * where the key comes from. Both refuse more than a key may do.
   */
  private[parquet] def counterOf(keyMetadata: KeyMetadata, conf: Configuration): String => Unit =
    keyMetadata match {
      case KeyMetadata.Direct(keyId) =>
        direct.computeIfAbsent(keyId, _ => new ReservedUses(open(conf).reserve(keyId, _, _))).count
      case _: KeyMetadata.Wrapped =>
        val own = new Invocations
        own.count
    }

  override private[pmeparquet] def sharedMillis: Option[Long] = None

  // A write needs its keys until the job is done.
  override private[pmeparquet] def sweep(): Unit = ()

  private def readResolve(): AnyRef = ScopeRegistry.intern(this)
}

private object WriteScope {

  /** A key plan, and what it was computed from. */
  final class Planned(val leaves: Seq[LeafColumn], val columnKeys: Option[ColumnKeys], val plan: KeyPlan)
}

/** Reserves the uses of a key for all files of a job that this JVM writes: few at first, for small jobs. */
private final class ReservedUses(reserve: (Long, String) => Unit) {
  private var left = 0L
  private var next = ReservedUses.First

  def count(where: String): Unit = synchronized {
    if (left == 0) {
      reserve(next, where)
      left = next
      next = (next * 2).min(ReservedUses.Most)
    }
    left -= 1
  }
}

private object ReservedUses {
  val First = 64L
  val Most: Long = KeyUses.MostAtOnce
}

/** `keyManagement=direct`: the named key of the KMS is the data key. */
private[parquet] object DirectKeys {
  def of(source: KeySource, keyId: String, bits: Option[Int], where: String): AesKey = {
    val key = source.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        "keyManagement=direct",
        s"${source.describe} does not give keys out",
        "Use keyManagement=envelope."
      )
    }
    if (key.isZero)
      throw PmeErrors.keyUnusable(
        where,
        keyId,
        "all its bytes are zero, and parquet-java does not encrypt with such a key"
      )
    bits.filter(_ != key.bits).foreach { wanted =>
      throw PmeErrors.contradiction(
        "keyManagement and dataKeyBits",
        s"key '$keyId' has ${key.bits} bits, but dataKeyBits is $wanted",
        "Remove dataKeyBits, or name another key."
      )
    }
    key
  }
}
