"""Values of each type that Spark writes to Parquet, as SQL over `id`."""

from __future__ import annotations

SIMPLE = {
    "boolean": "id % 2 = 0",
    "tinyint": "CAST(id - 128 AS TINYINT)",
    "smallint": "CAST(id - 32768 AS SMALLINT)",
    "int": "CAST(id - 2147483648 AS INT)",
    "bigint": "id - 9223372036854775807",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "id / 7",
    "not_a_number": "CAST(IF(id = 1, 'NaN', '-Infinity') AS DOUBLE)",
    "string": "concat('żółw 🐢 ', id)",
    "binary": "unhex(sha2(CAST(id AS STRING), 256))",
    "empty_binary": "CAST('' AS BINARY)",
    "date": "date_add(DATE'1582-10-15', CAST(id * 300000 AS INT))",
    "timestamp": "TIMESTAMP'1969-12-31 23:59:59.999999' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "timestamp_ntz": "TIMESTAMP_NTZ'1900-02-28 12:34:56.123456' + make_interval(0, id)",
    "struct": "named_struct('a', id, 'b', named_struct('c', 'x', 'd', CAST(NULL AS INT)))",
    "array": "array(id, NULL, id * 2)",
    "map": "map(id, concat('v', id), id + 10, NULL)",
    "deep": (
        "array(map('k', array(named_struct('m', map(id, array(array(named_struct('leaf', id), NULL)))))),"
        " map('empty', array()))"
    ),
    "all_null": "CAST(NULL AS STRING)",
    "null_struct": "IF(id % 2 = 0, named_struct('a', id), NULL)",
}


INTERVALS = {
    "year_month": "make_ym_interval(CAST(id AS INT), 7)",
    "year": "CAST(make_ym_interval(CAST(id AS INT), 0) AS INTERVAL YEAR)",
    "day_second": "make_dt_interval(CAST(id AS INT), 3, 4, 5.678901)",
    "hour": "CAST(make_dt_interval(0, CAST(id AS INT)) AS INTERVAL HOUR)",
}
