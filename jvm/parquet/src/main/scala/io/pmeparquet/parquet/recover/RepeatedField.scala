package io.pmeparquet.parquet.recover

import java.util.{BitSet, SplittableRandom}

import org.apache.parquet.schema.MessageType
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.parquet.file.ColumnPages

/**
 * The leaves of a list or map. Each states by its levels how many items a row has, and a reader that takes them together
 * moves values to other rows if they differ. Each leaf may have a key of its own, so whoever holds one could state what
 * the others do not. For one thread.
 */
private[recover] final class RepeatedField(
    input: ColumnPages,
    schema: MessageType,
    rowCount: Int,
    writer: ParsedVersion
) {
  // So that nobody can choose levels whose sums are equal.
  private val seed = new SplittableRandom().nextLong()

  /**
   * The rows in which two leaves differ.
   *
   * @param leaves in the order of the schema, so that those below one group are neighbours
   * @param lost rows not to look at
   */
  def disagreements(leaves: Seq[SoundChunk], lost: BitSet): BitSet = {
    val rows = new BitSet
    leaves.zip(leaves.drop(1)).foreach { case (one, two) =>
      val (left, right) = (one.descriptor.getPath, two.descriptor.getPath)
      val shared = left.zip(right).takeWhile { case (a, b) => a == b }.map(_._1)
      val levels =
        new Levels(schema.getMaxRepetitionLevel(shared: _*), schema.getMaxDefinitionLevel(shared: _*))
      val (first, second) = (sums(one, levels), sums(two, levels))
      (0 until rowCount).foreach(row => if (first(row) != second(row) && !lost.get(row)) rows.set(row))
    }
    rows
  }

  /** For each row, a sum over the levels that the group above two leaves has. */
  private def sums(leaf: SoundChunk, levels: Levels): Array[Long] = {
    val all = Array.fill(rowCount)(seed)
    for (found <- leaf.chunk; page <- leaf.pages) {
      var row = page.first - 1
      ChunkRecovery.values(input, found, ChunkRecovery.places(input, found, page.found), writer).foreach {
        reader =>
          val repetition = reader.getCurrentRepetitionLevel
          if (repetition == 0) row += 1
          if (row >= 0 && repetition <= levels.repetition) {
            val definition = reader.getCurrentDefinitionLevel.min(levels.definition)
            all(row) = mixed(all(row) + (repetition.toLong << 32 | definition.toLong) + 1)
          }
      }
    }
    all
  }

  /** The last step of SplitMix64. */
  private def mixed(value: Long): Long = {
    val one = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L
    val two = (one ^ (one >>> 27)) * 0x94d049bb133111ebL
    two ^ (two >>> 31)
  }
}

/** The highest levels of a group that leaves share. */
private final class Levels(val repetition: Int, val definition: Int)
