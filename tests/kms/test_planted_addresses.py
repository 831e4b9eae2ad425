"""Operations call the KMS that the configuration names, and never an address in a table's definition.

`PlantedAddressesSuite` plants addresses in key material.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pme_parquet as pme
from tests.kms import access
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused, save
from tests.support.frames import call, people
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

CLIENT_URL = "parquet.encryption.kms.instance.url"


def test_an_address_in_a_table_s_definition_is_never_called(
    spark: SparkSession, target: str, tmp_path: Path, conf: Conf
) -> None:
    with TransitServer() as home, TransitServer() as other:
        home.create(*access.KEYS)
        kms, url = access.by_token(home, tmp_path, operations=access.ROTATING), other.url
        save(people(spark).coalesce(1), target, access.encryption(kms).options())
        table = f"planted_{uuid4().hex[:8]}"
        planted = f"('kms' 'vault', 'kms.vault.url' '{url}', '{CLIENT_URL}' '{url}')"
        definition = f"(id BIGINT) USING `{FORMAT}` OPTIONS {planted} LOCATION '{target}'"
        session = {f"spark.datasource.{FORMAT}.{name}": value for name, value in kms.options().items()}
        with conf(session):
            with refused("PME_BAD_OPTION", "TBLPROPERTIES", "kms.vault.url"):
                spark.sql(f"CREATE TABLE {table} {definition} TBLPROPERTIES {planted}")
            spark.sql(f"CREATE TABLE {table} {definition}")
            try:
                with refused("PME_BAD_OPTION", "definition of table"):
                    spark.table(table).collect()
                assert pme.rotate(spark, target).counts == {"rotated": 1}
                rows = spark.sql(f"SELECT status FROM {call('pme_rotate', target)}").collect()
                assert rows == [("rotated",)]
                usage = spark.sql(f"SELECT * FROM {call('pme_key_usage', target)}")
                for told in (pme.key_usage(spark, target), usage):
                    found = {(row.master_key, *row.problems) for row in told.collect()}
                    assert found == {(key,) for key in access.KEYS}
                assert pme.rekey(spark, target, f"{target}-copy", pme.Encryption(footer_key=access.FOOTER)).rows == 20
            finally:
                spark.sql(f"DROP TABLE {table}")
        assert other.connections == 0
