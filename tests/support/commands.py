"""Runs the command in this process, with the session that tests share: a process of its own would start a Spark."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pme_parquet as pme


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The output of --json: one line."""
        [line] = self.out.splitlines()
        return json.loads(line)


def run(*arguments: str | Path) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def keystore(keys: pme.Keystore) -> list[str]:
    """Return the options that name a keystore."""
    return ["--kms", "keystore", "-o", f"kms.keystore.path={keys.path}", "-o", f"kms.keystore.password={keys.password}"]
