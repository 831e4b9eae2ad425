"""Checks before a page is read: algorithm, AAD prefix, signature, encryption at all, and keys."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.attacks.conftest import every_kind
from tests.attacks.probe import (
    AAD_PREFIX,
    ALGORITHM,
    ALL,
    DAMAGED,
    KEY_METADATA,
    KEY_NOT_FOUND,
    NO_KEY,
    NOT_AUTHENTIC,
    OTHER,
    PLAINTEXT,
    SAME,
    UNSUPPORTED,
    Attack,
    attack,
)
from tests.support.files import anatomy, bend, forge, thrift
from tests.support.files.anatomy import PAGES, Anatomy
from tests.support.files.writers import KINDS, our_options, written
from tests.support.files.writers import Kind as FileKind
from tests.support.interop.arrow_files import LocalKms
from tests.support.interop.modes import CTR, GCM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.attacks.conftest import FileOf
    from tests.attacks.probe import Probe
    from tests.support.files.thrift import Struct

ENCRYPTED = [kind for kind in KINDS if not kind.plain_footer]
PLAIN = [kind for kind in KINDS if kind.plain_footer]
encrypted_footers = pytest.mark.parametrize("kind", ENCRYPTED, ids=str)
plain_footers = pytest.mark.parametrize("kind", PLAIN, ids=str)
gcm_files = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.algorithm == GCM], ids=str)


def algorithm_fields(file: Anatomy) -> tuple[int, int]:
    """Return the fields of algorithm and key metadata: of FileCryptoMetaData, or of a readable FileMetaData."""
    readable = (bend.FOOTER_ALGORITHM, bend.FOOTER_SIGNING_KEY_METADATA)
    return readable if file.plain_footer else (bend.ALGORITHM, bend.KEY_METADATA)


def with_crypto(file: Anatomy, crypto: Struct) -> bytes:
    """Return the file with changed fields about its encryption, without sealing or signing it again."""
    rest = file.content[file.footer_at : -bend.TAIL_BYTES][len(thrift.write_struct(file.crypto)) :]
    return bend.with_footer(file.content, thrift.write_struct(crypto) + rest)


def with_algorithm(file: Anatomy, algorithm: int, **aad: bytes | None) -> bytes:
    """Return the file with another algorithm, and other parts of its AAD: ``prefix`` and ``unique``."""
    field, _ = algorithm_fields(file)
    [(_, kind, old)] = thrift.get(file.crypto, field)
    for name, number in (("prefix", bend.AAD_PREFIX), ("unique", bend.AAD_FILE_UNIQUE)):
        if name in aad:
            given = aad[name]
            old = thrift.drop(old, number) if given is None else thrift.put(old, number, thrift.BINARY, given)
    return with_crypto(file, thrift.put(file.crypto, field, thrift.STRUCT, [thrift.Field(algorithm, kind, old)]))


def with_key_metadata(file: Anatomy, metadata: bytes | None) -> bytes:
    _, field = algorithm_fields(file)
    changed = (
        thrift.drop(file.crypto, field) if metadata is None else thrift.put(file.crypto, field, thrift.BINARY, metadata)
    )
    return with_crypto(file, changed)


def key_material(file: Anatomy, **fields: object) -> bytes:
    _, field = algorithm_fields(file)
    material: dict[str, Any] = json.loads(thrift.get(file.crypto, field))
    return json.dumps(material | fields).encode()


def test_rewriting_a_footer_unchanged_gives_the_same_bytes(file_of: FileOf) -> None:
    # This shows that the tests below change nothing else.
    for kind in KINDS:
        file = file_of(kind)
        assert with_crypto(file, file.crypto) == file.content


# ---- algorithm


@gcm_files
def test_a_gcm_file_altered_to_claim_ctr_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    downgraded = attack("downgrade", with_algorithm(file_of(kind), bend.CTR), ALGORITHM)
    assert probe.unexpected([downgraded]) == {}


def without_tags(file: Anatomy) -> bytes:
    """Return the file with the tag of each page moved to its front: CTR then starts counting as GCM did."""
    content = file.content
    for module in file.modules:
        if module.kind in PAGES:
            body = file.bytes_of(module)
            frame = bend.LENGTH_BYTES + bend.NONCE_BYTES
            forged = body[:frame] + body[-bend.TAG_BYTES :] + body[frame : -bend.TAG_BYTES]
            content = forge.put(content, module.offset, forged)
    return content


@gcm_files
def test_pages_forged_for_a_downgrade_are_refused_with_the_algorithm(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    forged = Anatomy(without_tags(file_of(kind)))
    downgraded = attack("downgrade", with_algorithm(forged, bend.CTR), ALGORITHM)
    assert probe.unexpected([downgraded]) == {}


@gcm_files
def test_forged_pages_are_detected_by_their_size_where_ctr_is_accepted(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    # The former tag is sixteen bytes too many for a page, and both algorithms authenticate the page headers. A readable
    # footer is signed, including the algorithm.
    forged = Anatomy(without_tags(file_of(kind)))
    allowed = (NOT_AUTHENTIC,) if kind.plain_footer else (DAMAGED,)
    assert probe.unexpected([attack("downgrade", with_algorithm(forged, bend.CTR), *allowed)], CTR) == {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.algorithm == CTR], ids=str)
def test_a_ctr_file_altered_to_claim_gcm_does_not_open(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    # A page without a tag is too short for the size in its header, if the footer is not signed.
    raised = attack("upgrade", with_algorithm(file_of(kind), bend.GCM), NOT_AUTHENTIC, DAMAGED)
    assert probe.unexpected([raised]) == {}


# ---- AAD prefix


@pytest.fixture(scope="module")
def prefixed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[FileKind, Anatomy]:
    """Return files of ours that keep the prefix ``orders``, by kind."""
    root = tmp_path_factory.mktemp("prefixed")
    kinds = [kind for kind in KINDS if kind.writer == "ours" and kind.algorithm == GCM]
    return {
        kind: Anatomy(written(spark, kind, root / str(kind), options=our_options(kind) | {"aadPrefix": "orders"}))
        for kind in kinds
    }


OURS = pytest.mark.parametrize("plain_footer", [False, True], ids=["encrypted_footer", "plain_footer"])


def boundaries(file: Anatomy) -> Iterator[Attack]:
    """Shift the boundary between prefix and unique part: the authenticated bytes stay the same."""
    for at in range(len(file.aad) + 1):
        if at != len(b"orders"):
            content = with_algorithm(file, bend.GCM, prefix=file.aad[:at], unique=file.aad[at:])
            for option in ({}, {"aadPrefix": "orders"}):
                yield attack(f"at {at} {option}", content, AAD_PREFIX, NOT_AUTHENTIC, options=option)
    content = with_algorithm(file, bend.GCM, prefix=None, unique=file.aad)
    yield attack("no prefix", content, AAD_PREFIX, NOT_AUTHENTIC)


@OURS
def test_a_shifted_boundary_between_prefix_and_file_id_is_refused(
    probe: Probe,
    prefixed: dict[FileKind, Anatomy],
    plain_footer: bool,  # noqa: FBT001 -- a parameter of the test
) -> None:
    file = prefixed[FileKind("ours", GCM, plain_footer)]
    outcomes = probe.unexpected(boundaries(file))
    assert outcomes == {}


@OURS
def test_a_prefix_other_than_the_readers_is_refused(
    probe: Probe,
    prefixed: dict[FileKind, Anatomy],
    plain_footer: bool,  # noqa: FBT001 -- a parameter of the test
) -> None:
    file = prefixed[FileKind("ours", GCM, plain_footer)]
    mine = {"aadPrefix": "orders"}
    attacks = [
        attack("the writer's", file.content, SAME, options=mine),
        attack("the reader's is another", file.content, AAD_PREFIX, options={"aadPrefix": "invoices"}),
        attack("the file's is another", with_algorithm(file, bend.GCM, prefix=b"invoices"), AAD_PREFIX, options=mine),
        attack("the file's is gone", with_algorithm(file, bend.GCM, prefix=None), AAD_PREFIX, options=mine),
        attack("another, not expected", with_algorithm(file, bend.GCM, prefix=b"invoices"), NOT_AUTHENTIC),
    ]
    assert probe.unexpected(attacks) == {}


@encrypted_footers
def test_another_file_id_does_not_open(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    algorithm = bend.CTR if kind.algorithm == CTR else bend.GCM
    changed = with_algorithm(file_of(kind), algorithm, unique=bytes(8))
    assert probe.unexpected([attack("file id", changed, NOT_AUTHENTIC)], kind.algorithm) == {}


@encrypted_footers
@pytest.mark.parametrize("length", [None, 0, 7, 9, 1000])
def test_a_file_id_of_another_length_is_refused(
    probe: Probe, file_of: FileOf, kind: FileKind, length: int | None
) -> None:
    algorithm = bend.CTR if kind.algorithm == CTR else bend.GCM
    unique = None if length is None else bytes(length)
    changed = with_algorithm(file_of(kind), algorithm, unique=unique)
    assert probe.unexpected([attack("file id", changed, AAD_PREFIX)], kind.algorithm) == {}


def test_a_copy_under_another_name_does_not_open_where_the_prefix_names_the_file(
    probe: Probe, spark: SparkSession, tmp_path: Path
) -> None:
    kind = FileKind("ours", GCM, plain_footer=False)
    settings = {"aadPrefix": "{file}", "storeAadPrefix": "false"}
    content = written(spark, kind, tmp_path / "t", options=our_options(kind) | settings)
    [file] = (tmp_path / "t").glob("*.parquet")
    assert probe.read(str(file), aadPrefix="{file}") == list(ALL.expected)
    assert probe.unexpected([attack("copy", content, NOT_AUTHENTIC, options={"aadPrefix": "{file}"})]) == {}


def test_an_older_file_of_the_same_name_is_read_although_the_prefix_names_the_file(
    probe: Probe, spark: SparkSession, tmp_path: Path
) -> None:
    # Not detected, as the threat model says: a rollback passes every check.
    kind = FileKind("ours", GCM, plain_footer=False)
    options = our_options(kind) | {"aadPrefix": "{file}", "storeAadPrefix": "false"}
    written(spark, kind, tmp_path / "t", options=options)
    [file] = (tmp_path / "t").glob("*.parquet")
    shutil.copy(file, tmp_path / "older")
    newer = written(spark, kind, tmp_path / "u", version=2, options=options)
    bend.replace(file, newer)
    bend.replace(file, (tmp_path / "older").read_bytes())
    assert probe.read(str(file), aadPrefix="{file}") == list(ALL.expected)


# ---- signature


def signatures(file: Anatomy) -> Iterator[Attack]:
    content, size = file.content, bend.TAIL_BYTES
    start = len(content) - size - bend.SIGNATURE_BYTES
    for at in range(start, start + bend.SIGNATURE_BYTES):
        yield attack(f"byte {at - start} of the signature", forge.flip(content, at), NOT_AUTHENTIC)
    footer = content[file.footer_at : start]
    yield attack("no signature", bend.with_footer(content, footer), NOT_AUTHENTIC)
    yield attack("half a signature", bend.with_footer(content, footer + content[start : start + 14]), NOT_AUTHENTIC)
    zeros = bytes(bend.SIGNATURE_BYTES)
    yield attack("a signature of zeros", bend.with_footer(content, footer + zeros), NOT_AUTHENTIC)


@plain_footers
def test_an_altered_or_missing_signature_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(signatures(file_of(kind)), kind.algorithm) == {}


@plain_footers
def test_a_flipped_bit_anywhere_in_a_signed_footer_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    file = file_of(kind)
    end = len(file.content) - bend.TAIL_BYTES - bend.SIGNATURE_BYTES
    # A flipped bit can damage Thrift, key material or the algorithm, and be refused before the signature is checked.
    allowed = (NOT_AUTHENTIC, DAMAGED, KEY_METADATA, KEY_NOT_FOUND, ALGORITHM, AAD_PREFIX, PLAINTEXT, NO_KEY)
    places = range(file.footer_at, end, 101)
    attacks = [attack(f"byte {at - file.footer_at}", forge.flip(file.content, at), *allowed) for at in places]
    assert probe.unexpected(attacks, kind.algorithm) == {}


def without_signing(file: Anatomy) -> Struct:
    return thrift.drop(file.footer, bend.FOOTER_ALGORITHM, bend.FOOTER_SIGNING_KEY_METADATA)


def as_plaintext_columns(footer: Struct) -> Struct:
    """Return the footer without every field about encryption in its columns."""

    def plain(group: Struct) -> Struct:
        kind, chunks = thrift.get(group, anatomy.COLUMNS)
        bare = [thrift.drop(one, anatomy.CRYPTO_METADATA, anatomy.ENCRYPTED_METADATA) for one in chunks]
        return thrift.put(group, anatomy.COLUMNS, thrift.LIST, (kind, bare))

    kind, groups = thrift.get(footer, anatomy.ROW_GROUPS)
    return thrift.put(footer, anatomy.ROW_GROUPS, thrift.LIST, (kind, [plain(group) for group in groups]))


@plain_footers
def test_a_footer_stripped_of_its_algorithm_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    file = file_of(kind)
    stripped = bend.with_footer(file.content, thrift.write_struct(without_signing(file)))
    allowing = {"plaintextFiles": "allow"}
    attacks = [
        attack("plaintext refused", stripped, NOT_AUTHENTIC),
        attack("plaintext allowed", stripped, NOT_AUTHENTIC, options=allowing),
    ]
    assert probe.unexpected(attacks, kind.algorithm) == {}


@plain_footers
def test_a_footer_stripped_of_all_encryption_is_a_plaintext_file_and_refused(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    file = file_of(kind)
    stripped = bend.with_footer(file.content, thrift.write_struct(as_plaintext_columns(without_signing(file))))
    assert probe.unexpected([attack("plaintext refused", stripped, PLAINTEXT)], kind.algorithm) == {}


@plain_footers
def test_a_footer_stripped_of_all_encryption_gives_no_rows_where_plaintext_is_allowed(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    file = file_of(kind)
    stripped = bend.with_footer(file.content, thrift.write_struct(as_plaintext_columns(without_signing(file))))
    allowed = attack("plaintext allowed", stripped, DAMAGED, options={"plaintextFiles": "allow"})
    assert probe.unexpected([allowed], kind.algorithm) == {}


def test_a_plaintext_file_is_refused(probe: Probe, spark: SparkSession, tmp_path: Path) -> None:
    kind = FileKind("plaintext", GCM, plain_footer=True)
    content = written(spark, kind, tmp_path / "t")
    attacks = [
        attack("refused", content, PLAINTEXT),
        attack("allowed", content, SAME, options={"plaintextFiles": "allow"}),
        attack("by another magic", content[:-4] + b"PARE", DAMAGED),
    ]
    assert probe.unexpected(attacks) == {}


@encrypted_footers
def test_an_encrypted_footer_under_the_magic_of_a_readable_one_is_refused(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    content = file_of(kind).content[:-4] + b"PAR1"
    assert probe.unexpected([attack("PAR1", content, DAMAGED, PLAINTEXT)], kind.algorithm) == {}


# ---- keys


def wrapped(key: bytes, master: str = "footer") -> str:
    return LocalKms().wrap_key(key, master)


def other_keys(file: Anatomy) -> Iterator[Attack]:
    """Put other keys into the key material: only the master key authenticates it, which the attacker has here."""
    keys: dict[str, tuple[bytes, str]] = {
        "wrong": (b"0123456789abcdef", NOT_AUTHENTIC),
        "wrong, of 256 bits": (b"0123456789abcdef" * 2, NOT_AUTHENTIC),
        "all zero": (bytes(16), NOT_AUTHENTIC),
        "short": (b"01234", KEY_METADATA),
        "of one byte": (b"0", KEY_METADATA),
        "long": (b"0123456789abcdef" * 4, KEY_METADATA),
        "the footer's, cut": (file.footer_key[:15], KEY_METADATA),
    }
    for name, (key, condition) in keys.items():
        material = key_material(file, doubleWrapping=False, wrappedDEK=wrapped(key))
        # parquet-java takes a key of zeros for a wiped one.
        allowed = (condition, DAMAGED) if name == "all zero" else (condition,)
        yield attack(name, with_key_metadata(file, material), *allowed)


@every_kind
def test_a_wrong_short_or_zero_key_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(other_keys(file_of(kind)), kind.algorithm) == {}


def other_keks(file: Anatomy) -> Iterator[Attack]:
    zeros, empty = base64.b64encode(bytes(44)).decode(), ""
    material = {
        "another master key": {"masterKeyID": "other"},
        "a KEK of zeros": {"wrappedKEK": zeros},
        "a DEK of zeros": {"wrappedDEK": zeros},
        "a KEK of another length": {"wrappedKEK": wrapped(b"short")},
        "no KEK": {"wrappedKEK": empty},
        "no DEK": {"wrappedDEK": empty},
        "another KEK id": {"keyEncryptionKeyID": zeros},
    }
    for name, fields in material.items():
        content = with_key_metadata(file, key_material(file, **fields))
        yield attack(name, content, NOT_AUTHENTIC, KEY_METADATA)


@every_kind
def test_altered_key_material_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    assert probe.unexpected(other_keks(file_of(kind)), kind.algorithm) == {}


GARBAGE: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "not text": (b"\xff\xfe\x00\x01" * 8, (KEY_METADATA,)),
    "empty": (b"", (KEY_METADATA,)),
    "half JSON": (b'{"keyMaterialType":"PKMT1",', (KEY_METADATA,)),
    "another kind": (b'{"keyMaterialType":"PKMT9","internalStorage":true}', (KEY_METADATA,)),
    "one key twice": (b'{"keyMaterialType":"PKMT1","keyMaterialType":"PKMT1"}', (KEY_METADATA,)),
    "numbers": (b'{"keyMaterialType":1e999999999}', (KEY_METADATA,)),
    "a long number": (b'{"keyMaterialType":' + b"9" * 60_000 + b"}", (KEY_METADATA,)),
    "deep": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, (KEY_METADATA,)),
    "a deep list": (b'{"a":' + b"[" * 50_000, (KEY_METADATA,)),
    "100 KB": (b'{"keyMaterialType":"' + b"x" * 100_000 + b'"}', (KEY_METADATA,)),
    "2 MB": (b'{"keyMaterialType":"' + b"x" * 2_000_000 + b'"}', (KEY_METADATA, DAMAGED)),
    "kept beside": (
        b'{"keyMaterialType":"PKMT1","internalStorage":false,"keyReference":"../../etc/passwd"}',
        (KEY_METADATA,),
    ),
}


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1]], ids=str)
def test_garbage_for_key_metadata_is_refused(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    file = file_of(kind)
    attacks = [
        attack(name, with_key_metadata(file, metadata), *allowed) for name, (metadata, allowed) in GARBAGE.items()
    ]
    assert probe.unexpected(attacks, kind.algorithm) == {}


@every_kind
def test_a_file_without_key_metadata_needs_a_key_that_the_reader_names(
    probe: Probe, file_of: FileOf, kind: FileKind
) -> None:
    assert probe.unexpected([attack("none", with_key_metadata(file_of(kind), None), NO_KEY)], kind.algorithm) == {}


def test_a_direct_key_is_refused_if_the_kms_does_not_export_keys(probe: Probe, file_of: FileOf) -> None:
    content = with_key_metadata(file_of(KINDS[0]), b"footer")
    direct = attack("direct", content, UNSUPPORTED, options={"keyManagement": "direct"})
    assert probe.unexpected([direct]) == {}


@encrypted_footers
def test_a_column_key_is_not_accepted_as_the_footer_key(probe: Probe, file_of: FileOf, kind: FileKind) -> None:
    content = with_key_metadata(file_of(kind), key_material(file_of(kind), isFooterKey=False))
    assert probe.unexpected([attack("column", content, KEY_METADATA)], kind.algorithm) == {}


def test_a_direct_key_is_refused_if_the_read_does_not_set_direct(probe: Probe, file_of: FileOf, tmp_path: Path) -> None:
    content = with_key_metadata(file_of(KINDS[0]), b"footer")
    (tmp_path / "keys").write_text(f"footer={base64.b64encode(bytes(16)).decode()}\n")
    static = pme.Static(pme.file(tmp_path / "keys")).options()
    assert probe.unexpected([attack("static", content, KEY_METADATA, options=static)]) == {}


def test_a_reader_with_another_key_of_the_same_name_reads_nothing(
    probe: Probe, file_of: FileOf, tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text(
        "".join(f"{name}={base64.b64encode(bytes(16)).decode()}\n" for name in ("footer", "pii", "pay"))
    )
    options = pme.Static(pme.file(tmp_path / "keys")).options()
    attacks = [attack(str(kind), file_of(kind).content, NOT_AUTHENTIC, options=options) for kind in KINDS]
    assert probe.unexpected(attacks, CTR) == {}


def test_the_probe_distinguishes_other_rows_from_the_same_rows(
    probe: Probe, file_of: FileOf, older_file_of: FileOf
) -> None:
    attacks = [
        attack("same", file_of(KINDS[0]).content, SAME),
        attack("other", older_file_of(KINDS[0]).content, OTHER),
    ]
    assert probe.unexpected(attacks) == {}
