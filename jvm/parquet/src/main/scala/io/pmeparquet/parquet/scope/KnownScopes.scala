package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.reflect.ClassTag

import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.ReadSettings

/**
 * The scopes of this JVM, by their ids. A scope stays reachable while a task, plan or writer holds it; the most recent
 * scopes of readers stay longer, for their caches.
 */
private[scope] object KnownScopes extends Expiring {
  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = mutable.LinkedHashMap.empty[String, ReadScope]
  private val MaxRecent = 64
  Sweeper.add(this)

  /** The scope of a reader with equal settings, or a new one. Of concurrent callers, each gets the same. */
  def reader(use: KmsUse, settings: ReadSettings)(make: => ReadScope): ReadScope =
    recent.synchronized(existing(use, settings).getOrElse(register(make)))

  /** The scope of a reader with equal settings that this driver has made. */
  def existing(use: KmsUse, settings: ReadSettings): Option[ReadScope] =
    recent.synchronized(recent.values.find(isOf(_, use, settings)).map(touch))

  def add[S <: Scope](scope: S): S = recent.synchronized(register(scope))

  /** The scope of this JVM with the same id: a task deserializes its scope again for each of its functions. */
  def intern(scope: Scope): Scope = recent.synchronized {
    live(scope.id).map(touch).getOrElse(register(scope))
  }

  /** @param id from the configuration; null if it has none */
  def of[S <: Scope](id: String)(implicit kind: ClassTag[S]): S =
    Option(id).flatMap(live).collect { case scope: S => scope }.getOrElse {
      throw new IllegalStateException(
        "internal error: this JVM was not handed the encryption settings of this read or write"
      )
    }

  override def sweep(): Unit = known.values.forEach(reference => Option(reference.get()).foreach(_.sweep()))

  private def isOf(scope: ReadScope, use: KmsUse, settings: ReadSettings) =
    scope.settings == settings && scope.opening != null && scope.opening.use.contains(use)

  private def live(id: String): Option[Scope] = Option(known.get(id)).flatMap(ref => Option(ref.get()))

  private def register[S <: Scope](scope: S): S = {
    known.put(scope.id, new WeakReference[Scope](scope))
    known.values.removeIf(_.get() == null)
    touch(scope)
  }

  private def touch[S <: Scope](scope: S): S = {
    scope match {
      case reader: ReadScope =>
        recent.remove(scope.id)
        recent.put(scope.id, reader)
        if (recent.size > MaxRecent) recent.remove(recent.head._1)
      case _ => ()
    }
    scope
  }
}
