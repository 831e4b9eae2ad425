package io.pmeparquet

import scala.util.Random

class SpellingSuite extends munit.FunSuite {
  test("a name is near another exactly if their distance is not too long") {
    val random = new Random(33)
    def name() = Seq.fill(random.nextInt(7))("abAB".charAt(random.nextInt(4))).mkString
    for (_ <- 1 to 5000; most <- Seq(0, 1, 2, 4)) {
      val (one, other) = (name(), name())
      assertEquals(
        Spelling.isNear(one, other, most),
        Spelling.distance(one, other) <= most,
        s"$one $other $most"
      )
    }
    assertEquals(Spelling.distance("kitten", "SITTING"), 3)
  }
}
