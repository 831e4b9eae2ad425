package io.pmeparquet.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;

/**
 * A Spark that serializes each function of a job as it is. Otherwise it first parses the classes of all of them, its
 * own, for what they need not capture: a tenth of the processor's time of small jobs.
 */
class UncleanedContext extends SparkContext {
  UncleanedContext(SparkConf conf) {
    super(conf);
  }

  @Override
  public <F> F clean(F function, boolean isToBeSerialized) {
    return function;
  }
}
