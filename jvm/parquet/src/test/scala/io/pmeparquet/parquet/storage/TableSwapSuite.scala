package io.pmeparquet.parquet.storage

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import munit.FunSuite
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException, SampledSuite}

/** New files take the place of old ones as a whole, or readers fail; a run that was killed is undone or completed. */
class TableSwapSuite extends FunSuite with SampledSuite {
  private val conf = MemoryStore.conf("s3a")
  private val old = Seq(
    "day=1/a.parquet",
    "day=1/b.parquet",
    "day=1/_KEY_MATERIAL_FOR_a.parquet.json",
    "day=2/c.parquet",
    "day=2/d.parquet"
  )
  private val others = Set("day=1/z.parquet", "day=3/e.parquet")

  private final class Made {
    val name: String = UUID.randomUUID().toString
    val store: MemoryStore.Bucket = MemoryStore.bucket(name)
    val table = new Path(s"s3a://$name/table")
    (old ++ others).foreach(file => store.put(s"/table/$file", file.getBytes(UTF_8), modified = 1))

    def there: Set[String] = store.names.map(_.stripPrefix("/table/"))

    /** What readers take for data, by directory, and the directories on which they fail. */
    def data: Set[String] = there.filter(name => name.endsWith(".parquet") && !hidden(name) && !refused(name))
    def failing: Set[String] = there.filter(refused).map(_.takeWhile(_ != '/'))
    private def hidden(name: String) = name.split('/').exists(_.startsWith("."))
    private def refused(name: String) = name.contains("0-unfinished-compaction-")

    private def listed(file: String): ListedFile = {
      val path = new Path(table, file)
      val status = path.getFileSystem(conf).getFileStatus(path)
      ListedFile(path.toString, status.getLen, status.getModificationTime, hasExternalMaterial = false)
    }

    def run(
        before: () => Unit = () => (),
        swapped: () => Unit = () => (),
        announced: () => Unit = () => (),
        decided: () => Unit = () => ()
    ): Unit = {
      val files =
        old.filter(_.endsWith(".parquet")).map(listed).groupBy(file => new Path(file.path).getParent)
      val swap = TableSwap.begin(table, conf)
      val all = files.toSeq.sortBy(_._1.toString).zipWithIndex.map { case ((directory, some), number) =>
        val name = swap.nameOf(number)
        val (attempt, _) = swap.attempt(conf) { place =>
          OwnFiles.write(new Path(place, name), s"new $number".getBytes(UTF_8), conf)
          OwnFiles.write(MaterialFiles.pathFor(new Path(place, name)), s"keys $number".getBytes(UTF_8), conf)
        }
        Replacing(directory, name, attempt, some)
      }
      before()
      try swap.swap(all, conf)
      catch {
        case failed: PmeException =>
          swap.undo(conf)
          throw failed
      }
      swapped()
      swap.sealing(new Path("s3a://snapshots/of-table"), conf)
      announced()
      swap.decide(conf)
      decided()
      swap.complete(conf)
    }

    /** The last of what a run removes may be left. */
    def runUntilKilled(): Unit =
      try run()
      catch { case _: MemoryStore.Killed => () }

    def putRight(isDecided: Boolean = false): Boolean =
      TableSwap.putRight(table, isKilled = true, conf)((_, _) => isDecided)
  }

  private def isOld(files: Set[String]) = files.filterNot(others) == old.filter(_.endsWith(".parquet")).toSet
  private def isNew(files: Set[String]) = {
    val own = files.filterNot(others)
    own.size == 2 && own.forall(_.contains("/compacted-"))
  }

  private def requireWhole(made: Made): Unit = {
    val files = made.there
    assert(isOld(made.data) || isNew(made.data), files.toString)
    val expected =
      if (isOld(made.data)) old.toSet ++ others else made.data ++ files.filter(_.contains("FOR_compacted-"))
    assertEquals(files, expected)
    if (isNew(made.data)) assertEquals(files.count(_.contains("FOR_compacted-")), 2)
  }

  test("new files take the place of the old ones, and nothing else stays") {
    val made = new Made
    made.run()
    assert(isNew(made.data))
    requireWhole(made)
    assert(!made.putRight())
  }

  test(
    "wherever a run is killed, readers see the old files, the new ones, or fail; and the next run puts all right"
  ) {
    val clean = new Made
    clean.run()
    val changes = clean.store.changes
    assert(changes > 15, changes.toString)
    var (undone, completed) = (0, 0)
    (0 until changes).foreach { at =>
      val made = new Made
      made.store.killAfter(at)
      made.runUntilKilled()
      made.store.revive()
      val byDirectory = made.data.filterNot(others).groupBy(_.takeWhile(_ != '/'))
      val mixed = byDirectory.exists { case (directory, files) =>
        val (fresh, before) = files.partition(_.contains("/compacted-"))
        val whole = (fresh.isEmpty && before.size == 2) || (fresh.size == 1 && before.isEmpty)
        !whole && !made.failing(directory)
      }
      val torn = !isOld(made.data) && !isNew(made.data)
      assert(!mixed, s"$at: ${made.there}")
      assert(!torn || made.failing == Set("day=1", "day=2"), s"$at: ${made.there}")
      made.putRight()
      requireWhole(made)
      if (isOld(made.data)) undone += 1 else completed += 1
    }
    assert(undone > 5 && completed > 3, s"$undone, $completed")
  }

  test("who puts a table right may be killed, too") {
    val clean = new Made
    clean.run()
    (0 until clean.store.changes).foreach { at =>
      // More than any run to put it right needs; in make test every fifth, and another one each time.
      (0 until 25).filter(isWhole || _ % 5 == at % 5).foreach { second =>
        val made = new Made
        made.store.killAfter(at)
        made.runUntilKilled()
        made.store.killAfter(second)
        try {
          made.putRight()
          ()
        } catch { case _: MemoryStore.Killed => () }
        made.store.revive()
        val torn = !isOld(made.data) && !isNew(made.data)
        assert(!torn || made.failing.nonEmpty, s"$at, $second: ${made.there}")
        made.putRight()
        requireWhole(made)
      }
    }
  }

  test("a run whose files a seal lists is completed, though it has not noted that") {
    val clean = new Made
    clean.run()
    val found = (0 until clean.store.changes).map { at =>
      val made = new Made
      made.store.killAfter(at)
      made.runUntilKilled()
      made.store.revive()
      if (isNew(made.data)) {
        made.putRight(isDecided = true)
        requireWhole(made)
        assert(isNew(made.data), made.there.toString)
      }
      isNew(made.data)
    }
    assert(found.count(identity) > 3)
  }

  for (
    (what, change) <- Seq[(String, Made => Unit)](
      "is gone" -> (_.store.objects.remove("/table/day=2/d.parquet")),
      "was replaced" -> (_.store.put("/table/day=2/d.parquet", "day=2/other".getBytes(UTF_8), modified = 2))
    )
  )
    test(s"if a file $what meanwhile, all is undone") {
      val made = new Made
      val failed = intercept[PmeException](made.run(() => change(made)))
      assert(failed.getMessage.contains("day=2/d.parquet"), failed.getMessage)
      val expected =
        (old ++ others).toSet -- (if (what == "is gone") Set("day=2/d.parquet") else Set.empty[String])
      assertEquals(made.there, expected)
    }

  test("a run that another one has undone removes nothing") {
    val made = new Made
    val failed = intercept[PmeException](made.run(swapped = () => { made.putRight(); () }))
    assert(failed.getMessage.contains("over"), failed.getMessage)
    assertEquals(made.there, old.toSet ++ others)
  }

  for (
    (when, run) <- Seq[(String, (Made, () => Unit) => Unit)](
      "before the decision" -> ((made, change) => made.run(swapped = change)),
      "after it" -> ((made, change) => made.run(decided = change))
    )
  )
    for (
      (what, isWanted) <- Seq[(String, String => Boolean)](
        "a new file" -> (name => name.contains("/compacted-")),
        "an old one" -> (name => name.endsWith("a.parquet.old"))
      )
    )
      test(s"if $what is not where it was put, no old file is removed: $when") {
        val made = new Made
        def hidden = made.there.filter(_.endsWith(".old"))
        var before = Set.empty[String]
        val failed = intercept[PmeException](
          run(
            made,
            () => {
              made.store.objects.remove(s"/table/${made.there.find(isWanted).get}")
              before = hidden
            }
          )
        )
        assert(failed.getMessage.contains("changed"), failed.getMessage)
        assertEquals(hidden, before)
        assert(made.failing.nonEmpty)
      }

  test("the next run learns where the version is that decides") {
    def shown(run: (Made, () => Unit) => Unit): Option[String] = {
      val made = new Made
      var found: Option[String] = None
      def look(): Unit = {
        TableSwap.putRight(made.table, isKilled = true, conf) { (_, snapshots) =>
          found = snapshots
          throw new MemoryStore.Killed
        }
        ()
      }
      intercept[MemoryStore.Killed](run(made, () => look()))
      found
    }
    assertEquals(shown((made, look) => made.run(swapped = look)), None)
    assertEquals(shown((made, look) => made.run(announced = look)), Some("s3a://snapshots/of-table"))
  }

  test("a file that is added meanwhile stays") {
    val made = new Made
    made.run(() => made.store.put("/table/day=1/y.parquet", Array[Byte](1)))
    assert(made.data("day=1/y.parquet"))
    assert(isNew(made.data - "day=1/y.parquet"))
  }

  test("a run that may still be at work is not touched") {
    val made = new Made
    TableSwap.begin(made.table, conf)
    val failed =
      intercept[PmeException](TableSwap.putRight(made.table, isKilled = false, conf)((_, _) => false))
    assertEquals(failed.condition, Condition.Unsupported: Condition)
    assert(failed.getMessage.contains("has not ended"), failed.getMessage)
  }
}
