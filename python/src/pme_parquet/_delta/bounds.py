"""Encrypted columns whose statistics a readable footer has in plaintext (specification §5.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._inspect.footers import footer_of
from pme_parquet._inspect.names import Names
from pme_parquet._inspect.thrift import MalformedError, Struct, binaries, each, parse, presence, struct
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._storage import Found, Storage

_BOUNDS = {1: presence("max"), 2: presence("min"), 5: presence("max_value"), 6: presence("min_value")}
_CHUNK = {
    3: struct("meta_data", {3: binaries("path_in_schema"), 12: struct("statistics", _BOUNDS)}),
    8: struct("crypto_metadata", {1: struct("ENCRYPTION_WITH_FOOTER_KEY", {}), 2: struct("WITH_COLUMN_KEY", {})}),
}


def bounds_of(storage: Storage, found: Found) -> frozenset[str]:
    """The names of such columns; `*` if the footer cannot be read."""
    chunks: list[Struct] = []
    names = Names()

    def chunk(one: Struct) -> None:
        if one.get("crypto_metadata") and one.get("meta_data", {}).get("statistics"):
            chunks.append(one["meta_data"])

    groups = each("row_groups", {1: each("columns", _CHUNK, chunk)}, lambda _: None)
    try:
        with footer_of(storage, found) as (_, footer):
            parse(footer, {2: names.field, 4: groups})
    except (PmeError, MalformedError):
        return frozenset({"*"})
    return frozenset(names.of(one["path_in_schema"]) for one in chunks if one.get("path_in_schema"))
