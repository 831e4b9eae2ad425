package io.pmeparquet.spark

import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.pmeparquet.spark.pages.VectorizedLink

/** Whether this Spark has what the page pipeline needs; said once where it has not. ''Driver only.'' */
private[spark] object PipelineCheck {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val said = new AtomicBoolean

  def fits(): Boolean = VectorizedLink.failure match {
    case None => true
    case Some(why) =>
      if (said.compareAndSet(false, true))
        log.warn(
          "reader=spark is used in place of reader=pages, because this Spark is not one it was built for: {}",
          why
        )
      false
  }
}
