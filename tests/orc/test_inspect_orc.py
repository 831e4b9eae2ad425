"""`pme.inspect` on ORC files that ORC's own library made, compared with ORC's reader and PyArrow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import orc

import pme_parquet as pme
from tests.orc import made
from tests.support.files.handmade import encrypted, material

if TYPE_CHECKING:
    from pathlib import Path

    from pme_parquet._inspect.inspected import InspectedFile, OrcFile

FILES = sorted(made.DATA.glob("*.orc"))
UNREADABLE = {"lzo"}
HASH = (
    "which values are null",
    "which values are equal",
    "the SHA-256 hash of each value, without a salt: values can be guessed",
)
DICTIONARY = "the number of different values in each stripe"
NULLS = "which values are null"


def look(name: str) -> tuple[InspectedFile, OrcFile]:
    [file] = pme.inspect(made.DATA / f"{name}.orc").files
    assert file.orc
    return file, file.orc


def test_each_column_shows_its_key_its_mask_and_what_that_leaves_readable() -> None:
    file, found = look("masks")
    shown = {one.name: (one.keys[0].master_key, one.mask, one.readable) for one in found.encrypted}
    lists = "the number of elements of each list or map"
    structs = "which of the structs that it is in are null"
    assert shown == {
        "card": ("pii", "nullify", (DICTIONARY,)),
        "note": ("pii", "sha256", (*HASH, DICTIONARY)),
        "blob": ("pii", "sha256", HASH),
        "born": ("pii", "redact", (NULLS, "the year")),
        "at": ("pii", "redact, Xx9, _ _ 1 _", (NULLS, "the year, month and hour")),
        "pin": ("pay", "redact", (NULLS, "the sign and the number of digits")),
        "amount": ("pay", "nullify", ()),
        "ratio": ("pay", "redact", (NULLS, "the sign and the order of magnitude")),
        "tags.element": ("pii", "sha256", (*HASH, lists, DICTIONARY)),
        "person.ssn": ("pii", "sha256", (*HASH, structs)),
        "m.key": ("pay", "nullify", ()),
        "m.value": ("pay", "nullify", ()),
    }
    assert file.findings == ()
    assert (file.footer, file.algorithm, found.key_provider, found.variants) == (
        "unsigned",
        "AES_CTR_128",
        "hadoop",
        11,
    )
    assert found.metadata == ("made.by",)


def test_the_readable_statistics_are_those_of_the_mask() -> None:
    _, found = look("masks")
    shown = {one.name: set(one.statistics) - {"number of values", "whether any is null"} for one in found.encrypted}
    assert shown["pin"] == {"minimum", "maximum", "sum"}
    assert shown["born"] == {"minimum", "maximum"}
    assert shown["note"] == {"minimum", "maximum", "total length"}
    assert shown["card"] == set()


def test_keys_show_their_versions_and_lengths() -> None:
    [long] = look("aes256")[0].column_keys
    assert (long.management, long.master_key, long.master_key_version, long.data_key_bits) == (
        "derived",
        "long",
        "3",
        256,
    )
    assert look("aes256")[0].algorithm == "AES_CTR_256"
    assert {(key.master_key, key.master_key_version) for key in look("masks")[0].column_keys} == {
        ("pay", "0"),
        ("pii", "2"),
    }


def test_key_material_of_ours_shows_the_master_key_and_its_kms() -> None:
    file, _ = look("ours")
    [key] = file.column_keys
    assert file.findings == ()
    assert (key.management, key.material, key.master_key, key.master_key_version) == (
        "envelope",
        "internal",
        "pii",
        "4",
    )
    assert (key.kms_instance_id, key.kms_instance_url) == ("vault", "https://vault.example")
    assert (key.double_wrapping, key.data_key_bits) == (True, 128)


def test_a_bloom_filter_of_an_encrypted_column_is_named_as_readable() -> None:
    [card, pin] = look("bloom")[1].encrypted
    assert (card.name, card.bloom_filter, pin.bloom_filter) == ("card", "readable", None)
    assert [one for one in card.readable if "Bloom" in one]
    assert not [one for one in pin.readable if "Bloom" in one]


def test_a_compression_that_python_does_not_have_is_named() -> None:
    [finding] = pme.inspect(made.DATA / "lzo.orc").findings
    assert finding.condition == "PME_UNSUPPORTED"
    assert "compressed with LZO" in finding.message


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in UNREADABLE], ids=lambda path: path.stem)
def test_pyarrow_sees_the_same_rows_and_columns(path: Path) -> None:
    theirs = orc.ORCFile(path)
    [ours] = pme.inspect(path).files
    assert ours.orc
    assert (ours.rows, ours.row_groups, ours.orc.compression) == (
        theirs.nrows,
        theirs.nstripes,
        theirs.compression.upper().replace("UNCOMPRESSED", "NONE"),
    )
    top_level = dict.fromkeys(name for name in ours.orc.types if "." not in name)
    assert list(top_level) == theirs.schema.names
    assert ours.orc.version == theirs.file_version


def test_files_of_this_orc_show_what_its_reader_says(tmp_path: Path) -> None:
    files = made.write(tmp_path)
    assert [path.name for path in files] == [path.name for path in FILES]
    for path, theirs in files.items():
        [ours] = pme.inspect(path).files
        if path.stem not in UNREADABLE:
            expect(ours, theirs)


def expect(ours: InspectedFile, theirs: dict[str, Any]) -> None:
    """Compare a file with what ORC's reader says of it."""
    assert ours.orc
    assert ours.columns is not None
    assert (ours.rows, ours.row_groups, ours.created_by) == (theirs["rows"], theirs["stripes"], theirs["software"])
    assert ours.orc.compression == theirs["compression"]
    # ORC's names of containers are those of no column of ours.
    ids = {name: number for number, name in enumerate(theirs["names"])}
    assert {column.path for column in ours.columns} <= {*ids}
    simple = {name: type_ for name, type_ in zip(theirs["names"], theirs["types"], strict=True) if "<" not in type_}
    assert [simple[column.path] for column in ours.columns] == [ours.orc.types[column.name] for column in ours.columns]
    for column in ours.columns:
        own = [key for first, last, key in theirs["variants"] if first <= ids[column.path] <= last]
        assert own == ([column.key.master_key] if column.key else [])
    named = {one.rsplit(" ", 1)[0] for one in theirs["keys"]}
    assert len(named) == len(ours.column_keys)
    masks = {", ".join(filter(None, one.split(", "))) for one in theirs["masks"]}
    assert {one.mask for one in ours.orc.encrypted} == masks
    spelt = {column.name: column.path for column in ours.columns}
    for one in ours.orc.encrypted:
        said = theirs["statistics"][ids[spelt[one.name]]]
        assert ("min:" in said) <= ("minimum" in one.statistics)
        # It does not show the sum of no values.
        assert ("sum:" in said) <= bool({"sum", "total length"} & {*one.statistics})


def test_a_directory_shows_how_files_differ_and_those_that_are_not_encrypted(tmp_path: Path) -> None:
    for name in ("zstd", "snappy", "lz4", "aes256", "plain"):
        shutil.copy(made.DATA / f"{name}.orc", tmp_path)
    (tmp_path / "other.parquet").write_bytes(encrypted(material("k")))
    found = pme.inspect(tmp_path)
    assert [(one.condition, one.file) for one in found.findings] == [("PME_PLAINTEXT_FILE", "plain.orc")]
    assert {
        "1 of 6 files has the format Parquet",
        "1 of 6 files uses key 'long' version 3",
        "1 of 6 files is encrypted with AES_CTR_256",
        "1 of 6 files is plaintext",
    } <= {*found.drift}
    assert [group.files for group in found.groups] == [3, 1, 1, 1]
    json.dumps(found.to_dict())
    assert "authenticates nothing" in str(found)
    assert "authenticates nothing" in found._repr_html_()


def test_files_with_other_masks_differ(tmp_path: Path) -> None:
    for name in ("zstd", "bloom"):
        shutil.copy(made.DATA / f"{name}.orc", tmp_path)
    shutil.copy(made.DATA / "masks.orc", tmp_path)
    drift = pme.inspect(tmp_path).drift
    assert any(one.startswith("1 of 3 files masks column 'pin' with redact") for one in drift)


def test_the_command_shows_an_orc_file_and_exits_with_0() -> None:
    command = [sys.executable, "-c", "from pme_parquet.cli import main; main()", "inspect"]
    done = subprocess.run([*command, str(made.DATA / "masks.orc")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "key 'pii' version 2" in done.stdout
    assert "authenticates nothing" in done.stdout


def test_a_report_has_a_section_about_orc_files(tmp_path: Path) -> None:
    shutil.copytree(made.DATA, tmp_path / "table")
    page = pme.report(tmp_path / "table", tmp_path / "report.html").read_text()
    assert "ORC files" in page
    assert "the year, month and hour" in page
    assert "authenticates nothing" in page
    assert "authenticates nothing" not in report_of_parquet(tmp_path)


def report_of_parquet(directory: Path) -> str:
    (directory / "parquet").mkdir()
    (directory / "parquet" / "a.parquet").write_bytes(encrypted(material("k")))
    return pme.report(directory / "parquet", directory / "other.html").read_text()
