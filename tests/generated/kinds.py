"""The Spark types of random tables: values of each, and their SQL."""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

WORDS = ("", "a", "ab", "a_b", "a%b", "axb", "abc", "b", "żółw", "🐢", "Z", "zz", "name-1", "name-12", "\x00", " a ")
EDGES = {8: (-128, 127), 16: (-32768, 32767), 32: (-(2**31), 2**31 - 1), 64: (-(2**63), 2**63 - 1)}
ODD_DOUBLES = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 5e-324, 1.7976931348623157e308)
ODD_FLOATS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 2.0**-149)
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - Spark takes wall-clock times; the tests run in UTC


@dataclass(frozen=True)
class Kind:
    """One atomic type: its name in DDL, how to draw a value, how to write a literal."""

    ddl: str
    draw: Callable[[Random], Any]
    literal: Callable[[Any], str]
    family: str


@dataclass(frozen=True)
class Field:
    """A named column or field: of an atomic kind, or a struct, a list or a map of other fields."""

    name: str
    shape: str
    kind: Kind | None = None
    inner: tuple[Field, ...] = ()

    @property
    def ddl(self) -> str:
        """Return the type in DDL."""
        if self.kind is not None:
            return self.kind.ddl
        if self.shape == "struct":
            return "struct<" + ", ".join(f"{quoted(field.name)}: {field.ddl}" for field in self.inner) + ">"
        return f"{self.shape}<{', '.join(field.ddl for field in self.inner)}>"


def quoted(name: str) -> str:
    """Return a name in SQL, whatever characters it contains."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """Return a string literal."""
    return "'" + "".join(f"\\u{ord(c):04x}" if c < " " else "\\" + c if c in "'\\" else c for c in value) + "'"


def integer(bits: int, name: str) -> Kind:
    low, high = EDGES[bits]

    def draw(rng: Random) -> int:
        wide = (low, high, 0, -1, rng.randint(low, high))
        return rng.choice(wide) if rng.random() < 0.2 else rng.randint(max(low, -100), min(high, 1000))

    return Kind(name, draw, lambda value: f"CAST('{value}' AS {name})", "number")


def floating(name: str, odd: tuple[float, ...], pack: str) -> Kind:
    def draw(rng: Random) -> float:
        if rng.random() < 0.25:
            return rng.choice(odd)
        value = rng.choice((rng.uniform(-10, 10), rng.randint(-20, 20) / 4))
        return float(struct.unpack(pack, struct.pack(pack, value))[0])

    return Kind(name, draw, lambda value: f"CAST('{value!r}' AS {name})", "float")


def decimal(precision: int, scale: int) -> Kind:
    name = f"decimal({precision}, {scale})"

    def draw(rng: Random) -> Decimal:
        digits = precision if rng.random() < 0.2 else min(precision, 4)
        unscaled = rng.randint(-(10**digits) + 1, 10**digits - 1)
        return Decimal(f"{unscaled}E-{scale}")

    return Kind(name, draw, lambda value: f"CAST('{value:f}' AS {name})", "decimal")


def word(rng: Random) -> str:
    choice = rng.random()
    if choice < 0.5:
        return rng.choice(WORDS)
    if choice < 0.95:
        return f"name-{rng.randint(0, 300)}"
    return rng.choice("abż🐢") * rng.randint(50, 400)


def raw(rng: Random) -> bytes:
    return rng.choice((b"", b"\x00", b"\xff\xfe", word(rng).encode(), rng.randbytes(rng.randint(1, 40))))


def day(rng: Random) -> dt.date:
    if rng.random() < 0.1:
        return rng.choice((dt.date(1600, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31)))
    return dt.date(2020, 1, 1) + dt.timedelta(days=rng.randint(-400, 400))


def moment(rng: Random) -> dt.datetime:
    # To the millisecond, because one of the ways to store them keeps no more.
    start = rng.choice((0, 0, 0, -300_000_000, -3_000_000_000, 1_600_000_000))
    return EPOCH + dt.timedelta(seconds=start + rng.randint(0, 5000), milliseconds=rng.randint(0, 999))


KINDS: tuple[Kind, ...] = (
    Kind("boolean", lambda rng: rng.random() < 0.5, lambda value: str(value).lower(), "boolean"),
    integer(8, "tinyint"),
    integer(16, "smallint"),
    integer(32, "int"),
    integer(64, "bigint"),
    floating("float", ODD_FLOATS, "<f"),
    floating("double", ODD_DOUBLES, "<d"),
    decimal(5, 2),
    decimal(9, 0),
    decimal(18, 6),
    decimal(22, 3),
    decimal(38, 18),
    Kind("string", word, text, "text"),
    Kind("binary", raw, lambda value: f"X'{value.hex()}'", "binary"),
    Kind("date", day, lambda value: f"DATE'{value.isoformat()}'", "date"),
    Kind("timestamp", moment, lambda value: f"TIMESTAMP'{value.isoformat(' ')}'", "moment"),
    Kind("timestamp_ntz", moment, lambda value: f"TIMESTAMP_NTZ'{value.isoformat(' ')}'", "moment"),
)
if SPARK_VERSION >= (4, 0):
    # As in Spark's own reader, statistics of such a column must skip nothing, because they are in binary order.
    KINDS += tuple(Kind(f"string collate {name}", word, text, "collated") for name in ("UTF8_LCASE", "UNICODE_CI"))
BY_NAME = {kind.ddl: kind for kind in KINDS}
KEYS = tuple(BY_NAME[name] for name in ("string", "int", "bigint", "date"))


def draw(rng: Random, field: Field, *, nulls: float) -> Any:
    """Return a value of the field's type; within structs, lists and maps some values are null."""
    if field.kind is not None:
        return field.kind.draw(rng)

    def inside(part: Field) -> Any:
        return None if rng.random() < nulls else draw(rng, part, nulls=nulls)

    if field.shape == "struct":
        return tuple(inside(part) for part in field.inner)
    count = rng.choice((0, 1, 1, 2, 3, 7))
    if field.shape == "array":
        return [inside(field.inner[0]) for _ in range(count)]
    return {draw(rng, field.inner[0], nulls=0): inside(field.inner[1]) for _ in range(count)}
