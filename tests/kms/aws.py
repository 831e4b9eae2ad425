"""How the tests come to AWS KMS: keys at moto, a server for each test before it, credentials in system properties.

The JVM's environment is fixed, and the AWS SDK looks at its system properties first.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.kms.access import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from tests.kms.aws_server import AwsServer

REGION, ELSEWHERE = "eu-central-1", "us-west-2"
FOOTER, PII, PAY = KEYS = ("alias/footer", "alias/pii", "alias/pay")
COLUMN_KEYS = {f"alias/{key}": columns for key, columns in COLUMNS.items()}
USER = "AKIAOFTHETESTS"
CREDENTIALS = {"aws.accessKeyId": USER, "aws.secretAccessKey": "secret-of-the-tests-5d20"}


@contextmanager
def properties(spark: SparkSession, values: Mapping[str, str | None]) -> Iterator[None]:
    """Set system properties of Spark's JVM, or remove them, and restore them."""
    with properties_of(spark._jvm, values):
        yield


@contextmanager
def properties_of(jvm: Any, values: Mapping[str, str | None]) -> Iterator[None]:
    """Do the same in any JVM."""
    system = jvm.java.lang.System
    before = {name: system.getProperty(name) for name in values}
    _set(system, values)
    try:
        yield
    finally:
        _set(system, before)


def _set(system: Any, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            system.clearProperty(name)
        else:
            system.setProperty(name, value)


def access(aws: AwsServer, context: Mapping[str, str] | None = None, region: str = REGION) -> pme.AwsKms:
    return pme.AwsKms(region=region, endpoint=aws.url, encryption_context=context)


def encryption(kms: pme.AwsKms) -> pme.Encryption:
    """Return the encryption of the tests: ``alias/pii`` for ssn, ``alias/pay`` for salary, ``alias/footer`` beside."""
    return pme.Encryption(kms=kms, footer_key=FOOTER, column_keys=COLUMN_KEYS)
