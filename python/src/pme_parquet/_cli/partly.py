"""How an operation ends that succeeded for some files and failed for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from pme_parquet._cli import exits
from pme_parquet._cli.colours import write_error
from pme_parquet._cli.looking import print_result

if TYPE_CHECKING:
    from pme_parquet.errors import PmeError


def fail(failed: PmeError, shown: object, document: dict[str, Any], *, as_json: bool) -> NoReturn:
    """Prints the report of all files and the reason of the first failure; exit 3 if the KMS is the reason, else 1."""
    print_result(shown, document | exits.document(failed), as_json=as_json)
    write_error(exits.message_of(failed))
    raise SystemExit(exits.KMS_REFUSED if exits.code(failed) == exits.KMS_REFUSED else exits.FINDING) from None
