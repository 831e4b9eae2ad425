package io.pmeparquet.parquet.summary

/** A set of hashes, without an object for each. */
private[summary] final class DistinctHashes {
  private var slots = new Array[Long](1024)
  private var hasZero = false
  private var used = 0

  def size: Int = used + (if (hasZero) 1 else 0)

  def add(hash: Long): Unit =
    // An empty slot is zero.
    if (hash == 0) hasZero = true
    else if (insert(slots, hash)) {
      used += 1
      if (used * 2 > slots.length) grow()
    }

  def foreach(use: Long => Unit): Unit = {
    if (hasZero) use(0)
    slots.foreach(hash => if (hash != 0) use(hash))
  }

  private def grow(): Unit = {
    val larger = new Array[Long](slots.length * 2)
    slots.foreach(hash => if (hash != 0) insert(larger, hash))
    slots = larger
  }

  private def insert(into: Array[Long], hash: Long): Boolean = {
    val mask = into.length - 1
    var at = hash.toInt & mask
    while (into(at) != 0 && into(at) != hash) at = (at + 1) & mask
    val isNew = into(at) == 0
    into(at) = hash
    isNew
  }
}
