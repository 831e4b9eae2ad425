"""`pme.seal`: which arguments the connector gets. What it does with them needs a JVM, and is tested elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import pme_parquet as pme
from pme_parquet._operations import sealing
from pme_parquet._operations.operation import Operation
from pme_parquet._spark.driver import _java

DONE = {
    "version": 2,
    "digest": "ab" * 32,
    "location": "/warehouse/people/_pme_snapshots",
    "files": 12,
    "rows": 1000,
    "bytes": 123456,
    "added": 1,
    "removed": 0,
    "replaced": 2,
    "opened": 1,
    "algorithm": "Ed25519",
    "key": "signer",
    "table": "00000000-0000-0000-0000-000000000000",
}
SEALED = pme.Sealed(**DONE)  # type: ignore[arg-type]


class Called(Operation):
    """An operation that calls no JVM, and keeps what it would give to it."""

    given: ClassVar[list[Any]] = []

    def __init__(self, _: object, name: str, target: str, method: str) -> None:
        self._name = name
        self.given[:] = [f"{target}.{method}"]

    def run(self, *arguments: Any, progress: bool | None, interrupted: str) -> Any:
        assert "Run it again" in interrupted
        self.given.extend([*arguments, progress])
        done = DONE | {"versions": 2, "parts": 1}
        return SimpleNamespace(**{name: lambda value=value: value for name, value in done.items()})


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(sealing, "Operation", Called)
    return Called.given


def seal(**given: Any) -> pme.Sealed:
    return pme.seal(None, "people", **given)  # type: ignore[arg-type]


def test_without_arguments_the_session_has_the_keys_and_indexes_stay(called: list[Any]) -> None:
    assert seal() == SEALED
    assert called == ["seal.Sealing.seal", "people", {}, None, None, None]


def test_arguments_become_options(called: list[Any]) -> None:
    seal(
        kms={"kms": "vault"},
        options={"aadPrefix": "people"},
        signing="signer",
        verify_key=pme.file("/keys/signer.pem"),
        index=[pme.MinMax("id")],
        index_keys={"stats": "id"},
        location="/lists/people",
        expect=2,
        progress=False,
    )
    assert called == [
        "seal.Sealing.seal",
        "people",
        {
            "signingKey": "signer",
            "verifyKey": "file:/keys/signer.pem",
            "snapshotLocation": "/lists/people",
            "indexKeys": '{"stats": ["id"]}',
            "kms": "vault",
            "aadPrefix": "people",
        },
        ['{"kind": "minMax", "column": "id", "parameters": {}}'],
        "2",
        False,
    ]


def test_an_option_with_two_values_is_refused(called: list[Any]) -> None:
    with pytest.raises(pme.BadOptionError, match="signingkey has two values"):
        seal(signing="signer", options={"signingkey": "other"})
    seal(signing="signer", options={"signingkey": "signer"})
    assert called[2] == {"signingKey": "signer"}


def test_a_key_written_out_is_refused_and_not_repeated(called: list[Any]) -> None:
    with pytest.raises(pme.SecretInOptionError) as refused:
        seal(verify_key="-----BEGIN PUBLIC KEY-----")
    assert "BEGIN" not in str(refused.value)


@pytest.mark.parametrize("keep", [0, -1, True, 1.5, "1", None])
@pytest.mark.usefixtures("called")
def test_keep_is_a_number_from_1(keep: Any) -> None:
    with pytest.raises(pme.BadOptionError, match="keep cannot be"):
        pme.expire_snapshots(None, "people", keep=keep)  # type: ignore[arg-type]


def test_more_versions_than_java_counts_are_all(called: list[Any]) -> None:
    expired = pme.expire_snapshots(None, "people", keep=10**12, location="lists")  # type: ignore[arg-type]
    assert str(expired) == "deleted 2 versions and 1 part"
    assert called == ["seal.SnapshotVersions.expire", "people", {"snapshotLocation": "lists"}, 2**31 - 1, False]


@pytest.mark.usefixtures("called")
def test_an_index_to_drop_has_a_column() -> None:
    with pytest.raises(pme.BadOptionError, match="it names no column"):
        pme.drop_index(None, "people")  # type: ignore[arg-type]


def test_what_was_sealed_is_shown_in_lines() -> None:
    changes = "1 added, 0 removed, 2 replaced"
    assert str(SEALED).splitlines() == [
        f"version 2: 12 files ({changes}), 1,000 rows, 120.6 KiB; sealed with Ed25519, key 'signer'",
        f"digest {'ab' * 32}",
        "in /warehouse/people/_pme_snapshots",
        "readers require it with minSnapshot=00000000-0000-0000-0000-000000000000:2",
    ]


def test_over_spark_connect_it_is_refused() -> None:
    with pytest.raises(pme.UnsupportedError, match=r"pme\.seal: it is not supported over Spark Connect"):
        pme.seal(SimpleNamespace(), "people")  # type: ignore[arg-type]


def test_lists_become_those_of_java() -> None:
    class ArrayList(list[Any]):
        add = list.append

    jvm = SimpleNamespace(java=SimpleNamespace(util=SimpleNamespace(ArrayList=ArrayList)))
    made = _java(jvm, ["id", "day"])
    assert (type(made), made) == (ArrayList, ["id", "day"])
    assert _java(jvm, None) is None
