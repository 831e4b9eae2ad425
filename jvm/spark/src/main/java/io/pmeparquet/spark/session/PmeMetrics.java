package io.pmeparquet.spark.session;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;

import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.MetricsSystem;
import org.apache.spark.metrics.source.Source;

import io.pmeparquet.kms.audit.KeyRecords;
import io.pmeparquet.parquet.bytes.ReadCounters;

/**
 * Counters of this process in Spark's metrics system, as source {@code pme-parquet}: whatever sink the application has
 * shows them. In Java, because Scala hides the metrics system from code in other packages.
 */
public final class PmeMetrics {
  /** Files that indexes spared the scans of this driver. */
  public static final LongAdder FILES_SKIPPED = new LongAdder();

  /** Files that scans of this driver left out, because their keys were refused. */
  public static final LongAdder FILES_LEFT_OUT = new LongAdder();

  private static MetricsSystem registered;

  private PmeMetrics() {}

  /** Shows the counters from now on. A process of Spark's can have one metrics system after another. */
  public static synchronized void register() {
    SparkEnv env = SparkEnv.get();
    if (env != null && env.metricsSystem() != registered) {
      registered = env.metricsSystem();
      registered.registerSource(new Counters());
    }
  }

  private static final class Counters implements Source {
    private final MetricRegistry registry = new MetricRegistry();

    Counters() {
      gauge("kmsDecisions", KeyRecords::decisions);
      gauge("kmsRefusals", KeyRecords::refusals);
      gauge("modulesOpened", () -> ReadCounters.ofProcess().modules().sum());
      gauge("bytesRead", () -> ReadCounters.ofProcess().bytes().sum());
      gauge("filesSkipped", FILES_SKIPPED::sum);
      gauge("filesLeftOut", FILES_LEFT_OUT::sum);
    }

    private void gauge(String name, LongSupplier value) {
      registry.register(name, (Gauge<Long>) value::getAsLong);
    }

    @Override
    public String sourceName() {
      return "pme-parquet";
    }

    @Override
    public MetricRegistry metricRegistry() {
      return registry;
    }
  }
}
