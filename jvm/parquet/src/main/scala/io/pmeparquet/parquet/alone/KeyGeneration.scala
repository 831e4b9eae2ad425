package io.pmeparquet.parquet.alone

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

  /** Starts a new one, for all whose configurations are copies of this one that are made from now on. */
  def begin(conf: Configuration): Unit = conf.set(Name, UUID.randomUUID().toString)
}
