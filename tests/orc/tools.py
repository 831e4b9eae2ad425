"""ORC's own command, `orc-tools`, as outside check: its jar brings ORC 1.9.8 and Hadoop, and nothing of Spark's."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.java import java
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JARS = ROOT / "target" / "jars" / "orc-tools"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
FAILED = "Unable to dump data"

_REFUSED = re.compile(r"Can't decrypt using key (\S+) w/ (\S+)")
_FILE = re.compile(r"^Processing data file (.*) \[length: \d+\]$", re.MULTILINE)


@dataclass(frozen=True)
class Said:
    """What a run of the command printed."""

    out: str
    log: str

    def refused(self) -> dict[str, set[tuple[str, str]]]:
        """Return by file each key that it could not use, as name@version, with ORC's name of the algorithm."""
        _, *parts = _FILE.split(self.log)
        return {file: set(_REFUSED.findall(text)) for file, text in zip(parts[::2], parts[1::2], strict=True)}


class Tools:
    """The command as one user of a Hadoop KMS, or as somebody without any.

    Args:
        uri: where the KMS is.
        user: who the KMS takes it for.
    """

    def __init__(self, uri: str | None = None, user: str = "nobody") -> None:
        self._environment = os.environ | {"HADOOP_USER_NAME": user, "TZ": "UTC"}
        settings = {"orc.key.provider": "hadoop", "hadoop.security.key.provider.path": uri} if uri else {}
        self._settings = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]

    def run(self, *arguments: str | Path) -> Said:
        """Run a command of `orc-tools`, and fail unless it succeeds."""
        jars = list(JARS.glob("*.jar"))
        assert jars, f"{JARS} is empty: run `make build` first"
        command = [str(java()), *QUICK, "-jar", str(jars[0]), *self._settings, *map(str, arguments)]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        assert FAILED not in done.stderr, done.stderr[-4000:]
        return Said(done.stdout, done.stderr)

    def data(self, files: Sequence[Path]) -> tuple[list[list[str]], Said]:
        """Return the rows of each file, a line of JSON each, and all that was printed."""
        said = self.run("data", *files)
        # A line of underscores and an empty one end each file.
        *parts, rest = re.split(r"^_{20,}\n\n", said.out, flags=re.MULTILINE)
        assert rest.strip() == "", rest
        assert len(parts) == len(files)
        return [part.splitlines() for part in parts], said

    def meta(self, files: Sequence[Path]) -> tuple[list[Any], Said]:
        """Return what it says of each file, of which there are several, and all that was printed."""
        said = self.run("meta", "--json", *files)
        return json.loads(said.out), said
