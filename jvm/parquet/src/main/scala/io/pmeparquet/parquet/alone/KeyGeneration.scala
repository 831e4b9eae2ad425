package io.pmeparquet.parquet.alone

import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import org.apache.hadoop.conf.Configuration

/**
 * Which key-encryption keys the writers of a configuration share. With another generation, they take new ones from the
 * KMS, though the keys from before have not expired. The driver that starts it need not reach executors or desks: the
 * configuration of each later task has it.
 */
private[pmeparquet] object KeyGeneration {
  val Name = "pme.parquet.key.generation"

  def of(conf: Configuration): Option[String] = Option(conf.get(Name))

  // As many as there were rotations.
  private val begun = ConcurrentHashMap.newKeySet[String]()

  /** Starts a new one, for all whose configurations are copies of this one that are made from now on. */
  def begin(conf: Configuration): Unit = {
    val generation = UUID.randomUUID().toString
    begun.add(generation)
    conf.set(Name, generation)
  }

  /** Whether this process started it. Any other is not answered, because each one that is answered costs memory. */
  def isKnown(generation: String): Boolean = begun.contains(generation)
}
