"""What a manifest states, and every way in which one can be damaged."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from pme_parquet._snapshots.fields import MalformedError
from pme_parquet._snapshots.manifest import MAX_BYTES, OtherFormatError, version_of
from pme_parquet._snapshots.version import Index, SnapshotColumn, SnapshotIndexFile
from tests.support.files.handmade import (
    ED25519,
    HMAC,
    INDEX,
    TABLE,
    content,
    digest,
    index,
    index_file,
    indexed,
    manifest,
    part,
    put,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.rows(1)

WHOLE = manifest(content())
CONTENT, SEAL = WHOLE.split(b"\n")[:2]


def why(damaged: bytes) -> str:
    with pytest.raises(MalformedError) as refused:
        version_of(damaged)
    return str(refused.value)


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def test_every_field_is_read() -> None:
    version = version_of(manifest(content(7, "ab" * 32)))
    assert version.digest == digest(manifest(content(7, "ab" * 32)))
    assert (version.version, version.previous, version.table) == (7, "ab" * 32, TABLE)
    assert (version.created, version.creator) == ("2026-11-24T01:02:03Z", "ada")
    assert (version.files, version.rows, version.bytes) == (2, 1000, 123456)
    assert (version.algorithm, version.key) == ("Ed25519", "signer")
    assert (version.location, version.partition_columns) == ("/warehouse/people", ("day",))
    assert (version.policy.footer_key, version.policy.encrypted) == ("footer", True)
    assert version.policy.columns[::2] == (
        SnapshotColumn(("address", "zip"), "pii"),
        SnapshotColumn(("city",), None),
    )
    assert version.indexes == (Index(("id",), "minMax", "index_0", "optional int64 id", "footer", {}),)
    assert version.parts[0].indexes == (SnapshotIndexFile("index_0", INDEX, 7, "cd" * 32),)


@pytest.mark.parametrize(
    ("kind", "parameters", "settings"),
    [
        ("valueList", {"max": "1"}, "max=1"),
        ("valueList", {"max": "1000"}, "max=1000"),
        ("bloom", {"ndv": "9223372036854775807", "fpp": "0.5"}, "fpp=0.5, ndv=9223372036854775807"),
        ("bloom", {"fpp": "1.0E-5"}, "fpp=1.0E-5"),
        ("class", {"class": "com.acme.Prefix", "length": "3", "": ""}, "=, class=com.acme.Prefix, length=3"),
    ],
)
def test_every_kind_of_index_is_read(kind: str, parameters: dict[str, str], settings: str) -> None:
    one, other = index("n", kind=kind, key="stats", parameters=parameters), index("city", field="index_9999", key=None)
    [found, plain] = version_of(manifest(content(**indexed(one, other)))).indexes
    assert (found.kind, found.key, found.parameters, found.settings) == (kind, "stats", parameters, settings)
    assert (plain.name, plain.field, plain.key, plain.settings) == ("city", "index_9999", None, "")


@pytest.mark.parametrize(
    ("kind", "parameters", "reason"),
    [
        ("zonemap", {}, "it has an index of kind 'zonemap', which this format does not have"),
        ("minMax", {"max": "1"}, "an index of kind 'minMax' has a parameter 'max', which this kind does not have"),
        (
            "valueList",
            {"fpp": "0.1"},
            "an index of kind 'valueList' has a parameter 'fpp', which this kind does not have",
        ),
        ("valueList", {"max": "0"}, "the parameter 'max' of an index of kind 'valueList' cannot be '0'"),
        ("valueList", {"max": "1001"}, "the parameter 'max' of an index of kind 'valueList' cannot be '1001'"),
        ("valueList", {"max": "٣"}, "the parameter 'max' of an index of kind 'valueList' cannot be '٣'"),
        ("bloom", {"fpp": "0"}, "the parameter 'fpp' of an index of kind 'bloom' cannot be '0'"),
        ("bloom", {"fpp": "0.51"}, "the parameter 'fpp' of an index of kind 'bloom' cannot be '0.51'"),
        ("bloom", {"fpp": "NaN"}, "the parameter 'fpp' of an index of kind 'bloom' cannot be 'NaN'"),
        ("bloom", {"ndv": "9223372036854775808"}, "of an index of kind 'bloom' cannot be '9223372036854775808'"),
        ("class", {}, "an index of kind 'class' names no class"),
        ("class", {"class": ""}, "the parameter 'class' of an index of kind 'class' cannot be ''"),
    ],
)
def test_a_kind_of_index_that_the_format_does_not_have_is_refused(
    kind: str, parameters: dict[str, str], reason: str
) -> None:
    assert reason in why(manifest(content(**indexed(index("id", kind=kind, parameters=parameters)))))


@pytest.mark.parametrize(
    "seal",
    [
        ED25519,
        HMAC,
        ED25519 | {"algorithm": "SHA256withECDSA", "value": base64.b64encode(bytes(71)).decode()},
    ],
    ids=lambda seal: seal["algorithm"],
)
def test_each_algorithm_of_a_seal_is_read(seal: dict[str, Any]) -> None:
    version = version_of(manifest(content(), seal))
    assert (version.algorithm, version.key) == (seal["algorithm"], seal["key"])


def test_a_table_without_encryption_files_or_indexes() -> None:
    plain = {"footerKey": None, "columns": [{"column": ["n"], "key": None}]}
    version = version_of(
        manifest(content(policy=plain, parts=[], files=0, rows=0, bytes=0, indexes=[index("n", key=None)]))
    )
    assert (version.policy.footer_key, version.policy.encrypted) == (None, False)
    assert (version.parts, version.files) == ((), 0)


@pytest.mark.parametrize("end", [0, 1, len(CONTENT), len(CONTENT) + 1, len(WHOLE) - 1])
def test_a_cut_manifest_is_refused(end: int) -> None:
    assert "exactly two lines" in why(WHOLE[:end])


@pytest.mark.parametrize("more", [b"\n", b"x", b"{}\n"])
def test_bytes_after_the_seal_are_refused(more: bytes) -> None:
    assert "exactly two lines" in why(WHOLE + more)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "its content is not JSON"),
        (b"{", "its content is not JSON"),
        (b"\xff\xfe", "its content is not UTF-8"),
        (b"\xef\xbb\xbf" + CONTENT, "its content is not JSON"),
        (CONTENT.replace(b'"files": 2', b'"files": NaN'), "its content is not JSON"),
        (CONTENT.replace(b'"files": 2', b'"files": ' + b"1" * 5000), "its content is not JSON"),
        (b"[1]", "its content is not that of a snapshot"),
        (b'"text"', "its content is not that of a snapshot"),
        (b"[" * 200_000, "its content is nested too deeply"),
        (b'{"a":' * 200_000, "its content is nested too deeply"),
    ],
)
def test_a_line_that_is_not_json_is_refused(line: bytes, reason: str) -> None:
    assert why(line + b"\n" + SEAL + b"\n") == reason


@pytest.mark.parametrize(
    "doubled",
    [
        CONTENT[:-1] + b', "files": 3}',
        CONTENT.replace(b'"footerKey"', b'"footerKey": null, "footerKey"'),
        CONTENT.replace(b'"kind"', b'"field": "index_1", "kind"'),
        CONTENT.replace(b'"files": 2', b'"files": 2, "f\\u0069les": 2', 1),
    ],
)
def test_a_name_that_occurs_twice_is_refused(doubled: bytes) -> None:
    assert why(doubled + b"\n" + SEAL + b"\n") == "an object of it has the same name twice"
    assert b'"key"' in SEAL
    seal = SEAL.replace(b'"key"', b'"key": "other", "key"')
    assert why(CONTENT + b"\n" + seal + b"\n") == "an object of it has the same name twice"


@pytest.mark.parametrize("name", [name for name in content() if not name.startswith("format")])
def test_a_missing_field_is_refused(name: str) -> None:
    assert why(manifest(without(content(), name))) == f"its content has no field '{name}'"


def test_an_unknown_field_is_refused_at_every_level() -> None:
    assert "a field 'more'" in why(manifest(content(more=1)))
    for name in ("policy", "parts", "indexes"):
        stated = content()
        inner = stated[name] if name == "policy" else stated[name][0]
        inner["more"] = 1
        assert "a field 'more'" in why(manifest(stated)), name
    for inner in (lambda made: made["policy"]["columns"], lambda made: made["parts"][0]["indexes"]):
        stated = content()
        inner(stated)[0]["more"] = 1
        assert "a field 'more'" in why(manifest(stated))
    assert "a field 'more'" in why(manifest(content(), ED25519 | {"more": 1}))


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 0},
        {"version": "1"},
        {"version": True},
        {"version": 1.0},
        {"formatVersion": 0},
        {"formatVersion": True},
        {"formatVersion": "1"},
        {"formatVersion": []},
        {"previous": ""},
        {"previous": "AB" * 32},
        {"previous": 1},
        {"table": "people"},
        {"table": TABLE + "\n"},
        {"location": None},
        {"created": "yesterday"},
        {"created": "2026-11-24T01:02:03+01:00"},
        {"created": "٢026-11-24T01:02:03Z"},
        {"creator": ["ada"]},
        {"creator": "\ud800"},
        {"writer": 1},
        {"partitionColumns": "day"},
        {"partitionColumns": [1]},
        {"files": -1},
        {"files": 2.5},
        {"rows": 2**63},
        {"bytes": None},
        {"policy": []},
        {"policy": {"footerKey": 1, "columns": []}},
        {"policy": {"footerKey": "f", "columns": {}}},
        {"policy": {"footerKey": "f", "columns": [], "encrypted": True}},
        {"policy": {"footerKey": "f", "columns": [{"column": "n", "key": None}]}},
        {"policy": {"footerKey": "f", "columns": [{"column": [], "key": None}]}},
        {"parts": {}},
        {"parts": [1]},
        {"parts": [part(name="../people.parquet")]},
        {"parts": [part(length=0)]},
        {"parts": [part(sha256="")]},
        {"parts": [part(files=0)]},
        {"parts": [part(first="z", last="a")]},
        {"indexes": [[]]},
        {"parts": [part(indexes={})]},
        {"parts": [part(indexes=[index_file(name=f"../{INDEX}")])]},
        {"parts": [part(indexes=[index_file(name=part()["name"])])]},
        {"parts": [part(indexes=[index_file(length=0)])]},
        {"parts": [part(indexes=[index_file(sha256="cd")])]},
        {"parts": [part(indexes=[index_file("path")])]},
        {"indexes": [index("id", field="path")]},
        {"indexes": [index("id", field="index_00000")]},
        {"indexes": [index("id", key=1)]},
        {"indexes": [index("id", parameters=None)]},
        {"indexes": [index("id", parameters=["max"])]},
        {"indexes": [index("id", kind="valueList", parameters={"max": 64})]},
        {"indexes": [index("id", kind="class", parameters={"class": "\ud800"})]},
        {"indexes": [index("id", column=[])]},
    ],
    ids=str,
)
def test_a_value_of_the_wrong_type_or_form_is_refused(changed: dict[str, Any]) -> None:
    assert why(manifest(content(**changed)))


def test_parts_must_list_as_many_files_as_the_table_has() -> None:
    assert why(manifest(content(files=3))) == "its parts do not list 3 files"


def test_each_part_has_one_file_for_each_index() -> None:
    reason = f"its part {part()['name']} does not have one file for each index"
    for files in ([], [index_file("index_1")], [index_file(), index_file("index_1")], [index_file(), index_file()]):
        assert why(manifest(content(parts=[part(indexes=files)]))) == reason
    assert why(manifest(content(indexes=[]))) == reason
    two = [index("id"), index("n")]
    assert why(manifest(content(**indexed(*two)))) == "two of its indexes have the same field"


def test_only_the_first_version_has_no_previous_one() -> None:
    assert "has no previous version" in why(manifest(content(2)))
    assert "has no previous version" in why(manifest(content(1, "ab" * 32)))


def test_paths_are_compared_as_bytes() -> None:
    # As texts of UTF-16, the second would come first.
    version_of(manifest(content(parts=[part(first="\uff61", last="\U0001f600")])))
    assert "comes after the last" in why(manifest(content(parts=[part(first="\U0001f600", last="\uff61")])))


@pytest.mark.parametrize(
    "seal",
    [
        without(ED25519, "key"),
        without(ED25519, "value"),
        without(HMAC, "wrappedKey"),
        ED25519 | {"wrappedKey": "d3JhcHBlZA=="},
        ED25519 | {"algorithm": "none"},
        ED25519 | {"algorithm": None},
        ED25519 | {"key": ""},
        ED25519 | {"value": "?"},
        ED25519 | {"value": ""},
        ED25519 | {"value": base64.b64encode(bytes(63)).decode()},
        HMAC | {"value": base64.b64encode(bytes(33)).decode()},
        HMAC | {"wrappedKey": ""},
        [],
        {},
    ],
    ids=str,
)
def test_a_seal_of_the_wrong_form_is_refused(seal: Any) -> None:
    assert why(CONTENT + b"\n" + json.dumps(seal).encode() + b"\n")


def test_a_bent_byte_never_causes_another_error() -> None:
    for at in range(len(WHOLE)):
        for byte in b'\x00\n"\\{[9\xff':
            bent = WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :]
            try:
                version = version_of(bent)
            except (MalformedError, OtherFormatError):
                continue
            assert version.digest == digest(bent)


def test_a_newer_format_is_not_called_damaged() -> None:
    with pytest.raises(OtherFormatError, match="format 5"):
        version_of(manifest(content(formatVersion=5, news=True)))


def test_version_2_is_of_orc_files_and_says_so() -> None:
    assert version_of(manifest(content())).file_format == "parquet"
    assert version_of(manifest(content(formatVersion=2, fileFormat="orc"))).file_format == "orc"
    version2: dict[str, Any] = {"formatVersion": 2, "fileFormat": "orc"}
    for changed in ({"formatVersion": 2}, version2 | {"fileFormat": "parquet"}, {"fileFormat": "orc"}):
        with pytest.raises(MalformedError, match="fileFormat"):
            version_of(manifest(content(**changed)))
    for changed in ({"writes": {"a": 1}}, version2 | {"writes": {"a": 1}}, version2 | {"formatVersion": 3}):
        assert "writes" in why(manifest(content(**changed)))


def test_a_manifest_of_another_length_than_allowed_is_not_read(tmp_path: Path) -> None:
    put(tmp_path / "_pme_snapshots", 1, b"")
    with (tmp_path / "_pme_snapshots" / "snapshot-0000000001.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    [problem] = pme.snapshots(tmp_path).problems
    assert f"it is {MAX_BYTES + 1} bytes long, and at most {MAX_BYTES} are allowed" in problem


def test_a_manifest_as_long_as_allowed_is_read(tmp_path: Path) -> None:
    stated = manifest(content(creator=""))
    long = manifest(content(creator="x" * (MAX_BYTES - len(stated))))
    assert len(long) == MAX_BYTES
    put(tmp_path / "_pme_snapshots", 1, long)
    found = pme.snapshots(tmp_path)
    assert (len(found), found.problems) == (1, ())
    assert len(str(found)) < 10_000


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_version_3_has_the_last_number_of_each_series_of_writes(file_format: str) -> None:
    writes = {'a "b"': 0, "daily": 2**63 - 1}
    found = version_of(manifest(content(formatVersion=3, fileFormat=file_format, writes=writes)))
    assert (found.file_format, found.writes) == (file_format, writes)


@pytest.mark.parametrize("wrong", [{}, [], None, {"a": -1}, {"a": "1"}, {"a": 1.5}, {"a": True}, {"a": 2**63}], ids=str)
def test_numbers_of_writes_of_another_form_are_refused(wrong: Any) -> None:
    assert "writes" in why(manifest(content(formatVersion=3, fileFormat="orc", writes=wrong)))


def test_version_4_has_keys_by_partition_and_erasures() -> None:
    erasure: dict[str, Any] = {
        "keys": ["a"],
        "erased": "2026-11-30T01:02:03Z",
        "certificate": "/t/c",
        "sha256": "ab" * 32,
    }
    policy: dict[str, Any] = {"byPartition": True, "footerKey": "t-{day}", "columns": []}
    rest = {"fileFormat": "parquet", "writes": {}, "policy": policy, "erasures": [erasure]}
    whole: dict[str, Any] = {"formatVersion": 4, **rest}
    found = version_of(manifest(content(**whole)))
    assert (found.policy.by_partition, found.erasures[0].keys, found.writes) == (True, ("a",), {})
    for name, value in (("keys", []), ("erased", "now"), ("sha256", "AB"), ("certificate", None)):
        other = manifest(content(**whole | {"erasures": [erasure | {name: value}]}))
        assert re.search(f"{name}|names no key", why(other))
    for field, changed in (("policy", policy | {"byPartition": 1}), ("erasures", {}), ("formatVersion", 3)):
        assert why(manifest(content(**whole | {field: changed})))
