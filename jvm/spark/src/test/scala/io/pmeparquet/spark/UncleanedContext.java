package io.pmeparquet.spark;

import java.util.List;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.apache.spark.sql.execution.ui.SQLAppStatusListener;
import org.apache.spark.status.AppStatusListener;

import scala.collection.JavaConverters;
import scala.reflect.ClassTag$;

/**
 * A Spark that serializes each function of a job as it is. Otherwise it first parses the classes of all of them, its
 * own, for what they need not capture: a tenth of the processor's time of small jobs. Nor does it keep what a user
 * interface would show.
 */
class UncleanedContext extends SparkContext {
  UncleanedContext(SparkConf conf) {
    super(conf);
  }

  @Override
  public <F> F clean(F function, boolean isToBeSerialized) {
    return function;
  }

  /** Before each test: Spark adds one of them when it is first needed. */
  void forgetStatus() {
    for (Class<? extends SparkListenerInterface> kind : List.of(AppStatusListener.class, SQLAppStatusListener.class)) {
      JavaConverters.seqAsJavaList(listenerBus().findListenersByClass(ClassTag$.MODULE$.apply(kind)))
          .forEach(one -> removeSparkListener((SparkListenerInterface) one));
    }
  }
}
