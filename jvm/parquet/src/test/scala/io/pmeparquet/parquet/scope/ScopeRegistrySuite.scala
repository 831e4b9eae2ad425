package io.pmeparquet.parquet.scope

import munit.FunSuite

class ScopeRegistrySuite extends FunSuite {
  private val LifetimeMillis = 600000L

  private final class Reads(
      id: String,
      val settings: String = "a",
      millis: Option[Long] = Some(LifetimeMillis)
  ) extends Scope(id) {
    var swept = 0
    override private[pmeparquet] def sharedMillis: Option[Long] = millis
    override private[pmeparquet] def sweep(): Unit = swept += 1
  }

  private final class Kept extends Expiring {
    var swept = 0
    var closed = 0
    override def sweep(): Unit = swept += 1
    override def close(): Unit = closed += 1
  }

  private val registry = FunFixture[(ScopeRegistry, Array[Long])](
    _ => {
      val clock = Array(0L)
      (new ScopeRegistry(() => clock(0)), clock)
    },
    _ => ()
  )

  private def shared(of: ScopeRegistry, settings: String, id: String): Reads =
    of.shared((scope: Reads) => scope.settings == settings)(())(_ => new Reads(id, settings))

  registry.test("reads that fit share a scope, and open a KMS once") { case (scopes, _) =>
    val first = shared(scopes, "a", "1")
    assert(shared(scopes, "a", "2") eq first)
    assertEquals(shared(scopes, "b", "3").id, "3")
    val again =
      scopes.shared((scope: Reads) => scope.settings == "a")(fail("it opens a KMS"))((_: Unit) => first)
    assert(again eq first)
  }

  registry.test("a reader that nobody has used for the lifetime of its keys is shared no longer") {
    case (scopes, clock) =>
      val first = shared(scopes, "a", "1")
      clock(0) = LifetimeMillis
      scopes.sweep()
      assert(shared(scopes, "a", "2") eq first, "it was used a moment ago")
      clock(0) = 2 * LifetimeMillis
      scopes.sweep()
      assert(shared(scopes, "a", "3") eq first, "each use begins a new lifetime")
      clock(0) = 3 * LifetimeMillis + 1
      scopes.sweep()
      assertEquals(shared(scopes, "a", "4").id, "4")
      assert(scopes.live("1").exists(_ eq first), "whoever holds it goes on")
  }

  registry.test("keys without a lifetime are shared for a minute") { case (scopes, clock) =>
    val first = scopes.register(new Reads("1", millis = Some(0)))
    clock(0) = ScopeRegistry.MinMillis
    scopes.sweep()
    assert(shared(scopes, "a", "2") eq first)
  }

  registry.test("the readers used last are kept, and no more of them than a limit") { case (scopes, _) =>
    val all = (0 to ScopeRegistry.MaxRecent).map(at => shared(scopes, s"$at", s"$at"))
    assertEquals(shared(scopes, "0", "new").id, "new")
    assert(shared(scopes, all.last.settings, "other") eq all.last)
  }

  registry.test("writes are found by their id, and not shared") { case (scopes, _) =>
    val write = scopes.register(new Reads("1", millis = None))
    assert(scopes.live("1").exists(_ eq write))
    assertEquals(shared(scopes, "a", "2").id, "2")
    assert(scopes.intern(new Reads("1")) eq write)
  }

  registry.test("scopes and what else holds keys are swept") { case (scopes, _) =>
    val scope = scopes.register(new Reads("1", millis = None))
    val kept = new Kept
    scopes.own(kept)
    scopes.sweep()
    assertEquals((scope.swept, kept.swept, kept.closed), (1, 1, 0))
  }

  registry.test("a closed registry holds no reader, and works again") { case (scopes, _) =>
    val first = shared(scopes, "a", "1")
    val kept = new Kept
    scopes.own(kept)
    scopes.close()
    assertEquals(kept.closed, 1)
    assert(scopes.live("1").exists(_ eq first))
    val second = shared(scopes, "a", "2")
    assertEquals(second.id, "2")
    assert(shared(scopes, "a", "3") eq second)
  }
}
