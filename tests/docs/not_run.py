"""The blocks of the documents that no test runs as they are, and why. Every other block runs.

Each is identified by its document and its beginning.
"""

from __future__ import annotations

from importlib.util import find_spec

AIRFLOW = "needs Airflow, which has more packages than all tests together; run by hand with 3.3.2"
CLOUD = "needs a cloud, a server or hardware that is not here; tests/kms runs these clients against what is"
CLUSTER = "needs a cluster; tests/packaging submits jobs to local ones, and tests/connect has a server"
HIVE = "needs a Hive metastore; tests/orc/test_hive.py has one"
ICEBERG = "needs Iceberg and a Hive metastore; tests/iceberg/test_tables.py has both"
INSTALL = "installs the wheel, which the tests' environment has; tests/docs/test_readme.py does it as the README says"
MAKE = "is what runs the tests, or takes as long"
OLD_PYTHON = "the Polars and the DuckDB that have encryption need Python 3.11"
OWN_KMS = "needs a KMS client class of the reader's; tests/interop/test_parquet_java.py runs it with one of the tests"

NOT_RUN = {
    "README.md": {"make demo ": MAKE},
    "docs/quickstart.md": {"pip install ": INSTALL},
    "docs/keys.md": {
        "vault secrets enable transit": CLOUD,
        "spark-submit --packages ": CLUSTER,
        "keytool -genseckey -keyalg AES -keysize 256 -alias footer -storetype PKCS11": CLOUD,
    },
    "docs/comparison.md": {
        'frame.write.format("parquet")': OWN_KMS,
        'frame.write.format("pme-parquet")': OWN_KMS,
    },
    "docs/recipes.md": {
        "import pendulum": AIRFLOW,
        **({} if find_spec("polars") else dict.fromkeys(["import polars", "import duckdb"], OLD_PYTHON)),
    },
    "docs/auditors.md": {".venv/bin/python -m pytest ": MAKE},
    "docs/iceberg.md": {"CREATE TABLE lake.db.people": ICEBERG},
    "docs/orc.md": {"spark = pme.configure(SparkSession.builder).enableHiveSupport()": HIVE},
    "docs/compatibility.md": {
        "spark-submit --jars ": CLUSTER,
        "spark-submit --packages ": CLUSTER,
        "start-connect-server.sh ": CLUSTER,
        'spark = pme.configure(SparkSession.builder.remote("sc://': CLUSTER,
    },
}

RUN_ELSEWHERE = {"docs/cli.md": "tests/docs/test_cli_session.py"}


def reason(document: str, code: str) -> str | None:
    """Return why a block does not run, or nothing if it does."""
    if document in RUN_ELSEWHERE:
        return RUN_ELSEWHERE[document]
    return next((why for start, why in NOT_RUN.get(document, {}).items() if code.startswith(start)), None)
