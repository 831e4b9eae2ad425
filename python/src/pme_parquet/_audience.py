"""The audience of messages: users of the Python API, or of the command `pme-parquet`.

What the audiences call by different names, a message calls by `Words`. The connector's errors have a text for each
audience.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

COMMANDS = {
    f"pme.{name}": f"pme-parquet {name.replace('_', '-')}"
    for name in (
        *("inspect", "snapshots", "doctor", "plan", "verify", "key_usage", "rotate", "encrypt", "decrypt", "rekey"),
        *("migrate_orc", "recover", "report", "seal", "erase"),
    )
}
COMMANDS |= {f"pme.{name}.check": f"pme-parquet {name}-check" for name in ("delta", "hudi", "iceberg")}
COMMANDS |= {"pme.delta.encrypt_table": "pme-parquet delta-encrypt", "pme.delta.rotate": "pme-parquet delta-rotate"}
# One list, so that `use` needs no global statement. Threads of an operation read it as well.
_CURRENT = ["python"]


class Words(str):
    """A phrase of messages: `Words("pme.seal")` is `pme-parquet seal` in a text for users of the command.

    Only a text shows the difference: `f"{words}"` and `str(words)`. Anything else sees the words for Python.
    """

    __slots__ = ("_cli",)
    _cli: str

    def __new__(cls, python: str, cli: str | None = None) -> Self:
        """Words for both audiences; by default, those of the function's command."""
        made = super().__new__(cls, python)
        made._cli = COMMANDS.get(python, "pme-parquet") if cli is None else cli
        return made

    def __str__(self) -> str:
        return self._cli if current() == "cli" else str.__str__(self)

    def __format__(self, form: str) -> str:
        return format(str(self), form)


def current() -> str:
    """The audience: `python` or `cli`."""
    return _CURRENT[0]


@contextmanager
def used(audience: str) -> Iterator[None]:
    """Messages are for this audience meanwhile."""
    before = _CURRENT[0]
    _CURRENT[0] = audience
    try:
        yield
    finally:
        _CURRENT[0] = before


# Where a session that the command starts gets Delta from.
DELTA_PACKAGES = (
    "io.delta:delta-spark_2.12:3.3.2 for Spark 3.5; io.delta:delta-spark_4.0_2.13:4.4.0 for Spark 4.0, and so on to 4.2"
)
