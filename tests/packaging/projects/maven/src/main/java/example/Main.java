package example;

import io.pmeparquet.PmeException;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** Writes and reads with a KMS of its own, and with a data source of Spark's. The argument is a new directory. */
public final class Main {
  public static void main(String[] arguments) {
    var spark =
        SparkSession.builder()
            .master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.extensions", "io.pmeparquet.spark.PmeExtensions")
            .getOrCreate();
    var keys = Map.of("kms", ExampleKms.class.getName());
    var rows = spark.range(4).selectExpr("id", "'canary' AS name");
    var ours = arguments[0] + "/ours";
    rows.write().format("json").save(arguments[0] + "/json");
    rows.write().format("pme-parquet").options(keys).option("uniformKey", "footer").save(ours);
    var read = spark.read().format("pme-parquet").options(keys).load(ours).where("name = 'canary'");
    var others = spark.read().format("json").load(arguments[0] + "/json");
    System.out.println("ROWS " + read.count() + " " + others.count());
    try {
      spark.read().format("pme-parquet").load(ours).count();
    } catch (Exception refused) {
      // Spark's methods declare no exception, so Java cannot catch a checked one by its name.
      System.out.println("REFUSED " + ((PmeException) refused).getCondition());
    }
    spark.stop();
  }
}
