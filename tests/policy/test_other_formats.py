"""Options of ours for another format: what a user of Python reads, and what only PySpark brings.

``jvm/spark`` has the other ways to write, in OtherFormatsSuite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from tests.support.expect import refused
from tests.support.logs import warnings
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

BAD = "PME_BAD_OPTION"
CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
DRIVER = "org.apache.derby." + ("jdbc.EmbeddedDriver" if SPARK_VERSION < (4, 0) else "iapi.jdbc.AutoloadedDriver")


def test_tables_of_other_catalogs_are_checked(spark: SparkSession, conf: Conf, enc: pme.Encryption) -> None:
    name = f"c{uuid4().hex[:8]}"
    catalog = f"spark.sql.catalog.{name}"
    settings = {catalog: CATALOG, f"{catalog}.url": "jdbc:derby:memory:other;create=true", f"{catalog}.driver": DRIVER}
    with conf(settings):
        for using in ("parquet", "jdbc"):
            with refused(BAD, "footerKey", f"'{using}'"):
                spark.range(3).writeTo(f"{name}.S.t").using(using).options(**enc.options()).createOrReplace()
        with refused(BAD, "footerKey"):
            spark.sql(f"CREATE TABLE {name}.S.t (id INT) USING jdbc OPTIONS (footerKey 'footer')")


def test_a_write_of_another_format_is_refused_in_the_words_of_python(
    spark: SparkSession, enc: pme.Encryption, target: str
) -> None:
    with refused(BAD, "pme-parquet options (footerKey", "pme.write"):
        spark.range(3).write.options(**enc.options()).parquet(target)


def test_a_read_by_another_format_warns_once(spark: SparkSession, keys: pme.Keystore, target: str) -> None:
    spark.range(3).write.parquet(target)
    name = f"kms.{uuid4().hex}"
    with warnings(spark) as found:
        for _ in range(2):
            spark.read.options(**keys.options(), **{name: "x"}).parquet(target).collect()
    assert len([line for line in found if name in line and "is not authenticated" in line]) == 1
    assert keys.options()["kms.keystore.password"] not in "".join(found)
