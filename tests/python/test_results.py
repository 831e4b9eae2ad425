"""Results of jobs in other processes: JSON that lacks a field, or has another one, is no result."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.processes import of_json, picked, to_json


@dataclass(frozen=True)
class Inner:
    name: str
    number: int | None


@dataclass(frozen=True)
class Outer:
    listed: list[Inner]
    named: dict[str, Inner]
    pair: tuple[str, int]
    more: tuple[str, ...]
    nothing: Inner | None


WHOLE = Outer([Inner("a", 1)], {"b": Inner("b", None)}, ("c", 2), ("d", "e"), None)


def test_a_result_is_the_same_after_json() -> None:
    assert of_json(Outer, to_json(WHOLE)) == WHOLE


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"name": "a"}', "number"),
        ('{"name": "a", "number": 1, "other": 2}', "other"),
        ('{"name": 1, "number": 1}', "str"),
        ('{"name": "a", "number": "1"}', "int"),
        ("[]", "Inner"),
    ],
)
def test_json_with_other_fields_or_types_is_no_result(text: str, wrong: str) -> None:
    with pytest.raises(AssertionError, match=wrong):
        of_json(Inner, text)


def test_a_tuple_has_its_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        of_json(Outer, to_json(WHOLE).replace('["c", 2]', '["c", 2, 3]'))


def test_attributes_are_picked_from_another_object() -> None:
    assert picked(Inner, WHOLE.named["b"], number=3) == Inner("b", 3)
