package io.pmeparquet.parquet.storage

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CyclicBarrier, TimeUnit}
import java.util.UUID

import munit.FunSuite
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException, UnfinishedFile}

/** A copy of a table appears in an object store as a whole, or readers fail on a file in each directory. */
class UnfinishedCopySuite extends FunSuite {
  private val conf = MemoryStore.conf("s3a")
  private val files =
    Seq("day=1/a.parquet", "day=1/b.parquet", "day=2/a.parquet", "day=2/_KEY_MATERIAL_FOR_a.json")
  private val Seconds = 60L

  /** A store with a staged copy of a table, and the place for it. */
  private final class Made {
    val name: String = UUID.randomUUID().toString
    val store: MemoryStore.Bucket = MemoryStore.bucket(name)
    val target = new Path(s"s3a://$name/tables/target")
    def stage(of: String): Path = {
      files.foreach(file => store.put(s"/tables/.$of/$file", of.getBytes(UTF_8)))
      new Path(s"s3a://$name/tables/.$of")
    }
    def appear(staged: Path): Unit =
      UnfinishedCopy.appear(movesOf(staged), target, conf)
    def there: Set[String] =
      store.names.filter(_.startsWith("/tables/target/")).map(_.stripPrefix("/tables/target/"))
  }

  private def movesOf(staged: Path) =
    files.map(file => UnfinishedCopy.Move(StagedTable.within(staged, file), file))
  private def directoriesOf(names: Set[String]) = names.map(name => name.take(name.lastIndexOf('/')))
  private def split(names: Set[String]) = names.partition(UnfinishedFile.is)

  test("all files appear, and nothing else stays") {
    val made = new Made
    made.appear(made.stage("one"))
    assertEquals(made.store.names, files.map(file => s"/tables/target/$file").toSet)
  }

  test("wherever a run is killed, a directory with some of the data has a file that is no Parquet file") {
    val clean = new Made
    clean.appear(clean.stage("one"))
    val changes = clean.store.changes
    (0 until changes).foreach { at =>
      val made = new Made
      val staged = made.stage("one")
      made.store.killAfter(at)
      intercept[MemoryStore.Killed](made.appear(staged))
      made.store.revive()
      val (notices, data) = split(made.there)
      if (data != files.toSet)
        assert(directoriesOf(data).subsetOf(directoriesOf(notices)), s"$at: ${made.there}")
      if (made.there.nonEmpty && data != files.toSet) {
        val refused = intercept[PmeException](made.appear(made.stage("two")))
        assertEquals(refused.condition, Condition.BadOption: Condition)
        assert(refused.getMessage.contains("a copy to it has not ended"), refused.getMessage)
      }
    }
  }

  test("a run that fails leaves nothing") {
    val made = new Made
    val staged = made.stage("one")
    // Its move fails, and the store does not.
    val moves =
      movesOf(staged) :+ UnfinishedCopy.Move(new Path(staged, "gone"), "day=2/c.parquet")
    intercept[NoSuchElementException](UnfinishedCopy.appear(moves, made.target, conf))
    assertEquals(made.there, Set.empty[String])
  }

  test("of two runs at the same moment at most one appears, and no file of the other is lost or mixed in") {
    (1 to 20).foreach { _ =>
      val made = new Made
      val staged = Seq("one", "two").map(made.stage)
      val start = new CyclicBarrier(staged.size)
      val refusals = new java.util.concurrent.ConcurrentLinkedQueue[String]
      val runs = staged.map { from =>
        val run = new Thread(() => {
          start.await(Seconds, TimeUnit.SECONDS)
          try made.appear(from)
          catch { case refused: PmeException => refusals.add(refused.toString) }
          ()
        })
        run.start()
        run
      }
      runs.foreach(_.join())
      assert(!refusals.isEmpty, "one of them must be refused")
      val expected = if (refusals.size == staged.size) Set.empty[String] else files.toSet
      assertEquals(made.there, expected, refusals)
      val contents =
        made.there.map(name => new String(made.store.objects(s"/tables/target/$name").bytes, UTF_8))
      assert(contents.size <= 1, contents)
    }
  }

  test("a file of somebody else is kept, and so are the notices") {
    val made = new Made
    val staged = made.stage("one")
    // It appears when the first file has moved.
    made.store.before = () =>
      if (made.there.exists(!UnfinishedFile.is(_)))
        made.store.put("/tables/target/day=2/theirs.parquet", Array[Byte](1))
    val moves =
      movesOf(staged) :+ UnfinishedCopy.Move(new Path(staged, "gone"), "day=2/c.parquet")
    intercept[NoSuchElementException](UnfinishedCopy.appear(moves, made.target, conf))
    val (notices, data) = split(made.there)
    assertEquals(data, Set("day=2/theirs.parquet"))
    assertEquals(directoriesOf(notices), Set("day=1", "day=2"))
  }
}
