package io.pmeparquet.spark.rules

import java.util.UUID

import io.pmeparquet.spark.GuardedSuite
import io.pmeparquet.Condition.KeyDenied

/**
 * `deniedColumns`: `MERGE`, `UPDATE` and `DELETE` that look at a refused column fail, and change nothing.
 *
 * Their target is a table of a catalog of the tests, which is changed row by row or rewritten, as tables of Iceberg or
 * Delta are. Only what they read besides it can be masked.
 */
class DeniedChangesSuite extends GuardedSuite {
  private val before = Seq("[3,ssn-3]", "[7,ssn-8]", "[99,null]")
  private val merge = "MERGE INTO %target t USING seen s ON "

  private val looking = Seq(
    "ON" ->
      (merge + "t.ssn = s.ssn WHEN MATCHED THEN DELETE"),
    "ON, for rows that do not match" ->
      (merge + "t.ssn = s.ssn WHEN NOT MATCHED THEN INSERT (id, ssn) VALUES (s.id, 'a')"),
    "ON, among others" ->
      (merge + "t.id = s.id AND t.ssn <> s.ssn WHEN MATCHED THEN UPDATE SET ssn = 'a'"),
    "ON, for rows of the target" ->
      (merge + "t.ssn = s.ssn WHEN NOT MATCHED BY SOURCE THEN DELETE"),
    "WHEN MATCHED" ->
      (merge + "t.id = s.id WHEN MATCHED AND s.ssn IS NULL THEN DELETE"),
    "WHEN MATCHED, of a part" ->
      (merge + "t.id = s.id WHEN MATCHED AND s.address.street IS NULL THEN DELETE"),
    "WHEN MATCHED, the second" ->
      (merge + "t.id = s.id WHEN MATCHED AND t.id = 7 THEN DELETE WHEN MATCHED AND s.ssn <> t.ssn " +
        "THEN UPDATE SET ssn = 'a'"),
    "WHEN NOT MATCHED" ->
      (merge + "t.id = s.id WHEN NOT MATCHED AND s.ssn IS NULL THEN INSERT (id, ssn) VALUES (s.id, " +
        "'a')"),
    "WHEN NOT MATCHED, beside another" ->
      (merge + "t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.ssn IS NULL THEN INSERT " +
        "(id, ssn) VALUES (s.id, 'a')"),
    "USING" ->
      ("MERGE INTO %target t USING (SELECT id FROM seen WHERE ssn IS NULL) s ON t.id = s.id " +
        "WHEN MATCHED THEN DELETE"),
    "USING, computed" ->
      ("MERGE INTO %target t USING (SELECT id, upper(ssn) AS u FROM seen) s ON t.id = s.id " +
        "WHEN MATCHED AND s.u IS NULL THEN DELETE"),
    "UPDATE, IN" ->
      "UPDATE %target SET ssn = 'a' WHERE ssn IN (SELECT ssn FROM seen)",
    "UPDATE, NOT IN" ->
      "UPDATE %target SET ssn = 'a' WHERE ssn NOT IN (SELECT ssn FROM seen)",
    "UPDATE, scalar" ->
      "UPDATE %target SET ssn = 'a' WHERE ssn <=> (SELECT max(ssn) FROM seen)",
    "DELETE, IN" ->
      "DELETE FROM %target WHERE ssn IN (SELECT ssn FROM seen)",
    "DELETE, NOT EXISTS" ->
      "DELETE FROM %target t WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.ssn = t.ssn)",
    "DELETE, in the subquery" ->
      "DELETE FROM %target WHERE id IN (SELECT id FROM seen WHERE ssn IS NULL)",
    "USING, one of each" ->
      ("MERGE INTO %target t USING (SELECT max(id) AS id FROM seen GROUP BY ssn) s ON t.id = s.id " +
        "WHEN MATCHED THEN DELETE"),
    "USING, the first" ->
      ("MERGE INTO %target t USING (SELECT id FROM seen ORDER BY ssn LIMIT 1) s ON t.id = s.id " +
        "WHEN MATCHED THEN DELETE")
  )

  // With what each leaves.
  private val others = Seq(
    (
      "values of a masked column",
      merge + "t.id = s.id AND s.id < 9 WHEN MATCHED AND s.salary > 6 THEN UPDATE SET ssn = s.ssn " +
        "WHEN NOT MATCHED AND s.id = 5 THEN INSERT (id, ssn) VALUES (s.id, s.ssn)",
      Seq("[3,ssn-3]", "[5,null]", "[7,null]", "[99,null]")
    ),
    (
      "another part of it",
      merge + "t.id = s.id WHEN MATCHED AND s.city = 'city-1' THEN DELETE " +
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET ssn = 'b'",
      Seq("[3,ssn-3]", "[99,b]")
    ),
    (
      "UPDATE",
      "UPDATE %target SET ssn = 'a' WHERE id IN (SELECT id FROM seen WHERE salary > 6)",
      Seq("[3,ssn-3]", "[7,a]", "[99,null]")
    ),
    (
      "DELETE",
      "DELETE FROM %target t WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.id = t.id)",
      Seq("[3,ssn-3]", "[7,ssn-8]")
    )
  )

  /** A new table of three rows, which is changed in this way. */
  private def made(kind: String): String = {
    set(Map("spark.sql.catalog.row_level" -> classOf[RowLevelCatalog].getName))
    val name = s"row_level.${kind}_${UUID.randomUUID().toString.take(8)}"
    spark.sql(s"INSERT INTO $name VALUES (3, 'ssn-3'), (7, 'ssn-8'), (99, NULL)")
    name
  }

  /** The statement on the table, with the source as somebody reads it to whom `pii` is denied. */
  private def over(statement: String, table: String, options: (String, String)*): String = {
    val frame = seen(options: _*).selectExpr("id", "ssn", "salary", "address", "address.city AS city")
    frame.createOrReplaceTempView("seen")
    statement.replace("%target", table)
  }

  /** In turn, so that each kind has some of each statement's clauses, with each scan. */
  private def isAsked(row: Int, kind: String) = isWhole || (row % 4 < 2) == (kind == "rows")

  private val ways =
    for ((kind, at) <- Seq("rows", "groups").zipWithIndex) yield (kind, (row: Int) => scans((row + at) % 2))

  for ((kind, scan) <- ways)
    test(s"a change that looks at a refused column is refused, and changes nothing: $kind") {
      val table = made(kind)
      for (((name, statement), row) <- looking.zipWithIndex if isAsked(row, kind)) {
        refused(KeyDenied, "'pii'", "condition", "deniedPredicates=null") {
          spark.sql(over(statement, table, "scan" -> scan(row)))
        }
        assertEquals(rows(spark.table(table)), before, name)
      }
    }

  for (((name, statement, after), row) <- others.zipWithIndex; (kind, scan) <- ways)
    test(s"a change that does not look at it is made: $name, $kind, ${scan(row)}") {
      val table = made(kind)
      spark.sql(over(statement, table, "scan" -> scan(row)))
      assertEquals(rows(spark.table(table)), after)
    }

  for ((kind, _) <- ways)
    test(s"a change sees NULLs where conditions may: $kind") {
      val table = made(kind)
      spark.sql(over(looking.toMap.apply("WHEN MATCHED"), table, lenient))
      assertEquals(rows(spark.table(table)), Seq("[99,null]"))
    }
}
