package io.pmeparquet.parquet.scope

import java.util.concurrent.ConcurrentHashMap

import io.pmeparquet.options.ReadSettings
import io.pmeparquet.RecentValues

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
