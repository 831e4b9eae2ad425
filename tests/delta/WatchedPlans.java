package watched;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.JavaConverters;

/**
 * A rule of Spark's optimizer that changes nothing. Before Spark runs a rewrite of a Delta table, or a comparison of its rows,
 * it asks a test what is to happen there: nothing (an empty answer), a conflict, a failure, or that the query has no rows.
 */
public final class WatchedPlans extends Rule<LogicalPlan> {
  private static final Literal NEVER = Literal.create(false, DataTypes.BooleanType);

  private final UnaryOperator<String> watcher;

  public WatchedPlans(UnaryOperator<String> watcher) {
    this.watcher = watcher;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    String answer = "";
    if (plan.getClass().getSimpleName().startsWith("OptimizeTable")) answer = watcher.apply("rewrite");
    else if (plan.toString().contains("xxhash64(")) answer = watcher.apply("compare");
    switch (answer) {
      case "":
        return plan;
      case "conflict":
        throw new ConcurrentTestException();
      case "fail":
        throw new UncheckedIOException(new IOException("broken off"));
      case "no rows":
        return emptied(plan);
      default:
        throw new IllegalArgumentException(answer);
    }
  }

  private static LogicalPlan emptied(LogicalPlan plan) {
    List<LogicalPlan> children = new ArrayList<>();
    for (LogicalPlan child : JavaConverters.seqAsJavaList(plan.children()))
      children.add(plan instanceof Aggregate ? new Filter(NEVER, child) : emptied(child));
    return (LogicalPlan) plan.withNewChildren(PythonUtils.toSeq(children));
  }

  /** By its name, a conflict. */
  private static final class ConcurrentTestException extends RuntimeException {}
}
