"""The stored definition of a table or view sends no credential of its reader anywhere, and loads no class."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from tests.support import java
from tests.support.expect import refused
from tests.support.session import PASSWORD_VARIABLE, SPARK_VERSION, kms_settings
from tests.support.source import FORMAT, rows
from tests.support.stored import PREFIX, unique_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

ROWS = ["Row(id=0, name='a')", "Row(id=1, name='a')"]
LOUD = "pme.test.loud"


class Listener:
    """The attacker's server, which records its requests."""

    def __init__(self) -> None:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                requests.append(f"{self.path} {self.headers} {body}")
                self.send_response(403)
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.requests = requests
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def shared_listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.server.shutdown()
    listener.server.server_close()


@pytest.fixture
def listener(shared_listener: Listener) -> Listener:
    shared_listener.requests.clear()
    return shared_listener


@pytest.fixture(scope="module", autouse=True)
def _class(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    java.load(spark, tmp_path_factory, Path(__file__).with_name("Loud.java"))


@pytest.fixture(scope="module")
def files(spark: SparkSession, enc: pme.Encryption, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a directory of encrypted files."""
    path = str(tmp_path_factory.mktemp("stored") / "files")
    frame = spark.range(2).selectExpr("id", "'a' AS name")
    frame.write.format(FORMAT).options(**enc.options()).save(path)
    return path


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = unique_name()
    yield name
    spark.sql(f"DROP VIEW IF EXISTS {name}_v")
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def create(spark: SparkSession, table: str, path: str, options: dict[str, str]) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    listed = ", ".join(f"`{name}` '{value}'" for name, value in options.items())
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, name STRING) USING `{FORMAT}` "
        + (f"OPTIONS ({listed}) " if listed else "")
        + f"LOCATION '{path}'"
    )


def has_run(spark: SparkSession) -> bool:
    """Return whether the class was initialized, which happens once in a JVM."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return jvm.System.getProperty(LOUD) is not None


def clause(options: dict[str, str]) -> str:
    return "WITH (" + ", ".join(f"`{name}` = '{value}'" for name, value in options.items()) + ")"


def vault(url: str) -> dict[str, str]:
    return {"kms": "vault", "kms.vault.url": url}


def attacks(url: str, secret: str) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Return the options of a table, and the settings of its reader's session."""
    login = {"kms.vault.auth": "kubernetes", "kms.vault.role": "r"}
    token = {"kms": "vault", "kms.vault.token": f"env:{PASSWORD_VARIABLE}"}
    of_session = token | {"kms.vault.url": url}
    return {
        "file": (vault(url) | login | {"kms.vault.jwt": f"file:{secret}"}, {}),
        "variable": (vault(url) | {"kms.vault.token": f"env:{PASSWORD_VARIABLE}"}, {}),
        "address": (vault(url), token),
        "mount": ({"kms.vault.mount": "transit/../../sys"}, of_session),
        "namespace": ({"kms.vault.namespace": "evil"}, of_session),
        "header": ({"kms.vault.auth": "approle"}, of_session),
        "class": ({"kms": "isolation.Loud"}, {}),
        "two_cases": ({"kms": "isolation.Loud", "KMS": "isolation.Other"}, {}),
        "parquet_name": ({"parquet.encryption.kms.client.class": "isolation.Loud"}, {}),
        "hadoop_name": ({"hadoop.security.credential.provider.path": "jceks://file/evil"}, {}),
        "factory": ({"parquet.crypto.factory.class": "isolation.Loud"}, {}),
        "provider": ({"cryptoProvider": "Evil"}, {}),
        "direct": ({"keyManagement": "direct"}, {}),
    }


@pytest.mark.parametrize("attack", sorted(attacks("", "")))
def test_a_stored_definition_makes_no_connection(
    spark: SparkSession, listener: Listener, files: str, table: str, attack: str, conf: Conf, tmp_path: Path
) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("one line\nanother line\n")
    says, session = attacks(listener.url, str(secret))[attack]
    create(spark, table, files, says)
    spark.sql(f"CREATE VIEW {table}_v AS SELECT name FROM {table}")
    with conf({PREFIX + name: value for name, value in session.items()}):
        for query in (f"SELECT * FROM {table}", f"SELECT * FROM {table}_v", f"SELECT max(id) FROM {table}"):
            with refused("PME_BAD_OPTION", table, "trustedTables"):
                spark.sql(query).collect()
        for statement in ("INSERT INTO", "INSERT OVERWRITE"):
            with refused("PME_BAD_OPTION", table, "trustedTables"):
                spark.sql(f"{statement} {table} SELECT 1, 'b'")
    assert listener.requests == []
    assert not has_run(spark)


def test_a_table_written_with_the_frame_s_options_is_read_with_the_session_s(
    spark: SparkSession, enc: pme.Encryption, keys: pme.Keystore, table: str, conf: Conf
) -> None:
    spark.range(2).selectExpr("id", "'a' AS name").write.format(FORMAT).options(**enc.options()).saveAsTable(table)
    with refused("PME_BAD_OPTION", "kms.keystore.p", f"spark_catalog.default.{table}", f"{PREFIX}kms.keystore.p"):
        spark.table(table).collect()
    with conf(kms_settings(keys)):
        assert rows(spark.table(table)) == ROWS
        spark.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    assert_trusted(spark, table, conf)


def assert_trusted(spark: SparkSession, table: str, conf: Conf) -> None:
    begins_alike = (f"spark_catalog.default.{table[:-1]}", f"spark_catalog.default.{table}s", f"spark.default.{table}")
    for other in (f"default.{table}", f"spark_catalog.other.{table}", "spark_catalog.default.*", *begins_alike):
        with conf({f"{PREFIX}trustedTables": other}), refused("PME_BAD_OPTION"):
            spark.table(table).collect()
    with conf({f"{PREFIX}trustedTables": f"spark_catalog.default.x, spark_catalog.default.{table}"}):
        spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
        assert spark.table(table).count() == 4


def test_no_option_makes_a_table_trusted(spark: SparkSession, files: str, table: str) -> None:
    with refused("PME_BAD_OPTION", "trustedTables"):
        create(spark, table, files, {"trustedTables": f"spark_catalog.default.{table}"})
    with refused("PME_BAD_OPTION", "trustedTables"):
        spark.read.format(FORMAT).option("trustedTables", "a.b.c").load(files).collect()


def test_a_table_s_reader_names_the_kms_where_the_table_does_not(
    spark: SparkSession, keys: pme.Keystore, files: str, table: str, listener: Listener
) -> None:
    create(spark, table, files, {"footerKey": "footer"})
    assert rows(spark.read.options(**keys.options()).table(table)) == ROWS
    spark.catalog.refreshTable(table)
    with refused("PME_BAD_OPTION", "kms.keystore.path"):
        spark.table(table).collect()
    assert listener.requests == []


def test_a_stream_of_a_table_does_not_trust_its_options_either(
    spark: SparkSession, keys: pme.Keystore, files: str, table: str, listener: Listener, conf: Conf
) -> None:
    create(spark, table, files, vault(listener.url) | {"kms.vault.token": f"env:{PASSWORD_VARIABLE}"})

    def run() -> None:
        query = spark.readStream.table(table).writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()

    with refused("PME_BAD_OPTION", table):
        run()
    assert listener.requests == []
    spark.sql(f"DROP TABLE {table}")
    create(spark, table, files, {})
    with conf(kms_settings(keys)):
        run()


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="SQL of Spark 3.5 gives a relation no options")
def test_a_stored_view_s_own_options_are_not_trusted(
    spark: SparkSession, listener: Listener, files: str, table: str, keys: pme.Keystore
) -> None:
    said = vault(listener.url) | {"kms.vault.token": f"env:{PASSWORD_VARIABLE}"}
    create(spark, table, files, {})
    for source in (f"`{FORMAT}`.`{files}`", table):
        own = spark.sql(f"SELECT * FROM {source} {clause(keys.options())}")
        assert rows(own) == ROWS
        spark.sql(f"CREATE OR REPLACE VIEW {table}_v AS SELECT * FROM {source} {clause(keys.options())}")
        with refused("PME_BAD_OPTION", "stored"):
            spark.table(f"{table}_v").collect()
        spark.sql(f"DROP VIEW {table}_v")
    spark.sql(f"CREATE OR REPLACE VIEW {table}_v AS SELECT * FROM {table} {clause(said)}")
    with refused("PME_BAD_OPTION", "stored"):
        spark.table(f"{table}_v").collect()
    assert listener.requests == []


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="SQL of Spark 3.5 gives a relation no options")
def test_trusting_a_table_does_not_trust_a_view_of_it(
    spark: SparkSession, listener: Listener, files: str, table: str, keys: pme.Keystore, conf: Conf
) -> None:
    # Spark itself refuses a view that repeats an option of the table with another value.
    create(spark, table, files, {"footerKey": "footer"})
    said = vault(listener.url) | {"kms.vault.token": f"env:{PASSWORD_VARIABLE}"}
    spark.sql(f"CREATE VIEW {table}_v AS SELECT * FROM {table} {clause(said)}")
    with conf(kms_settings(keys) | {f"{PREFIX}trustedTables": f"spark_catalog.default.{table}"}):
        assert rows(spark.table(table)) == ROWS
        with refused("PME_BAD_OPTION", "a stored table or view", never=("trustedTables",)):
            spark.table(f"{table}_v").collect()
        spark.readStream.table(table).writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
        spark.sql(f"CREATE OR REPLACE VIEW {table}_v AS SELECT * FROM {table}")
        assert rows(spark.table(f"{table}_v")) == ROWS
    assert listener.requests == []


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="SQL of Spark 3.5 gives a relation no options")
def test_options_of_an_insert_are_trusted(spark: SparkSession, keys: pme.Keystore, table: str) -> None:
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING `{FORMAT}` OPTIONS (footerKey 'footer')")
    spark.sql(f"INSERT INTO {table} {clause(keys.options())} SELECT 7")
    assert rows(spark.read.options(**keys.options()).table(table)) == ["Row(id=7)"]


def test_views_share_the_cache_of_their_table(
    spark: SparkSession, keys: pme.Keystore, files: str, table: str, conf: Conf
) -> None:
    create(spark, table, files, {})
    spark.sql(f"CREATE VIEW {table}_v AS SELECT * FROM {table}")
    with conf(kms_settings(keys)):
        spark.sql(f"CACHE TABLE {table}")
        try:
            plan = spark.sql(f"SELECT id FROM {table}_v")._jdf.queryExecution().optimizedPlan()
            assert "InMemoryRelation" in plan.toString()
        finally:
            spark.sql(f"UNCACHE TABLE {table}")


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Spark 3.5 has no functions in SQL")
def test_a_stored_function_s_own_options_are_not_trusted(
    spark: SparkSession, listener: Listener, files: str, table: str
) -> None:
    create(spark, table, files, {})
    said = vault(listener.url) | {"kms.vault.token": f"env:{PASSWORD_VARIABLE}"}
    for source in (f"`{FORMAT}`.`{files}`", table):
        body = f"SELECT * FROM {source} {clause(said)}"
        with refused("PME_BAD_OPTION", "stored"):
            spark.sql(f"CREATE FUNCTION {table}_f() RETURNS TABLE (id BIGINT, name STRING) RETURN {body}")
            spark.sql(f"SELECT * FROM {table}_f()").collect()
        spark.sql(f"DROP FUNCTION IF EXISTS {table}_f")
    assert listener.requests == []


def test_our_functions_in_a_stored_view_take_no_kms_and_change_no_file(
    spark: SparkSession, listener: Listener, files: str, table: str
) -> None:
    options = f"map('kms', 'vault', 'kms.vault.url', '{listener.url}', 'kms.vault.token', 'env:{PASSWORD_VARIABLE}')"
    for function in ("pme_verify", "pme_key_usage", "pme_snapshots"):
        call = f"{function}('{{}}', options => {{}})"
        if stores_view(spark, f"{table}_v", call.format(files, options)):
            with refused("PME_BAD_OPTION", "kms"):
                spark.table(f"{table}_v").collect()
    for function in ("pme_rotate", "pme_seal"):
        if stores_view(spark, f"{table}_v", f"{function}('{files}')"):
            with refused("PME_UNSUPPORTED", function):
                spark.table(f"{table}_v").collect()
    assert not (Path(files) / "_pme_snapshots").exists()
    assert listener.requests == []


def stores_view(spark: SparkSession, name: str, call: str) -> bool:
    """Store a view of a function's rows; False where Spark itself refuses it, as 3.5 to 4.1 do."""
    try:
        spark.sql(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {call}")
    except AnalysisException as refusal:
        # These releases treat functions of extensions as temporary ones.
        if SPARK_VERSION >= (4, 2) or "INVALID_TEMP_OBJ_REFERENCE" not in str(refusal):
            raise
        return False
    return True


def test_a_class_that_is_not_a_kms_client_is_not_initialized(spark: SparkSession, files: str) -> None:
    with refused("PME_BAD_OPTION", "isolation.Loud"):
        spark.read.format(FORMAT).option("kms", "isolation.Loud").load(files).collect()
    assert not has_run(spark)


@pytest.mark.parametrize("says", [{"plaintextFiles": "allow"}, {"deniedColumns": "null"}, {"clearLevels": "allow"}])
def test_a_table_weakens_no_policy_that_the_session_states(
    spark: SparkSession, keys: pme.Keystore, files: str, table: str, conf: Conf, says: dict[str, str]
) -> None:
    create(spark, table, files, says)
    [name] = says
    with conf(kms_settings(keys)):
        assert rows(spark.table(table)) == ROWS
        with conf({PREFIX + name: "error"}), refused("PME_BAD_OPTION", name, table):
            spark.table(table).collect()


OF_COLUMNS = {"footerKey": "footer", "columnKeys": "pii: name"}


@pytest.mark.parametrize(
    ("says", "session"),
    [
        ({"uniformKey": "footer"}, {"columnKeys": "pii: name"}),
        ({"columnKeys": "footer: name", "footerKey": "footer"}, {"columnKeys": "pii: name"}),
        ({"unlistedColumns": "plaintext"}, OF_COLUMNS),
        ({"parquet.encryption.column.keys": "pii: name", "parquet.encryption.footer.key": "footer"}, OF_COLUMNS),
        ({"footerKey": "other"}, OF_COLUMNS),
        ({"aadPrefix": "forged"}, {"aadPrefix": "mine"}),
    ],
    ids="+".join,
)
def test_a_table_does_not_override_the_keys_that_the_session_requires_of_columns(
    spark: SparkSession,
    keys: pme.Keystore,
    files: str,
    table: str,
    conf: Conf,
    says: dict[str, str],
    session: dict[str, str],
) -> None:
    create(spark, table, files, says)
    with (
        conf(kms_settings(keys) | {PREFIX + name: value for name, value in session.items()}),
        refused("PME_BAD_OPTION", table, next(name for name in says if session.get(name) != says[name])),
    ):
        spark.table(table).collect()


def test_a_table_may_require_the_same_keys_of_columns_as_the_session(
    spark: SparkSession, keys: pme.Keystore, table: str, conf: Conf
) -> None:
    listed = ", ".join(f"{name} '{value}'" for name, value in OF_COLUMNS.items())
    spark.sql(f"CREATE TABLE {table} (id BIGINT, name STRING) USING `{FORMAT}` OPTIONS ({listed})")
    with conf(kms_settings(keys)):
        spark.sql(f"INSERT INTO {table} VALUES (0, 'a'), (1, 'a')")
        for session in ({}, {"footerKey": "other"}, {"columnKeys": "pii: name"}, OF_COLUMNS):
            with conf({PREFIX + name: value for name, value in session.items()}):
                assert rows(spark.table(table)) == ROWS
        with conf({f"{PREFIX}columnKeys": "other: name", f"{PREFIX}trustedTables": f"spark_catalog.default.{table}"}):
            assert rows(spark.table(table)) == ROWS
