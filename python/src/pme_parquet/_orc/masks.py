"""What the masks of ORC leave readable: which facts about the encrypted values anyone can learn from them.

A mask is stored in place of the data, without encryption, with statistics of its own. This follows ORC's
own masks: `nullify` replaces everything by null, `redact` replaces characters, digits and parts of dates, and `sha256`
replaces texts and bytes by their hash, everything else by null.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pme_parquet._orc.encryption import Encryption, Mask, Variant
    from pme_parquet._orc.types import OrcType

NULLS = "which values are null"
EVERYTHING = "all values"
_LENGTHS = "the number of elements of each list or map"
_KEPT = "_"
_TEXTS = {"string", "varchar", "char"}
_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_DIGITS = 2
_SPACES = 5
# In the order of the first parameter; spaces are kept unless it says otherwise.
_CLASSES = (
    *("uppercase letters", "lowercase letters", "digits", "symbols", "punctuation", "spaces"),
    *("other letters", "marks", "other numbers", "other characters"),
)
# In the order of the second parameter; the year is kept unless it says otherwise.
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_PARTS_OF_DATE = 3


def mask_of(column: OrcType, variant: Variant, encryption: Encryption) -> Mask | None:
    """The mask that applies to a column; None if the file does not state it."""
    path = [*column.parents, column.id]
    inside = path[path.index(variant.root.id) :]
    mask = encryption.masks.get(inside[0])
    for one in inside[1:]:
        if mask is None or mask.name == "nullify":
            break  # it covers all that is in the column
        mask = encryption.masks.get(one, mask)
    return mask


def readable(column: OrcType, variant: Variant, encryption: Encryption, columns: Sequence[OrcType]) -> tuple[str, ...]:
    """What anyone can learn about the values of an encrypted column, from its mask and the columns that it is in."""
    mask = mask_of(column, variant, encryption)
    found = [*of_mask(mask, column.kind)]
    # Columns that are not encrypted, or whose own mask keeps their form.
    kept = [columns[one] for one in column.parents[1:] if _keeps_form(columns[one], variant, encryption)]
    if any(one.kind in {"array", "map"} for one in kept):
        found.append(_LENGTHS)
    if any(one.kind in {"struct", "uniontype"} for one in kept):
        found.append("which of the structs that it is in are null")
    return tuple(found)


def _keeps_form(parent: OrcType, variant: Variant, encryption: Encryption) -> bool:
    if not variant.root.holds(parent.id):
        return True
    mask = mask_of(parent, variant, encryption)
    return mask is None or mask.name != "nullify"


def of_mask(mask: Mask | None, kind: str) -> tuple[str, ...]:
    """What a mask leaves readable of values of a type.

    Args:
        mask: None if it is not known.
        kind: the name of the type, without parameters.
    """
    if mask is None:
        return ("not known: the file does not state its mask",)
    if mask.name == "nullify":
        return ()
    if mask.name == "redact":
        return _redact(mask.parameters, kind)
    if mask.name == "sha256":
        return _sha256(kind)
    return (f"not known: the effect of mask '{mask.name}' is the writer's own",)


def _sha256(kind: str) -> tuple[str, ...]:
    if kind not in {*_TEXTS, "binary"}:
        return ()
    return NULLS, "which values are equal", "the SHA-256 hash of each value, without a salt: values can be guessed"


def _redact(parameters: Sequence[str], kind: str) -> tuple[str, ...]:
    characters, times, ranges = (*parameters, "", "", "")[:3]
    if kind in _TEXTS:
        return _redacted_text(characters, ranges)
    if kind == "date":
        return _redacted_time(times, _PARTS[:_PARTS_OF_DATE])
    if kind.startswith("timestamp"):
        return _redacted_time(times, _PARTS)
    if kind in {"boolean", "float", "double", "decimal", *_INTEGERS}:
        return _redacted_number(characters, ranges, kind)
    return ()


def _redacted_text(characters: str, ranges: str) -> tuple[str, ...]:
    kept = [
        name
        for number, name in enumerate(_CLASSES)
        if (characters[number] if number < len(characters) else _KEPT if number == _SPACES else "") == _KEPT
    ]
    if len(kept) == len(_CLASSES):
        return (EVERYTHING,)
    found = [NULLS, "the number of characters", "the kind of each character: letter, digit, sign"]
    return (*found, *([f"as they are: {', '.join(kept)}"] if kept else []), *_ranges(ranges, "characters"))


def _redacted_number(characters: str, ranges: str, kind: str) -> tuple[str, ...]:
    digit = characters[_DIGITS] if len(characters) > _DIGITS else "9"
    if digit == _KEPT:
        return (EVERYTHING,)
    if kind == "boolean":
        return (NULLS,)
    if _is_zero(digit) and not ranges.strip():
        return (NULLS,)
    size = {
        "float": "the sign and the order of magnitude",
        "double": "the sign and the order of magnitude",
        "decimal": "the sign, and the number of digits before and after the point",
    }
    return NULLS, size.get(kind, "the sign and the number of digits"), *_ranges(ranges, "digits")


def _is_zero(digit: str) -> bool:
    return digit.isdecimal() and int(digit) == 0


def _redacted_time(times: str, parts: Sequence[str]) -> tuple[str, ...]:
    given = re.split(r"\W+", times) if times.strip() else []
    kept = [
        part
        for number, part in enumerate(parts)
        if (given[number].startswith(_KEPT) if number < len(given) else part == "year")
    ]
    if len(kept) == len(parts):
        return (EVERYTHING,)
    return (NULLS, f"the {_joined(kept)}") if kept else (NULLS,)


def _ranges(ranges: str, what: str) -> tuple[str, ...]:
    places = [part.strip().replace(":", " to ") for part in ranges.split(",") if part.strip()]
    return (f"as they are: {what} {', '.join(places)}",) if places else ()


def _joined(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
