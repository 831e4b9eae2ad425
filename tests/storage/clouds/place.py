"""Tables in the servers that stand for clouds' stores, and the clients that reach them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.storage.place import Place
from tests.support import java
from tests.support.session import ROOT, without_processes
from tests.support.storage import s3

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.storage.clouds.azure import Azure
    from tests.storage.clouds.google import Google

JARS = ROOT / "target" / "jars" / "clouds"
_LOADED: set[str] = set()


@contextmanager
def reached(spark: SparkSession, store: Google | Azure) -> Iterator[None]:
    """Let the session reach a store within the block. Hadoop would keep the connection to it for the next one."""
    if spark.sparkContext.applicationId not in _LOADED:
        jars = sorted(JARS.glob("*.jar"))
        assert jars, f"{JARS} is empty: run `make target/jars/iceberg/.all` first"
        for jar in jars:
            java.add_to_class_path(spark, jar)
        _LOADED.add(spark.sparkContext.applicationId)
    try:
        with s3.configured(spark, store.settings()):
            yield
    finally:
        without_processes(spark)


@dataclass(frozen=True)
class InCloud(Place):
    """A place in a store of which the URL of everything is known."""

    store: Google | Azure
    root: str

    @property
    def path(self) -> str:
        return f"{self.root}/{self.name}"

    def names(self) -> set[str]:
        """Return the names below it. An object whose name ends with a slash stands for a directory."""
        return {name for name in self._below(f"{self.name}/") if name and not name.endswith("/")}

    def content(self) -> dict[str, bytes]:
        return {name: self.store.objects[f"{self.name}/{name}"].content for name in self.names()}

    def around(self) -> set[str]:
        return {f"{self.name}{name.split('/')[0]}" for name in self._below(self.name)}

    def _below(self, prefix: str) -> set[str]:
        return {key.removeprefix(prefix) for key in list(self.store.objects) if key.startswith(prefix)}
