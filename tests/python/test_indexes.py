"""What `pme.seal` and `pme.drop_index` pass to the connector about indexes, and what they refuse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Callable

SPARK: Any = None
# Without the types of its arguments.
ANY: Any = pme


class Sealed:
    """What the connector answers."""

    def __getattr__(self, name: str) -> Callable[[], object]:
        return lambda: name


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the connector, and return the arguments that its methods get."""
    found: list[Any] = []

    def method_of(_: object, name: str, method: str, __: str) -> Callable[..., Sealed]:
        def call(*arguments: object) -> Sealed:
            found.append((f"{name}.{method}", *arguments))
            return Sealed()

        return call

    monkeypatch.setattr("pme_parquet._operations.operation.method_of", method_of)
    monkeypatch.setattr("pme_parquet._operations.operation.watched", lambda _, work, **__: work())
    return found


def asked(*index: Any) -> list[Any]:
    return [json.loads(text) for one in index for text in one.requests()]


def test_each_kind_of_index_becomes_a_request_for_each_column() -> None:
    assert asked(pme.MinMax("id", "a.`b.c`")) == [
        {"kind": "minMax", "column": "id", "parameters": {}},
        {"kind": "minMax", "column": "a.`b.c`", "parameters": {}},
    ]
    assert asked(pme.ValueList("city"), pme.ValueList("city", max=1000)) == [
        {"kind": "valueList", "column": "city", "parameters": {"max": "64"}},
        {"kind": "valueList", "column": "city", "parameters": {"max": "1000"}},
    ]
    assert asked(pme.Bloom("id"), pme.Bloom("id", fpp=1e-5, ndv=2**63 - 1)) == [
        {"kind": "bloom", "column": "id", "parameters": {"fpp": "0.01"}},
        {"kind": "bloom", "column": "id", "parameters": {"fpp": "1e-05", "ndv": "9223372036854775807"}},
    ]
    settings = {"length": 3, "fold": True}
    assert asked(pme.IndexClass("com.example.Prefix$Short", "code", settings=settings)) == [
        {
            "kind": "class",
            "column": "code",
            "parameters": {"class": "com.example.Prefix$Short", "length": "3", "fold": "true"},
        }
    ]


def test_indexes_are_equal_and_shown_by_their_settings() -> None:
    assert pme.Bloom("id", fpp=0.5) == pme.Bloom("id", fpp=0.5) != pme.Bloom("id")
    assert hash(pme.IndexClass("C", "a", settings={"n": 1})) == hash(pme.IndexClass("C", "a", settings={"n": 2}))
    assert repr(pme.Bloom("id")) == "Bloom(columns=('id',), fpp=0.01, ndv=None)"
    assert repr(pme.ValueList("a", "b", max=2)) == "ValueList(columns=('a', 'b'), max=2)"
    assert repr(pme.IndexClass("C", "a")) == "IndexClass(class_name='C', columns=('a',), settings={})"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (pme.MinMax, "pme.MinMax: an index names no column. Give the names of one or more columns."),
        (lambda: pme.ValueList("a", ""), "pme.ValueList: an index names no column."),
        (lambda: ANY.Bloom(5), "pme.Bloom: an index names no column."),
        (lambda: pme.IndexClass("com.example.Prefix"), "pme.IndexClass: an index names no column."),
        (lambda: pme.ValueList("a", max=0), "pme.ValueList: max cannot be 0. Give a whole number from 1 to 1000."),
        (lambda: pme.ValueList("a", max=1001), "pme.ValueList: max cannot be 1001."),
        (lambda: pme.ValueList("a", max=True), "pme.ValueList: max cannot be True."),
        (lambda: ANY.ValueList("a", max="9"), "pme.ValueList: max cannot be a str."),
        (lambda: pme.Bloom("a", fpp=0), "pme.Bloom: fpp cannot be 0. Give a number above 0 and at most 0.5."),
        (lambda: pme.Bloom("a", fpp=0.51), "pme.Bloom: fpp cannot be 0.51."),
        (lambda: pme.Bloom("a", fpp=float("nan")), "pme.Bloom: fpp cannot be nan."),
        (lambda: ANY.Bloom("a", fpp="0.1"), "pme.Bloom: fpp cannot be a str."),
        (lambda: pme.Bloom("a", fpp=True), "pme.Bloom: fpp cannot be a bool."),
        (
            lambda: pme.Bloom("a", ndv=0),
            "pme.Bloom: ndv cannot be 0. Give a whole number from 1 to 9223372036854775807",
        ),
        (lambda: ANY.Bloom("a", ndv=1.5), "pme.Bloom: ndv cannot be 1.5."),
        (
            lambda: pme.IndexClass("com.example.", "a"),
            "pme.IndexClass: a class cannot be 'com.example.'. Give its full name, for example com.example.Prefix, and",
        ),
        (lambda: ANY.IndexClass(str, "a"), "pme.IndexClass: a class cannot be a type."),
        (lambda: ANY.IndexClass("C", "a", settings=5), "pme.IndexClass(settings): options cannot be a int."),
        (
            lambda: pme.IndexClass("C", "a", settings={"class": "D"}),
            "pme.IndexClass: a setting cannot have the name 'class'. Give it another name.",
        ),
    ],
)
def test_unusable_settings_of_an_index_are_refused(make: Callable[[], Any], said: str) -> None:
    with refused("PME_BAD_OPTION", said):
        make()


def test_a_seal_passes_each_index_once(given: list[Any]) -> None:
    pme.seal(SPARK, "people", index=[pme.MinMax("id"), pme.MinMax("id", "day"), pme.Bloom("id")])
    [(method, path, options, requests, _)] = given
    assert (method, path, options) == ("seal.Sealing.seal", "people", {})
    assert [(one["kind"], one["column"]) for one in map(json.loads, requests)] == [
        ("minMax", "id"),
        ("minMax", "day"),
        ("bloom", "id"),
    ]


def test_no_argument_keeps_the_indexes_and_an_empty_list_removes_them(given: list[Any]) -> None:
    pme.seal(SPARK, "people")
    pme.seal(SPARK, "people", index=[])
    assert [arguments[3] for arguments in given] == [None, []]


def test_keys_and_classes_of_indexes_become_options(given: list[Any]) -> None:
    index: list[Any] = [pme.IndexClass("com.example.B", "x"), pme.IndexClass("com.example.A", "x"), pme.MinMax("x")]
    pme.seal(SPARK, "people", index=index, index_keys={"stats": "x", "pii": ["y", "z"]})
    pme.seal(SPARK, "people", index_keys="stats: x")
    assert [arguments[2] for arguments in given] == [
        {"indexKeys": '{"stats": ["x"], "pii": ["y", "z"]}', "indexClasses": "com.example.B,com.example.A"},
        {"indexKeys": "stats: x"},
    ]
    with refused("PME_BAD_OPTION", "option indexkeys has two values"):
        pme.seal(SPARK, "people", index_keys="stats: x", options={"indexkeys": "stats: y"})


@pytest.mark.parametrize("index", [pme.MinMax("id"), ["id"], "id", 5, [pme.MinMax("id"), None]])
def test_what_is_no_list_of_indexes_is_refused(index: Any, given: list[Any]) -> None:
    with refused("PME_BAD_OPTION", "pme.seal: index cannot be", 'for example [pme.MinMax("id")]'):
        pme.seal(SPARK, "people", index=index)
    assert given == []


def test_indexes_are_dropped_by_column_and_kind(given: list[Any]) -> None:
    pme.drop_index(SPARK, "people", "id", "day", kind="bloom")
    pme.drop_index(SPARK, "people", "id")
    assert given == [
        ("seal.Sealing.dropIndexes", "people", {}, ["id", "day"], "bloom"),
        ("seal.Sealing.dropIndexes", "people", {}, ["id"], None),
    ]
    for kind, shown in (("Bloom", "'Bloom'"), ("", "''"), (pme.Bloom, "a type")):
        said = f"pme.drop_index: kind cannot be {shown}. Give one of minMax, valueList, bloom, class."
        with refused("PME_BAD_OPTION", said):
            pme.drop_index(SPARK, "people", "id", kind=kind)  # type: ignore[arg-type]
