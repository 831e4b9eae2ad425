package io.pmeparquet.spark.rules

import org.apache.spark.api.java.function.FilterFunction
import org.apache.spark.sql.{DataFrame, Encoders, Row}
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, FunctionRegistryBase, TableFunctionRegistry}
import org.apache.spark.sql.catalyst.expressions.{Generator, HigherOrderFunction}
import org.apache.spark.sql.functions.{col, max, udf}

import io.pmeparquet.spark.SparkSuite

/**
 * What makes, drops, groups or chooses by a column is a condition on it, and what only computes is none: so the plan
 * tells the scan of a masked table, before anything runs.
 *
 * Functions that choose are taken from the registry of the Spark that runs this: one that a newer Spark has, and this
 * file has no call for, fails here.
 */
class DeniedChoicesSuite extends DeniedPlansSuite {
  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    seen().createOrReplaceTempView("seen")
  }

  private def isCondition(sql: String): Boolean = lookedAt(spark.sql(sql)).nonEmpty

  /** Fails unless each query has a condition on a refused column, and names all that have none. */
  private def assertConditions(queries: Iterable[String]): Unit =
    assertEquals(queries.filterNot(isCondition).toSeq, Nil)

  // ---- functions of Spark's registries

  // A call of each generator over a refused column, as it is written in SELECT.
  private val generators = Map(
    "explode" -> "explode(map_keys(tags))",
    "explode_outer" -> "explode_outer(sequence(1, length(ssn)))",
    "inline" -> "inline(filter(phones, p -> true))",
    "inline_outer" -> "inline_outer(phones)",
    "json_tuple" -> "json_tuple(ssn, 'a')",
    "posexplode" -> "posexplode(array_except(array(1, 2), array(length(ssn))))",
    "posexplode_outer" -> "posexplode_outer(tags)",
    "stack" -> "stack(2, ssn, 'a')"
  )

  // The same for those in FROM, and those that take no columns.
  private val tableFunctions = generators ++ Map(
    "variant_explode" -> "variant_explode(parse_json(ssn))",
    "variant_explode_outer" -> "variant_explode_outer(parse_json(ssn))"
  )
  private val withoutColumns = Set("collations", "python_worker_logs", "range", "sql_keywords")

  // Functions with a lambda that chooses, and others, which give an element for each that there is.
  private val choosing = Map(
    "aggregate" -> "aggregate(array(1, 2), 0, (a, x) -> a + IF(x = length(ssn), 1, 0))",
    "exists" -> "exists(array('a'), x -> x <=> ssn)",
    "filter" -> "filter(array('a', 'b'), x -> x = ssn)",
    "forall" -> "forall(array('a'), x -> coalesce(x = ssn, false))",
    "map_filter" -> "map_filter(map('a', 1), (k, v) -> k = ssn)",
    "reduce" -> "reduce(array(1, 2), 0, (a, x) -> a + IF(x = length(ssn), 1, 0))",
    "array_sort" -> "array_sort(array(ssn, 'a'))"
  )
  private val keeping = Map(
    "map_zip_with" -> "map_zip_with(map('a', 1), map('a', 2), (k, v, w) -> concat(k, ssn))",
    "transform" -> "transform(phones, p -> p.number)",
    "transform_keys" -> "transform_keys(map('a', 1), (k, v) -> concat(k, id))",
    "transform_values" -> "transform_values(tags, (k, v) -> upper(v))",
    "zip_with" -> "zip_with(array(1), array(ssn), (a, b) -> concat(a, b))"
  )

  /** The names of Spark's functions of a class or, where what builds them is registered, of a group of its documentation. */
  private def registered(registry: FunctionRegistryBase[_], kind: Class[_], group: String): Set[String] =
    registry
      .listFunction()
      .filter { name =>
        val known = registry.lookupFunction(name).get
        known.getGroup == group || kind.isAssignableFrom(Class.forName(known.getClassName))
      }
      .map(_.funcName)
      .toSet

  test("every generator of the registry looks at its arguments") {
    val known = registered(FunctionRegistry.builtin, classOf[Generator], "generator_funcs")
    assertEquals(known.diff(generators.keySet), Set.empty[String], "a new generator: add a call of it")
    assertConditions(known.toSeq.map(name => s"SELECT ${generators(name)} FROM seen"))
  }

  test("every table function of the registry looks at its arguments".tag(SparkSuite.Newest)) {
    val known = registered(TableFunctionRegistry.builtin, classOf[Object], "")
    val listed = tableFunctions.keySet ++ withoutColumns
    assertEquals(known.diff(listed), Set.empty[String], "a new table function: add a call of it")
    // Spark 3.5 takes no columns there.
    if (isSpark4)
      assertConditions(
        known.diff(withoutColumns).toSeq.map(name => s"SELECT * FROM seen, LATERAL ${tableFunctions(name)}")
      )
  }

  test("every function with a lambda that chooses looks at its arguments, and no other does") {
    val known = registered(FunctionRegistry.builtin, classOf[HigherOrderFunction], "lambda_funcs")
    val listed = choosing.keySet ++ keeping.keySet
    assertEquals(known.diff(listed), Set.empty[String], "a new function with a lambda: add a call of it")
    assertConditions(
      known.intersect(choosing.keySet).toSeq.map(name => s"SELECT ${choosing(name)} FROM seen")
    )
    assertEquals(keeping.values.filter(call => isCondition(s"SELECT $call FROM seen")).toSeq, Nil)
  }

  // ---- queries

  private val looking = Seq(
    "SELECT id, p FROM seen LATERAL VIEW explode(filter(phones, p -> p.kind = 'home')) AS p",
    "SELECT id, p FROM seen LATERAL VIEW OUTER explode(array_compact(array(ssn))) AS p",
    "SELECT explode(k) FROM (SELECT map_keys(tags) AS k FROM seen)",
    "SELECT explode(s) FROM (SELECT collect_list(ssn) AS s FROM seen)",
    "SELECT id, l.v FROM seen t, LATERAL (SELECT v FROM VALUES ('a'), ('b') AS w(v) WHERE v = t.ssn) " +
      "l",
    "SELECT transform(array(ssn), s -> filter(array(1, 2), x -> s IS NOT NULL)) FROM seen",
    "SELECT transform(array(ssn), s -> CASE WHEN s = 'a' THEN 1 ELSE 2 END) FROM seen",
    "SELECT id, CASE WHEN ssn = 'a' THEN 'yes' ELSE 'no' END FROM seen",
    "SELECT id, CASE WHEN ssn = 'a' THEN true ELSE false END FROM seen",
    "SELECT id, CASE ssn WHEN 'a' THEN 1 ELSE 2 END FROM seen",
    "SELECT id, IF(ssn IS NULL, 'none', 'some') FROM seen",
    "SELECT sum(CASE WHEN ssn = 'a' THEN 1 ELSE 0 END) FROM seen",
    "SELECT count_if(ssn = 'a') FROM seen",
    "SELECT ssn, count(*) FROM seen GROUP BY ssn",
    "SELECT count(*) FROM seen GROUP BY substr(ssn, 1, 1), id",
    "SELECT address.street, max(id) FROM seen GROUP BY address.street",
    "SELECT id, ssn, count(*) FROM seen GROUP BY ROLLUP (id, ssn)",
    "SELECT id, ssn, count(*) FROM seen GROUP BY CUBE (id, ssn)",
    "SELECT DISTINCT ssn, salary FROM seen",
    "SELECT count(DISTINCT ssn) FROM seen",
    "SELECT count(DISTINCT ssn), count(DISTINCT id) FROM seen",
    "SELECT ssn FROM seen UNION SELECT 'a'",
    "SELECT id, ssn FROM seen EXCEPT SELECT 1L, 'a'",
    "SELECT id FROM seen ORDER BY ssn LIMIT 1",
    "SELECT id FROM (SELECT id, upper(ssn) AS u FROM seen ORDER BY u) LIMIT 1",
    "SELECT id FROM seen ORDER BY ssn OFFSET 1",
    "SELECT first(id) FROM (SELECT id, ssn FROM seen ORDER BY ssn)",
    "SELECT last(id) FROM (SELECT id, ssn, salary FROM seen ORDER BY ssn) GROUP BY salary",
    "SELECT any_value(id) FROM (SELECT id, ssn FROM seen ORDER BY ssn)",
    "SELECT collect_list(id) FROM (SELECT id, ssn FROM seen ORDER BY ssn)",
    "SELECT max_by(id, 1) FROM (SELECT id, ssn FROM seen ORDER BY ssn)",
    "SELECT id FROM (SELECT id, monotonically_increasing_id() AS n FROM (SELECT id, ssn FROM seen " +
      "ORDER BY ssn)) WHERE n < 1",
    "SELECT id FROM (SELECT id, ssn FROM seen ORDER BY ssn) TABLESAMPLE (10 PERCENT)",
    "SELECT id FROM (SELECT /*+ REPARTITION(2, ssn) */ id, ssn FROM seen) WHERE spark_partition_id() " +
      "= 0",
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY ssn) AS n FROM seen) WHERE n = 1",
    "SELECT * FROM (SELECT id, ssn FROM seen) PIVOT (max(id) FOR ssn IN ('a', 'b'))",
    "SELECT * FROM (SELECT id, ssn, 'a' AS b FROM seen) UNPIVOT (v FOR n IN (ssn, b))"
  )

  private val lookingInSpark4 = Seq(
    "SELECT * FROM seen, LATERAL explode(map_keys(tags))",
    "SELECT listagg(string(id), ',') WITHIN GROUP (ORDER BY ssn) FROM seen",
    "SELECT mode() WITHIN GROUP (ORDER BY ssn) FROM seen"
  )

  test("what chooses rows, groups or branches is a condition".tag(SparkSuite.Newest)) {
    assertConditions(looking ++ (if (isSpark4) lookingInSpark4 else Nil))
  }

  private val orders = Seq(
    "SELECT max_by(id, ssn) FROM seen",
    "SELECT min_by(id, upper(ssn)) FROM seen GROUP BY salary",
    "SELECT max(struct(ssn, id)).id FROM seen",
    "SELECT min(s) FROM (SELECT struct(ssn, id) AS s FROM seen)",
    "SELECT array_sort(collect_list(struct(ssn, id))) FROM seen",
    "SELECT sort_array(array_agg(struct(ssn, id)))[0].id FROM seen",
    "SELECT sort_array(s) FROM (SELECT collect_list(struct(ssn, id)) AS s FROM seen)",
    "SELECT array_max(array(struct(ssn, id))).id FROM seen",
    "SELECT array_min(array(struct(address.street, id))) FROM seen",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY length(ssn)) FROM seen",
    "SELECT id, rank() OVER (ORDER BY ssn) FROM seen",
    "SELECT id, row_number() OVER (PARTITION BY salary ORDER BY ssn) FROM seen",
    "SELECT first_value(id) OVER (ORDER BY ssn) FROM seen",
    "SELECT last_value(id) OVER (PARTITION BY salary ORDER BY upper(ssn)) FROM seen",
    "SELECT nth_value(id, 1) OVER (ORDER BY ssn) FROM seen",
    "SELECT lead(id) OVER (ORDER BY address.street) FROM seen",
    "SELECT sum(id) OVER (ORDER BY ssn) FROM seen",
    "SELECT count(*) OVER (PARTITION BY ssn) FROM seen",
    "SELECT row_number() OVER (ORDER BY 1) FROM (SELECT id, ssn FROM seen ORDER BY ssn)",
    "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY salary ORDER BY ssn) AS n FROM seen) " +
      "WHERE n = 1"
  )

  test("an order that chooses a value is a condition")(assertConditions(orders))

  private val replacing = Seq(
    "SELECT IF(ssn IS NULL, NULL, id) FROM seen",
    "SELECT IF(ssn IS NOT NULL, id, NULL) FROM seen",
    "SELECT IF(ssn IS NULL, NULL, 'known') FROM seen",
    "SELECT IF(address.street IS NULL, NULL, address.city) FROM seen",
    "SELECT CASE WHEN ssn IS NULL THEN NULL ELSE id END FROM seen",
    "SELECT coalesce(ssn, 'none') FROM seen",
    "SELECT nvl(upper(ssn), 'none') FROM seen",
    "SELECT nvl2(ssn, id, -1) FROM seen",
    "SELECT nullif(ssn, 'a') FROM seen",
    "SELECT nullif(id, length(ssn)) FROM seen",
    "SELECT decode(ssn, 'a', 1, 2) FROM seen",
    "SELECT greatest(ssn, 'a') FROM seen",
    "SELECT least(length(ssn), id) FROM seen",
    "SELECT ssn <=> 'a' FROM seen",
    "SELECT id * int(ssn IS NULL) FROM seen",
    "SELECT id * n FROM (SELECT id, int(ssn IS NULL) AS n FROM seen)",
    "SELECT avg(int(ssn IS NOT NULL)) FROM seen",
    "SELECT named_struct('n', ssn) = named_struct('n', 'a') FROM seen",
    "SELECT slice(phones, 1, 1), to_json(struct(ssn)) FROM seen",
    "SELECT string(address) FROM seen",
    "SELECT size(array_compact(array(ssn))) FROM seen",
    "SELECT array_position(array(ssn, 'a'), 'a') FROM seen",
    "SELECT concat_ws('-', ssn, 'a') FROM seen",
    "SELECT format_string('%s', ssn) FROM seen",
    "SELECT hash(ssn), xxhash64(id, ssn) FROM seen",
    "SELECT collect_set(ssn) FROM seen",
    "SELECT approx_count_distinct(ssn) FROM seen",
    "SELECT isnan(double(ssn)) FROM seen",
    "SELECT lag(ssn, 1, 'a') IGNORE NULLS OVER (ORDER BY id) FROM seen"
  )

  test("a function that replaces NULL is a condition")(assertConditions(replacing))

  private val values = Seq(
    "SELECT id, upper(ssn), ssn = 'a', ssn IS NULL, ssn || id, length(ssn) + id, ssn IN ('a', 'b') " +
      "FROM seen",
    "SELECT substr(ssn, 1, 2), regexp_replace(ssn, 'a', 'b'), ssn LIKE 'a%b', lpad(ssn, 9, '-'), " +
      "sha2(ssn, 256), split(ssn, '-')[0], trim(ssn), get_json_object(ssn, '$.a'), NOT ssn = 'a' OR id " +
      "= 3 FROM seen",
    "SELECT int(ssn) / 2 - 1, round(double(ssn), 1), abs(int(ssn)), int(ssn) % 2, ssn BETWEEN 'a' " +
      "AND 'b', date_format(date(ssn), 'y'), year(ssn), trunc(date(ssn), 'MM'), unix_timestamp(ssn) " +
      "FROM seen",
    "SELECT address, phones, phones.number, tags['key'], map_keys(tags), struct(ssn, id).ssn, " +
      "array(ssn) FROM seen",
    "SELECT coalesce(string(salary), ssn), IF(id = 3, ssn, 'a') FROM seen",
    "SELECT max_by(ssn, id), min_by(address, id) FROM seen",
    "SELECT id, ssn FROM (SELECT id, ssn, row_number() OVER (PARTITION BY salary ORDER BY id) AS n " +
      "FROM seen) WHERE n = 1",
    "SELECT IF(address.street IS NULL, NULL, upper(address.street)) FROM seen",
    "SELECT count(ssn), max(ssn), count(*), collect_list(ssn) FROM seen",
    "SELECT id, max(ssn) FROM seen GROUP BY id",
    "SELECT first(ssn) FROM (SELECT id, ssn FROM seen ORDER BY id)",
    "SELECT count(id), sum(id), max(id), stddev(id) FROM (SELECT id FROM seen ORDER BY ssn)",
    "SELECT ssn FROM seen ORDER BY ssn, id",
    "SELECT id, ssn FROM seen ORDER BY id LIMIT 2",
    "SELECT id, lag(ssn) OVER (PARTITION BY salary ORDER BY id) FROM seen",
    "SELECT id, ssn FROM seen UNION ALL SELECT 1L, 'a'",
    "SELECT id, ssn FROM seen TABLESAMPLE (100 PERCENT)",
    "SELECT a.ssn, b.tags FROM seen a LEFT JOIN seen b ON a.id = b.id",
    "SELECT ssn, explode(sequence(1, id)) FROM seen"
  )

  test("what only computes or sorts is no condition") {
    assertEquals(values.filter(isCondition), Nil)
  }

  test("a condition on the size of groups looks at what groups them") {
    for (
      query <- Seq(
        "SELECT ssn FROM seen GROUP BY ssn HAVING count(*) > 1",
        "SELECT * FROM (SELECT ssn, count(*) AS n FROM seen GROUP BY ssn) WHERE n > 1",
        "SELECT id, ssn FROM seen EXCEPT ALL SELECT id, ssn FROM seen",
        "SELECT id, ssn FROM seen INTERSECT ALL SELECT id, ssn FROM seen"
      )
    ) {
      assertEquals(lookedAt(spark.sql(query)), Set("ssn"), query)
      assertEquals(lookedAt(spark.sql(query.replace("ssn", "salary"))), Set.empty[String], query)
    }
  }

  // ---- frames

  private val frames: Seq[(String, DataFrame => DataFrame)] = Seq(
    "above a limit" -> (_.limit(5).where("ssn = 'x'")),
    "of a computed column above a limit" -> (_.selectExpr("id", "upper(ssn) u").limit(5).where("u = 'X'")),
    "above an aggregate" -> (_.groupBy("id").agg(max("ssn").as("m")).where("m = 'x'")),
    "of an aggregate" -> (_.selectExpr("count(*) FILTER (WHERE ssn = 'x')")),
    "of a window" -> (_.selectExpr("id", "rank() OVER (ORDER BY ssn) r").where("r < 3")),
    "of an exploded list" -> (_.selectExpr("explode(phones) p").where("p.number = '+7'")),
    "above a union" -> { t =>
      t.select("id", "ssn").limit(3).union(t.select("id", "tags.key").limit(3)).where("ssn = 'x'")
    },
    "inner join" -> (t => t.join(t.select("ssn", "salary").limit(3), "ssn")),
    "left join" -> (t => t.join(t.select("ssn", "salary"), Seq("ssn"), "left")),
    "full join" -> (t => t.join(t.select("ssn", "salary"), Seq("ssn"), "full")),
    "anti join" -> (t => t.join(t.select("ssn"), Seq("ssn"), "anti")),
    "without nulls" -> (_.na.drop(Seq("ssn"))),
    "intersection" -> (t => t.select("ssn").intersect(t.select("ssn"))),
    "dropDuplicates" -> (_.dropDuplicates(Seq("ssn"))),
    "dropDuplicates after an order" -> (_.orderBy("ssn").dropDuplicates(Seq("salary")).select("id")),
    "a user's function" -> (_.select(udf((text: String) => text == null).apply(col("ssn")))),
    "a typed filter" -> { t =>
      val isX: FilterFunction[String] = "x".equals(_)
      t.select("ssn").as(Encoders.STRING).filter(isX).toDF()
    },
    "a filter of rows" -> { t =>
      val isNull: FilterFunction[Row] = _.isNullAt(0)
      t.select("ssn").filter(isNull)
    },
    "above a typed function" -> { t =>
      ofNames(t).toDF("value").where("value = 'of null'")
    },
    "above the groups of a typed function" -> { t =>
      val groups = t.select("ssn").as(Encoders.STRING).groupByKey("of " + _)(Encoders.STRING)
      groups.count().toDF("key", "number").where("key = 'of null'")
    },
    "a typed function" -> (ofNames(_).toDF()),
    "a typed function that makes rows" -> { t =>
      t.select("ssn").as(Encoders.STRING).flatMap(text => Option(text).toList)(Encoders.STRING).toDF()
    },
    "a typed function of partitions" -> { t =>
      t.select("ssn").as(Encoders.STRING).mapPartitions(rows => rows)(Encoders.STRING).toDF()
    }
  )

  private def ofNames(frame: DataFrame) =
    frame.select("ssn").as(Encoders.STRING).map("of " + _)(Encoders.STRING)

  for (scan <- scans)
    test(s"a condition anywhere in a frame is one, however the rows are scanned: $scan") {
      val frame = seen("scan" -> scan)
      assertEquals(frames.collect { case (name, query) if lookedAt(query(frame)).isEmpty => name }, Nil)
    }

  test("the same frames over another column have no condition on a refused one") {
    val frame = seen().select(col("id"), col("salary"), col("salary").cast("string").as("ssn"))
    val ofOthers = frames.filterNot { case (name, _) => Set("of an exploded list", "above a union")(name) }
    assertEquals(ofOthers.collect { case (name, query) if lookedAt(query(frame)).nonEmpty => name }, Nil)
  }

  test("a condition in a subquery is one") {
    assertConditions(
      Seq(
        "SELECT id FROM seen WHERE id IN (SELECT id FROM seen WHERE ssn = 'x')",
        "SELECT id FROM seen WHERE 'x' = (SELECT max(ssn) FROM seen)",
        "SELECT id FROM seen s WHERE EXISTS (SELECT 1 FROM seen t WHERE t.ssn = s.ssn AND t.id <> s.id)",
        "SELECT id FROM seen s WHERE id = 1 OR NOT EXISTS (SELECT 1 FROM seen t WHERE t.ssn = s.ssn)",
        "SELECT EXISTS (SELECT 1 FROM seen t WHERE t.id = s.id AND t.ssn > 'x') FROM seen s",
        "SELECT id FROM seen WHERE EXISTS (SELECT 1 FROM seen GROUP BY ssn HAVING count(*) > 1)",
        "WITH c AS (SELECT id, ssn, rand() r FROM seen) SELECT a.id FROM c a JOIN c b ON a.ssn = b.ssn"
      )
    )
  }

  test("EXISTS does not look at the columns that it selects") {
    val queries = Seq(
      "SELECT id, ssn FROM seen s WHERE EXISTS (SELECT ssn, upper(ssn) FROM seen t WHERE t.id = s.id)",
      "SELECT id, NOT EXISTS (SELECT ssn FROM seen t WHERE t.id > s.id AND t.salary < 6) FROM seen s"
    )
    assertEquals(queries.filter(isCondition), Nil)
  }
}
