"""A sealed table: what readers notice, and files that they need not open.

    python examples/sealed_table.py --out /tmp/sealed

The publisher signs the list of the table's files. Readers have only the public key.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import pme_parquet as pme
from example_keys import keystore

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Seal a table, read it, and try to add, remove and put back files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("target/sealed"), help="directory for all output")
    out: Path = parser.parse_args().out.resolve()

    keys = keystore(out)
    public_key = signing_key(out)
    table = out / "orders"
    shutil.rmtree(table, ignore_errors=True)
    spark = pme.configure(SparkSession.builder.master("local[2]").appName("sealed")).getOrCreate()
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["customer"]})
    orders = spark.range(0, 1000, 1, 4).selectExpr("id", "concat('customer-', id % 50) AS customer", "id * 2 AS amount")

    pme.write(orders, table, enc)
    index = [pme.MinMax("id")]
    print(pme.seal(spark, table, kms=keys, signing="publisher", index=index, expect="unsealed"))

    checked = {"verifyKey": public_key}
    found = pme.read(spark, table, kms=keys, options=checked).where("id = 700")
    print(f"order 700: {found.collect()[0].amount}")

    file = min(table.glob("*.parquet"))
    kept = file.rename(out / file.name)
    attempt("a file is removed", lambda: pme.read(spark, table, kms=keys, options=checked).count())
    kept.rename(file)
    shutil.copy(file, table / "copy.parquet")
    attempt("a file is added twice", lambda: pme.read(spark, table, kms=keys, options=checked).count())
    (table / "copy.parquet").unlink()
    # Whoever can read the table has the keys to make an HMAC, and not the signing key.
    shutil.rmtree(table / "_pme_snapshots")
    pme.seal(spark.newSession(), table, kms=keys, options={"snapshot": "off"}, expect="unsealed")
    attempt("a reader seals the table", lambda: pme.read(spark, table, kms=keys, options=checked).count())
    spark.stop()


def signing_key(directory: Path) -> pme.SecretReference:
    """Return the reference to the public key of ``publisher``, a key that is made on first use."""
    pem = directory / "publisher.pem"
    if not pem.exists():
        store = ["-keystore", str(directory / "keys.p12"), "-storepass:file", str(directory / "password")]
        made = [*store, "-alias", "publisher"]
        keytool("-genkeypair", "-keyalg", "Ed25519", "-dname", "CN=publisher", *made)
        keytool("-exportcert", "-rfc", "-file", str(pem), *made)
    return pme.file(pem)


def keytool(*arguments: str) -> None:
    """Run the JDK's keytool."""
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)  # noqa: S607 as pme.Keystore finds it


def attempt(what: str, read: Callable[[], int]) -> None:
    """Read, and show how it fails."""
    try:
        print(f"{what}: {read()} rows")
    except pme.PmeError as refused:
        print(f"{what}: {refused.condition}")


if __name__ == "__main__":
    main()
