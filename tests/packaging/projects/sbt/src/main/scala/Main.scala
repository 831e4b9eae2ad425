package example

import io.pmeparquet.PmeException
import org.apache.spark.sql.SparkSession

/** Writes and reads with a KMS of its own, and with a data source of Spark's. The argument is a new directory. */
object Main {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession
      .builder()
      .master("local[1]")
      .config("spark.sql.extensions", "io.pmeparquet.spark.PmeExtensions")
      .config("spark.ui.enabled", "false")
      .getOrCreate()
    val keys = Map("kms" -> classOf[ExampleKms].getName)
    val rows = spark.range(4).selectExpr("id", "'canary' AS name")
    val ours = arguments(0) + "/ours"
    rows.write.format("json").save(arguments(0) + "/json")
    rows.write
      .format("pme-parquet")
      .options(keys)
      .options(Map("footerKey" -> "footer", "columnKeys" -> "pii: name"))
      .save(ours)
    val read = spark.read.format("pme-parquet").options(keys).load(ours).where("name = 'canary'")
    println(s"ROWS ${read.count()} ${spark.read.format("json").load(arguments(0) + "/json").count()}")
    try spark.read.format("pme-parquet").load(ours).count()
    catch { case refused: PmeException => println(s"REFUSED ${refused.getCondition()}") }
    spark.stop()
  }
}
