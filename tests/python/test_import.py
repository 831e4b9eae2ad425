"""Importing the package does nothing: it needs no PySpark, JVM, hook or environment."""

import subprocess
import sys


def _printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_does_not_import_pyspark_or_the_command_line() -> None:
    code = "import sys, pme_parquet; print([m for m in ('pyspark', 'py4j', 'grpc', 'typer') if m in sys.modules])"
    assert _printed(code) == "[]"


def test_importing_the_package_imports_nothing_that_only_some_functions_need() -> None:
    # `pme-parquet inspect` must answer at once; on a small machine each of these takes milliseconds, rich a second.
    slow = "asyncio concurrent.futures fsspec hashlib rich subprocess tempfile thrift traceback uuid xml"
    code = f"import sys, pme_parquet.cli; print([m for m in {slow!r}.split() if m in sys.modules])"
    assert _printed(code) == "[]"


def test_every_public_name_exists() -> None:
    names = (
        "configure spark_config jar_path Encryption Keystore Static Vault KmsClass PythonKms "
        "env file conf hadoop_credential PmeError"
    )
    code = f"import pme_parquet as pme; print([n for n in {names.split()!r} if not hasattr(pme, n)])"
    assert _printed(code) == "[]"


def test_options_can_be_made_where_pyspark_is_not_installed() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None; import pme_parquet as pme; "
        "print(pme.Encryption(uniform_key='k').options())"
    )
    assert _printed(code) == "{'uniformKey': 'k', 'keyManagement': 'envelope'}"
