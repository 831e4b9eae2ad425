"""`pme.doctor`: checks that a session has everything the format needs, and says how to fix what is missing.

`diagnosis` is the answer and its view. `checks` has what only Python can see, and asks the connector for all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import options_of
from pme_parquet._audience import Words
from pme_parquet._doctor.checks import classic_checks, client_checks, server_checks
from pme_parquet._doctor.diagnosis import Check, Diagnosis
from pme_parquet._encryption import Encryption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike

__all__ = ["Check", "Diagnosis", "doctor"]


def doctor(
    spark: SparkSession,
    kms: Encryption | KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Check that everything the format needs is installed, compatible and working, and how to fix what is not.

    Versions of Python, Spark, Scala, Java, connector and wheel; which jars were loaded, from where, and whether twice;
    settings; whether executors are as the driver; AES provider, instructions and speed; and with `kms` whether each
    named master key wraps and unwraps, from the driver and from an executor. Nothing is written.

    Example:
        print(pme.doctor(spark, pme.Encryption(kms=keys, footer_key="footer")))

    Args:
        spark: a classic session, or one of Spark Connect whose server has the connector.
        kms: an `Encryption`, whose keys are tried; or a KMS or the name of one configured in the session, whose keys
            that `options` names are tried.
        options: of the format, such as `{"footerKey": "footer"}`.

    Returns:
        What was found. A check that fails is part of it, and raises nothing.
    """
    given = _options(kms) | options_of(options, Words("pme.doctor"))
    look = classic_checks if hasattr(spark, "_jsparkSession") else server_checks
    return Diagnosis((*client_checks(spark), *look(spark, given)))


def _options(kms: Encryption | KmsLike | None) -> dict[str, str]:
    return (kms if isinstance(kms, Encryption) else Encryption(kms=kms)).options()
