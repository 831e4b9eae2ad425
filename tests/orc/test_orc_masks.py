"""What each mask leaves readable, by type: by the rules of ORC's own masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._orc.encryption import Mask
from pme_parquet._orc.masks import EVERYTHING, NULLS, of_mask
from tests.orc.tails import LIST, STRING, STRUCT, footer, framed, key, mask, type_of, variant

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (NULLS, "the number of characters", "the kind of each character: letter, digit, sign")
SPACES = "as they are: spaces"
DIGITS = "the sign and the number of digits"
HASHED = 3
CASES: list[tuple[tuple[str, ...], str, tuple[str, ...]]] = [
    # Characters: uppercase, lowercase, digit, symbol, punctuation, space, other letter, mark, other number, other.
    ((), "string", (*TEXT, SPACES)),
    (("Xx9",), "varchar", (*TEXT, SPACES)),
    (("_x9",), "char", (*TEXT, "as they are: uppercase letters, spaces")),
    (("Xx9$.X",), "string", TEXT),
    (("_" * 10,), "string", (EVERYTHING,)),
    (("Xx9", "", "0:3,-2:-1"), "string", (*TEXT, SPACES, "as they are: characters 0 to 3, -2 to -1")),
    ((), "bigint", (NULLS, DIGITS)),
    (("__0",), "int", (NULLS,)),
    (("__0", "", "0:1"), "int", (NULLS, DIGITS, "as they are: digits 0 to 1")),
    (("Xx_",), "bigint", (EVERYTHING,)),
    ((), "double", (NULLS, "the sign and the order of magnitude")),
    ((), "decimal", (NULLS, "the sign, and the number of digits before and after the point")),
    ((), "boolean", (NULLS,)),
    (("Xx_",), "boolean", (EVERYTHING,)),
    ((), "date", (NULLS, "the year")),
    (("Xx9", "2000"), "date", (NULLS,)),
    (("Xx9", "_ _ _"), "date", (EVERYTHING,)),
    (("Xx9", "2000 _ 1"), "date", (NULLS, "the month")),
    (("Xx9", "2000 _ _"), "date", (NULLS, "the month and day")),
    ((), "timestamp", (NULLS, "the year")),
    (("Xx9", "_ _ _ _ _ _"), "timestamp", (EVERYTHING,)),
    (("Xx9", "_ _ _"), "timestamp with local time zone", (NULLS, "the year, month and day")),
    ((), "binary", ()),
]


PERSON = (
    type_of(STRUCT, [1], "person"),
    type_of(STRUCT, [2, 3], "ssn", "tags"),
    type_of(STRING),
    type_of(LIST, [4]),
    type_of(STRING),
)


def masks_of(directory: Path, *masks: tuple[int, bytes]) -> dict[str, str | None]:
    """Return the masks of the leaves of a struct that is encrypted as a whole."""
    path = directory / "a.orc"
    path.write_bytes(framed(footer(key(), variant(1), *masks, types=PERSON)))
    [file] = pme.inspect(path).files
    assert file.orc, file.findings
    return {one.name: one.mask for one in file.orc.encrypted}


def test_a_mask_of_a_field_replaces_that_of_its_struct_unless_the_struct_is_null(tmp_path: Path) -> None:
    redact, hashes = mask("redact", 1), mask("sha256", 2)
    assert masks_of(tmp_path, redact, hashes) == {"person.ssn": "sha256", "person.tags.element": "redact"}
    assert masks_of(tmp_path, mask("nullify", 1), hashes) == {
        "person.ssn": "nullify",
        "person.tags.element": "nullify",
    }
    assert masks_of(tmp_path) == {"person.ssn": None, "person.tags.element": None}


@pytest.mark.rows(12)
@pytest.mark.parametrize(("parameters", "kind", "left"), CASES)
def test_redact_leaves_what_its_parameters_keep(parameters: tuple[str, ...], kind: str, left: tuple[str, ...]) -> None:
    assert of_mask(Mask("redact", parameters), kind) == left


@pytest.mark.rows(6)
@pytest.mark.parametrize("kind", ["string", "char", "binary", "bigint", "date", "boolean"])
def test_sha256_leaves_hashes_of_texts_and_bytes_only(kind: str) -> None:
    assert len(of_mask(Mask("sha256", ()), kind)) == (HASHED if kind in {"string", "char", "binary"} else 0)


def test_nullify_leaves_nothing_and_other_masks_are_not_guessed() -> None:
    assert of_mask(Mask("nullify", ()), "string") == ()
    assert "not known" in of_mask(Mask("com.example.Mask", ()), "string")[0]
    assert "not known" in of_mask(None, "string")[0]
