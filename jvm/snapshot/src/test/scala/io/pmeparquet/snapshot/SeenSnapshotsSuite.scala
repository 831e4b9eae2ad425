package io.pmeparquet.snapshot

import java.nio.file.Paths

import io.pmeparquet.snapshot.manifest.{Manifest, SealLine, TablePolicy}
import io.pmeparquet.snapshot.TableSuite.NotAuthentic

class SeenSnapshotsSuite extends TableSuite {
  private val people = directoryOf(Paths.get("/people"))
  private val orders = directoryOf(Paths.get("/orders"))

  /** The digest follows from the version's number, the table's id and the branch of its history. */
  private def version(number: Long, id: String = "id", branch: String = "main"): Version = {
    def digestOf(version: Long) = s"$id $branch $version"
    val before = Some(digestOf(number - 1)).filter(_ => number > 1)
    val manifest =
      Manifest(number, before, id, "/people", "", "", "", TablePolicy(None, Nil), Nil, 0, 0, 0, Nil, Nil)
    Version(manifest, digestOf(number))(SealLine("Ed25519", "signer", None, Array.emptyByteArray))
  }

  /** Notes a version that continues each one before it. */
  private def note(seen: SeenSnapshots, directory: SnapshotDirectory, found: Version): Unit =
    seen.note(directory, found, _ => ())((_, _) => true)

  test("a newer version that does not continue the one that is known is refused") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    refused(NotAuthentic, "does not continue version 3")(
      seen.note(people, version(5, branch = "other"), _ => ())((_, _) => false)
    )
    note(seen, people, version(4))
  }

  test("whether a version continues another is asked only of a newer one") {
    val seen = new SeenSnapshots
    def never(directory: SnapshotDirectory, found: Version): Unit =
      seen.note(directory, found, _ => ())((_, _) => fail("it was asked"))
    never(people, version(3))
    never(people, version(3))
    refused(NotAuthentic)(never(people, version(2)))
  }

  test("the same version and newer ones are accepted") {
    val seen = new SeenSnapshots
    Seq(2L, 2L, 3L, 7L, 7L).foreach(number => note(seen, people, version(number)))
  }

  test("an older version is refused, and the newest stays known") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    (1 to 2).foreach { _ =>
      refused(NotAuthentic, "/people", "version 2", "version 3")(note(seen, people, version(2)))
    }
    note(seen, people, version(3))
  }

  test("another version of the same number is refused") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    refused(NotAuthentic, "another version 3")(note(seen, people, version(3, branch = "other")))
  }

  test("a new history is refused, with a higher number too") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    Seq(1L, 3L, 9L).foreach { number =>
      refused(NotAuthentic, "new history")(note(seen, people, version(number, id = "other")))
    }
  }

  test("a table that was read by a snapshot must have one") {
    val seen = new SeenSnapshots
    seen.requireNone(people)
    note(seen, people, version(3))
    refused(NotAuthentic, "/people", "version 3")(seen.requireNone(people))
    seen.requireNone(orders)
  }

  test("each table has its own history") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    note(seen, orders, version(1, id = "other"))
  }

  test("what the session made counts, whatever it saw before") {
    val seen = new SeenSnapshots
    note(seen, people, version(3))
    seen.made(people, version(1, id = "new"))
    note(seen, people, version(2, id = "new"))
    refused(NotAuthentic)(note(seen, people, version(3)))
  }

  test("a version that a reader chooses must be of the history that is known") {
    val seen = new SeenSnapshots
    def choose(
        chosen: Version,
        first: Version => Unit = _ => fail("it was asked"),
        continues: Boolean = true
    ): Unit =
      seen.requireKin(people, chosen, first)((_, _) => continues)
    var asked = 0
    choose(version(2), _ => asked += 1)
    assertEquals(asked, 1)
    note(seen, people, version(3))
    Seq(2L, 3L, 4L).foreach(number => choose(version(number)))
    choose(version(3), continues = false)
    Seq(version(2), version(4)).foreach(one =>
      refused(NotAuthentic, "version 3")(choose(one, continues = false))
    )
    refused(NotAuthentic, "version 3")(choose(version(3, branch = "other")))
    refused(NotAuthentic, "version 3")(choose(version(2, id = "other")))
    note(seen, people, version(3))
  }

  test("sessions know nothing of each other") {
    note(new SeenSnapshots, people, version(3))
    note(new SeenSnapshots, people, version(1))
  }
}
