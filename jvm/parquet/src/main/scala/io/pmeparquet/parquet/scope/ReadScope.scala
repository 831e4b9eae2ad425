package io.pmeparquet.parquet.scope

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.KeySource
import io.pmeparquet.material.DataKeyUnwrapper
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.RecentValues

/** @param access how executors get keys */
final class ReadScope private[parquet] (
    id: String,
    val settings: ReadSettings,
    access: KeyAccess,
    @transient private[parquet] val opening: ScopeOpening
) extends Scope(id) {
  @transient private var opened: DataKeyUnwrapper = _
  @transient private var source: KeySource = _
  @transient private lazy val caches: ScopeCaches = new ScopeCaches(settings)

  /** This scope's cache of one kind in this JVM. */
  private[parquet] def cache[K, V](kind: ScopeCache[K, V]): RecentValues[K, V] = caches.of(kind)

  @transient lazy val counters: ReadCounters = new ReadCounters

  /** Unwraps data keys in this JVM. */
  def unwrapper(conf: Configuration): DataKeyUnwrapper = synchronized {
    if (opened == null) {
      opened = new DataKeyUnwrapper(keySource(conf), settings.kekLifetimeMillis)
    }
    opened
  }

  /** Where this JVM gets keys. */
  def keySource(conf: Configuration): KeySource = synchronized {
    if (source == null)
      source = Option(opening).fold(access.open(conf, settings.kekLifetimeMillis))(_.source)
    source
  }

  override private[pmeparquet] def sharedMillis: Option[Long] = Some(settings.kekLifetimeMillis)

  override private[pmeparquet] def sweep(): Unit = {
    caches.sweep()
    Option(opening).foreach(_.source.sweep())
    synchronized(Option(opened)).foreach(_.sweep())
  }

  private def readResolve(): AnyRef = ScopeRegistry.intern(this)
}

/**
 * A kind of cache. Each read scope has its own in each JVM. The object that extends this trait identifies the cache, so
 * a scope need not know its content.
 */
private[parquet] trait ScopeCache[K, V] {
  def empty(settings: ReadSettings): RecentValues[K, V]
}

/** The caches of one read scope in this JVM. */
private[scope] final class ScopeCaches(settings: ReadSettings) {
  private val caches = new ConcurrentHashMap[ScopeCache[_, _], RecentValues[_, _]]

  def of[K, V](kind: ScopeCache[K, V]): RecentValues[K, V] =
    caches.computeIfAbsent(kind, _ => kind.empty(settings)).asInstanceOf[RecentValues[K, V]]

  /** Forgets expired entries, which may hold keys. */
  def sweep(): Unit = caches.values.forEach(_.sweep())
}
