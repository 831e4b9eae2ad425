package kms;

import java.util.Collections;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;

/** Queries of typed Datasets, which Python has no words for, over a frame of one column of strings. */
public final class TypedQueries {
  private TypedQueries() {}

  public static Dataset<Row> filter(Dataset<Row> frame) {
    return frame.as(Encoders.STRING()).filter((FilterFunction<String>) "x"::equals).toDF();
  }

  public static Dataset<Row> filterOfRows(Dataset<Row> frame) {
    return frame.filter((FilterFunction<Row>) row -> row.isNullAt(0)).toDF();
  }

  /** A condition on what a function has made. */
  public static Dataset<Row> conditionOnMapped(Dataset<Row> frame) {
    Dataset<String> mapped =
        frame.as(Encoders.STRING()).map((MapFunction<String, String>) text -> "of " + text, Encoders.STRING());
    return mapped.toDF().where(new Column("value").equalTo("of null"));
  }

  /** A condition on how many there are of each of the keys that a function has made. */
  public static Dataset<Row> conditionOnGrouped(Dataset<Row> frame) {
    return frame
        .as(Encoders.STRING())
        .groupByKey((MapFunction<String, String>) text -> "of " + text, Encoders.STRING())
        .count()
        .toDF("key", "number")
        .where(new Column("key").equalTo("of null"));
  }

  /** As many rows as a function says. */
  public static Dataset<Row> flatMapped(Dataset<Row> frame) {
    FlatMapFunction<String, String> rows =
        text -> (text == null ? Collections.<String>emptyList() : Collections.singletonList(text)).iterator();
    return frame.as(Encoders.STRING()).flatMap(rows, Encoders.STRING()).toDF();
  }

  public static Dataset<Row> partitions(Dataset<Row> frame) {
    MapPartitionsFunction<String, String> same = rows -> rows;
    return frame.as(Encoders.STRING()).mapPartitions(same, Encoders.STRING()).toDF();
  }

  /** No condition at all. */
  public static Dataset<Row> mapped(Dataset<Row> frame) {
    return frame.as(Encoders.STRING()).map((MapFunction<String, String>) text -> "of " + text, Encoders.STRING()).toDF();
  }
}
