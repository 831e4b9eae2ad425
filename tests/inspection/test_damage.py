"""Damaged files: each is a finding with the right condition, and what is known of the file stays."""

from __future__ import annotations

import json
import re
import struct
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._inspect import footers, material
from tests.support.files import thrift
from tests.support.files.handmade import beside, column, encrypted, framed, gcm, readable, reference
from tests.support.files.handmade import material as key_material
from tests.support.files.thrift import BINARY, I64, LIST, STRUCT, Field

if TYPE_CHECKING:
    from pathlib import Path

    from pme_parquet._inspect.inspected import InspectedFile


def inspection_of(path: Path, content: bytes) -> tuple[InspectedFile, list[tuple[str, str]]]:
    """Return the inspected file, and the condition and reason of its findings."""
    path.write_bytes(content)
    [file] = pme.inspect(path).files
    found = [(finding.condition, WHY.split(finding.message, 1)[1]) for finding in file.findings]
    assert all(finding.message.startswith(f"[{finding.condition}] {path.name}") for finding in file.findings)
    return file, [(condition, why.split(". ", 1)[0]) for condition, why in found]


def crypto(*fields: Field, module: bytes = struct.pack("<I", 40) + bytes(40)) -> bytes:
    """Return a file whose crypto metadata has these fields."""
    return framed(thrift.write_struct([*fields]) + module, b"PARE")


def plain(*fields: Field) -> bytes:
    """Return a file whose readable footer has these fields."""
    return framed(thrift.write_struct([*fields]), b"PAR1")


# The reason of a message follows this.
WHY = re.compile("(?:is damaged|is not reliable|was not read|cannot be used|cannot be authenticated): ")
ALGORITHM = Field(1, STRUCT, [Field(1, STRUCT, gcm())])
BOTH = Field(1, STRUCT, [Field(1, STRUCT, gcm()), Field(2, STRUCT, gcm())])
UNKNOWN = Field(1, STRUCT, [Field(3, STRUCT, gcm())])
ROWS = Field(3, I64, 1)
WHOLE = encrypted(b"k")
FOOTER = WHOLE[4:-8]
DAMAGED = {
    "empty": (b"", "it is 0 bytes long"),
    "short": (b"PAR1PARE", "it is 8 bytes long"),
    "cut": (WHOLE[:-1], "it does not end in PAR1 or PARE"),
    "no footer": (framed(b"", b"PARE"), "its footer cannot be 0 bytes long in a file of 12 bytes"),
    "longer than the file": (
        b"PARE" + bytes(10) + struct.pack("<I", 11) + b"PARE",
        "its footer cannot be 11 bytes long in a file of 22 bytes",
    ),
    "negative": (
        b"PARE" + struct.pack("<i", -1) + b"PARE",
        "its footer cannot be 4294967295 bytes long in a file of 12 bytes",
    ),
    "no module": (crypto(ALGORITHM, module=b""), "it has no footer module"),
    "short module": (crypto(ALGORITHM, module=struct.pack("<I", 27) + bytes(27)), "it has no footer module"),
    "long module": (
        crypto(ALGORITHM, module=struct.pack("<I", 41) + bytes(40)),
        "the length of its footer module is 41 bytes, but 40 bytes are left",
    ),
    "no algorithm": (crypto(Field(2, BINARY, b"k")), "it names an unknown encryption algorithm"),
    "another algorithm": (crypto(UNKNOWN), "it names an unknown encryption algorithm"),
    "two algorithms": (crypto(BOTH), "it names an unknown encryption algorithm"),
    "another type": (crypto(Field(1, BINARY, b"gcm")), "its encryption_algorithm is of another type"),
    "long list": (framed(b"\x19\xfc\xff\xff\xff\xff\x0f", b"PAR1"), "it is not valid Thrift"),
    "noise": (framed(b"\x3e" * 40, b"PAR1"), "it is not valid Thrift"),
    "ends early": (framed(plain(ROWS)[4:-9], b"PAR1"), "the data ends too early"),
    "twice": (framed(b"\x36\x02\x06\x06\x02\x00", b"PAR1"), "it has num_rows twice"),
    "no rows": (plain(), "its footer has no num_rows"),
    "no row groups": (plain(ROWS), "its footer has no row_groups"),
    "negative rows": (readable([], rows=-1), "its num_rows is -1"),
    "negative size": (readable([column(b"a", size=-5)]), "its total_compressed_size is -5"),
    "no path": (readable([column()]), "a column has no path_in_schema"),
    "long path": (readable([column(*[b"a"] * 1025)]), "its path_in_schema has more than 1024 elements"),
    "list of another type": (plain(ROWS, Field(4, LIST, (BINARY, [b"x"]))), "its row_groups are of another type"),
}


@pytest.mark.parametrize(("content", "why"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(tmp_path: Path, content: bytes, why: str) -> None:
    file, findings = inspection_of(tmp_path / "a", content)
    assert findings == [("PME_DAMAGED_FILE", why)]
    assert file.footer is None


def test_very_deep_nesting_is_damage(tmp_path: Path) -> None:
    deep = b"\x1c" * 100_000
    assert inspection_of(tmp_path / "a", framed(deep, b"PAR1"))[1] == [("PME_DAMAGED_FILE", "it is not valid Thrift")]
    lists = b"\x19" + b"\x19" * 100_000
    assert inspection_of(tmp_path / "b", framed(lists, b"PAR1"))[1] == [("PME_DAMAGED_FILE", "it is not valid Thrift")]


def test_a_footer_too_long_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "MAX_FOOTER_BYTES", len(FOOTER) - 1)
    why = f"it is {len(FOOTER)} bytes long, and reading more than {len(FOOTER) - 1} is too slow in Python"
    assert inspection_of(tmp_path / "a", WHOLE)[1] == [("PME_UNSUPPORTED", why)]


def test_more_columns_than_a_table_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footers, "MAX_COLUMNS", 2)
    content = readable([column(name) for name in (b"a", b"b", b"c")])
    assert inspection_of(tmp_path / "a", content)[1] == [("PME_DAMAGED_FILE", "it has more than 2 columns")]


def test_a_column_under_two_keys(tmp_path: Path) -> None:
    content = readable([column(b"a", key=b"one"), column(b"a", key=b"two")], signed=True)
    why = "its column 'a' has another key in another row group"
    assert inspection_of(tmp_path / "a", content)[1] == [("PME_DAMAGED_FILE", why)]


@pytest.mark.parametrize("unique", [b"", b"\x01" * 7, b"\x01" * 9])
def test_aad_file_unique_of_another_length(tmp_path: Path, unique: bytes) -> None:
    file, findings = inspection_of(tmp_path / "a", encrypted(b"k", algorithm=gcm(unique=unique)))
    assert findings == [("PME_AAD_PREFIX", f"aad_file_unique is {len(unique)} bytes long instead of 8")]
    assert (file.footer, file.algorithm) == ("encrypted", "AES_GCM_V1")
    assert file.footer_key
    assert file.footer_key.master_key == "k"


def test_a_stored_prefix_that_the_file_says_is_not_stored(tmp_path: Path) -> None:
    file, findings = inspection_of(tmp_path / "a", encrypted(b"k", algorithm=gcm(prefix=b"t", supply=True)))
    assert findings == [("PME_AAD_PREFIX", "the file contains a prefix, but states that it does not")]
    assert (file.aad_prefix, file.aad_prefix_value) == ("required", "t")


@pytest.mark.parametrize("column_of", [{"footer_key": True}, {"key": b"pii"}])
def test_a_footer_stripped_of_its_signature(tmp_path: Path, column_of: dict[str, bytes | bool]) -> None:
    file, findings = inspection_of(tmp_path / "a", readable([column(b"a", **column_of)]))  # type: ignore[arg-type]
    assert findings == [("PME_NOT_AUTHENTIC", "it has encrypted columns but no signature")]
    assert file.columns
    assert file.columns[0].encrypted_with
    signed = readable([column(b"a", **column_of)], signed=True)  # type: ignore[arg-type]
    assert inspection_of(tmp_path / "a", signed)[1] == []
    cut = framed(signed[4:-8][:-28] + bytes(27), b"PAR1")
    assert [condition for condition, _ in inspection_of(tmp_path / "a", cut)[1]] == ["PME_NOT_AUTHENTIC"]


METADATA = {
    "no text": (b"\xff\xfe", "it is not text"),
    "empty": (b"", "it is neither key material nor the name of a key"),
    "quote": (b'key"', "it is neither key material nor the name of a key"),
    "control": (b"key\x1b[2J", "it is neither key material nor the name of a key"),
    "long name": (b"k" * 1025, "it is neither key material nor the name of a key"),
    "long": (b"k" * (64 * 1024 + 1), "it is longer than 65536 bytes"),
    "no JSON": (b"{", "it is not JSON"),
    "deep": (b'{"a":' + b"[" * 60_000, "it is not JSON"),
    "long number": (
        b'{"a":' + b"9" * 60_000 + b"}",
        ("it is not JSON", "the value of a field is neither a string nor true or false"),
    ),
    "twice": (b'{"keyMaterialType":"PKMT1","keyMaterialType":"PKMT1"}', "it is not JSON"),
    "a number": (b'{"keyMaterialType":1}', "the value of a field is neither a string nor true or false"),
    "no type": (b"{}", "it has no string field 'keyMaterialType'"),
    "another type": (b'{"keyMaterialType":"PKMT2"}', "the key material is not of type PKMT1"),
    "no place": (b'{"keyMaterialType":"PKMT1"}', "it has no true or false field 'internalStorage'"),
    "no reference": (b'{"keyMaterialType":"PKMT1","internalStorage":false}', "it has no string field 'keyReference'"),
    "no wrapped key": (key_material(wrappedDEK=""), "it has no string field 'wrappedDEK'"),
    "no wrapping": (key_material(doubleWrapping="true"), "it has no true or false field 'doubleWrapping'"),
    "no KEK": (key_material(keyEncryptionKeyID=""), "it has no string field 'keyEncryptionKeyID'"),
    "no base64": (key_material(keyEncryptionKeyID="%"), "the id of the key-encryption key is not base64"),
    "a module's AAD": (
        key_material(keyEncryptionKeyID="AAAAAAAAAAADAAAAAA=="),
        "the id of the key-encryption key is not 16 bytes in base64",
    ),
}


@pytest.mark.parametrize(("metadata", "why"), METADATA.values(), ids=METADATA)
def test_key_metadata_that_the_connector_refuses(tmp_path: Path, metadata: bytes, why: str | tuple[str, str]) -> None:
    file, [(condition, found)] = inspection_of(tmp_path / "a", encrypted(metadata))
    assert condition == "PME_KEY_METADATA"
    assert found in why if isinstance(why, tuple) else found == why
    assert file.footer_key
    assert (file.footer_key.management, file.algorithm) == ("unreadable", "AES_GCM_V1")


def test_key_lengths_are_shown_only_for_locally_wrapped_keys(tmp_path: Path) -> None:
    for wrapped, bits in ((key_material(wrappedDEK="vault:v12:abc"), None), (key_material(wrappedDEK="A" * 64), None)):
        file, findings = inspection_of(tmp_path / "a", encrypted(wrapped))
        assert findings == []
        assert file.footer_key
        assert file.footer_key.data_key_bits is bits
    kek = key_material(wrappedKEK="vault:v12:abc")
    key = inspection_of(tmp_path / "a", encrypted(kek))[0].footer_key
    assert key
    assert (key.data_key_bits, key.kek_bits, key.master_key_version) == (128, None, "12")


def test_missing_key_material_is_one_finding(tmp_path: Path) -> None:
    columns = [column(name, key=reference(f"columnKey{n}")) for n, name in enumerate((b"a", b"b", b"c"))]
    file, findings = inspection_of(tmp_path / "a", readable(columns, signed=True))
    assert findings == [("PME_KEY_METADATA", "_KEY_MATERIAL_FOR_a.json: it is missing")]
    assert {key.management for key in file.column_keys} == {"unreadable"}


BESIDE = {
    "no JSON": ("{", "it is not JSON"),
    "a list": ("[]", "it is not a JSON object"),
    "empty": ("{}", "it is empty"),
    "no text": ('{"footerKey":true}', "the value of its entry 'footerKey' is not a string"),
    "bad entry": ('{"footerKey":"x"}', "it is not JSON"),
    "long entry": (json.dumps({"footerKey": "x" * 65537}), "its entry 'footerKey' is longer than 65536 bytes"),
    "another": (json.dumps({"columnKey0": key_material().decode()}), "it has no entry 'footerKey'"),
}


@pytest.mark.parametrize(("text", "why"), BESIDE.values(), ids=BESIDE)
def test_external_key_material_that_cannot_be_used(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "_KEY_MATERIAL_FOR_a.json").write_text(text)
    file, findings = inspection_of(tmp_path / "a", encrypted(reference("footerKey")))
    assert findings == [("PME_KEY_METADATA", f"_KEY_MATERIAL_FOR_a.json: {why}")]
    assert file.footer_key
    assert file.footer_key.management == "unreadable"


def test_external_key_material_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "MAX_FILE_BYTES", 100)
    beside(tmp_path / "a", footerKey=key_material().decode())
    _, findings = inspection_of(tmp_path / "a", encrypted(reference("footerKey")))
    assert findings == [("PME_KEY_METADATA", "_KEY_MATERIAL_FOR_a.json: it is longer than 100 bytes")]


def test_wrapped_keys_are_not_shown(tmp_path: Path) -> None:
    inspection_of(tmp_path / "a", encrypted(key_material(wrappedDEK="SECRETSECRET", wrappedKEK="HIDDENHIDDEN")))
    report = pme.inspect(tmp_path)
    shown = [
        str(report),
        repr(report),
        report._repr_html_(),
        json.dumps(report.to_dict()),
        report.to_pandas().to_json(),
    ]
    for text in shown:
        assert "footer" in text
        assert "SECRETSECRET" not in text
        assert "HIDDENHIDDEN" not in text
