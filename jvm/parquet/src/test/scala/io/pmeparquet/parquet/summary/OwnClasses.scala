package io.pmeparquet.parquet.summary

import org.apache.parquet.filter2.predicate.FilterPredicate

/** Classes as users write them, good and bad ones, for tests that load them by name. */
abstract class NoProof extends SummaryClass {
  override def holdsNone(summary: Array[Byte], comparison: FilterPredicate): Boolean = false
}

final class LeastLong extends NoProof {
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] = {
    var least = Long.MaxValue
    while (values.hasNext) least = least.min(values.next().asInstanceOf[java.lang.Long])
    least.toString.getBytes("UTF-8")
  }
}

/** Counts one text; null if it never comes. */
final class CountTexts extends NoProof {
  private var text = ""
  override def configure(settings: java.util.Map[String, String]): Unit = {
    if (!settings.containsKey("of")) throw new IllegalArgumentException("set 'of'")
    text = settings.get("of")
  }
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] = {
    var count = 0
    while (values.hasNext)
      if (new String(values.next().asInstanceOf[Array[Byte]], "UTF-8") == text) count += 1
    if (count == 0) null else count.toString.getBytes("UTF-8")
  }
}

final class NoConstructor(text: String) extends NoProof {
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] = text.getBytes("UTF-8")
}

final class TooMuch extends NoProof {
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] = new Array(128 * 1024 + 1)
}

final class SwallowsFailures extends NoProof {
  override def summarize(values: java.util.Iterator[Object]): Array[Byte] =
    try {
      while (values.hasNext) values.next()
      Array.empty
    } catch { case _: RuntimeException => Array.empty }
}
