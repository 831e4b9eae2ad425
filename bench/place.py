"""The directories of a benchmark's data and results, and how a variant reads its copy of a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.outsiders import COLUMNS
from bench.variants import SETTINGS

if TYPE_CHECKING:
    from bench.job import View
    from bench.variants import Variant

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Place:
    """The directories, and where progress is printed."""

    out: Path
    data: Path
    sources: dict[str, View]

    def settings(self, variant: Variant) -> dict[str, str]:
        """Return the Spark settings of a variant; files that Spark leaves go under ``out``."""
        scratch = self.out / "scratch"
        own = {"spark.local.dir": str(scratch / "local"), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
        return SETTINGS | own | dict(variant.settings)

    def say(self, text: str) -> None:
        """Print progress."""
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def view(self, variant: Variant, table: str, columns: tuple[str, ...] = ()) -> View:
        """Return how a variant reads a table of its copy. Outsiders get columns from us, not SQL."""
        options = dict(variant.read)
        if variant.engine != "spark":
            options[COLUMNS] = ",".join(columns)
        return {"format": variant.format, "options": options, "path": str(self.data / variant.copy / table)}
