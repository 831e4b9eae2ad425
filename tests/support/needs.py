"""What a test needs that not every machine, run or Spark has, as marks: `@needs.softhsm`, `@needs.package("yaml")`.

Each is pytest's `skipif`, from which `selection` knows what runs.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Container

# Whether every test runs, whatever it takes.
ALL = bool(os.environ.get("PME_TEST_ALL"))


def spark(least: tuple[int, int], why: str) -> pytest.MarkDecorator:
    """Need a version of Spark, or a newer one."""
    return _needs(has=least <= SPARK_VERSION, why=why)


def sparks(some: Container[tuple[int, ...]], why: str) -> pytest.MarkDecorator:
    """Need one of some versions of Spark."""
    return _needs(has=SPARK_VERSION in some, why=why)


def package(name: str, why: str = "") -> pytest.MarkDecorator:
    """Need a package of Python."""
    return _needs(has=find_spec(name) is not None, why=why or f"{name} is not installed")


def program(name: str, title: str) -> pytest.MarkDecorator:
    """Need a program. `make test-all` fails without it: docs/tested.md says that each of its tests ran."""
    return _needs(has=ALL or shutil.which(name) is not None, why=f"{title} is not installed: no {name}")


def _needs(*, has: bool, why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not has, reason=why)


test_all = _needs(has=ALL, why="make test-all runs this")

chromium = program("chromium", "Chromium")
softhsm = program("softhsm2-util", "SoftHSM2")

linux = _needs(has=sys.platform == "linux", why="processes are looked at as Linux shows them")
posix = _needs(has=os.name != "nt", why="modes of POSIX")
root = _needs(has=os.name != "nt" and os.geteuid() == 0, why="only root gives files to others")
accp = _needs(
    has=sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"},
    why="Amazon's provider is native code, for Linux on x86-64 and AArch64",
)

# Jars that the build collects for some Sparks only.
delta = sparks({(3, 5), (4, 0), (4, 1), (4, 2)}, "there is no Delta for this Spark")
iceberg = sparks({(3, 5), (4, 0), (4, 1)}, "there is no Iceberg for this Spark")
comet = sparks({(4, 1)}, "there is no Comet for this Spark here")
hudi = sparks({(3, 5)}, "there is no Hudi for this Spark here")
# S3A must be of the same Hadoop as Spark.
s3a = spark((4, 3), "hadoop-aws of the tests is for the newest Spark")
