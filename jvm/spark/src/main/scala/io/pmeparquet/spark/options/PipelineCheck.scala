package io.pmeparquet.spark.options

import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.pmeparquet.spark.decode.VectorizedLink

/** Whether this Spark has what the page pipeline needs. If not, this logs a warning once. ''Driver only.'' */
private[spark] object PipelineCheck {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val warned = new AtomicBoolean

  def fits(): Boolean = VectorizedLink.failure match {
    case None => true
    case Some(why) =>
      if (warned.compareAndSet(false, true))
        log.warn(
          "reader=spark is used instead of reader=pages, because reader=pages does not work with this Spark: {}",
          why
        )
      false
  }
}
