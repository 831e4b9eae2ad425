package io.pmeparquet.parquet.verify

import scala.util.hashing.MurmurHash3
import scala.util.Random

import io.pmeparquet.PmeErrors

/**
 * The part of a table to verify, the same in every run. ''Crosses the wire''.
 *
 * @param files the fraction of files
 * @param pages the fraction of data pages in them; all other modules are opened
 */
final case class Sample(files: Double = 1, pages: Double = 1, seed: Long = 0) {
  Seq("sample.files" -> files, "sample.pages" -> pages).foreach { case (name, fraction) =>
    if (!(fraction > 0 && fraction <= 1))
      throw PmeErrors.badOption(name, fraction.toString, "a fraction above 0 and up to 1")
  }

  /** The sample of some files, in their order: at least one. */
  def of[A](all: Seq[A]): Seq[A] =
    if (files == 1) all
    else {
      val chosen = new Random(seed).shuffle(all.indices.toList).take(math.ceil(files * all.size).toInt).toSet
      all.zipWithIndex.collect { case (one, index) if chosen(index) => one }
    }

  /** @param file the file's name */
  def takes(file: String, rowGroup: Int, column: Int, page: Int): Boolean =
    pages == 1 || {
      val hash = MurmurHash3.productHash((file, seed, rowGroup, column, page))
      Integer.toUnsignedLong(hash).toDouble < pages * Sample.Hashes
    }
}

object Sample {
  private val Hashes = math.pow(2, Integer.SIZE.toDouble)
}
