"""Python processes that start a Spark of their own."""

from __future__ import annotations

import os
import sys

from tests.support.session import ROOT


def environment() -> dict[str, str]:
    """Return what such a process has of this one's environment: nothing of its Spark, and all that can be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
