"""How an operation ends that was done for some files and failed for others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

from pme_parquet._cli import exits
from pme_parquet._cli.looking import tell

if TYPE_CHECKING:
    from pme_parquet.errors import PmeError


def fail(failed: PmeError, shown: object, document: dict[str, Any], *, as_json: bool) -> NoReturn:
    """Prints the report of all files, and why the first one failed; exit 3 if that was the KMS, else 1."""
    tell(shown, document | exits.document(failed), as_json=as_json)
    sys.stderr.write(f"{exits.told(failed)}\n")
    raise SystemExit(exits.KMS_SAID_NO if exits.code(failed) == exits.KMS_SAID_NO else exits.FINDING) from None
