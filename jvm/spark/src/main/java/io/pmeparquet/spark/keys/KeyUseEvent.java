package io.pmeparquet.spark.keys;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerEvent;

import io.pmeparquet.kms.audit.KeyEvent;

/**
 * A decision of a KMS, on Spark's listener bus: {@code SparkListener.onOtherEvent} gets it. Spark's event log does not have
 * it, because whoever reads that log later may not have this class. In Java, because Scala hides the bus from code in other
 * packages.
 */
public final class KeyUseEvent implements SparkListenerEvent {
  private final KeyEvent event;

  private KeyUseEvent(KeyEvent event) {
    this.event = event;
  }

  /** The event as one line of JSON, as in the record: docs/policy-and-audit.md has its fields. */
  public String json() {
    return event.json();
  }

  @Override
  public boolean logEvent() {
    return false;
  }

  @Override
  public String toString() {
    return json();
  }

  static void post(SparkContext application, KeyEvent event) {
    application.listenerBus().post(new KeyUseEvent(event));
  }
}
