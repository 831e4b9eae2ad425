"""What sealing protects against (docs/snapshots.md, "What sealing protects against"), attacker by attacker.

Each row of the tables is something that someone does to a table, and its cells say what a reader notices of it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - fields of a dataclass
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.snapshots.sealed import MISMATCH, NOT_AUTHENTIC, READERS
from tests.support.canary import data_files
from tests.support.errors import DONE, innermost_condition, outcome
from tests.support.files import bend
from tests.support.sealing import expected
from tests.support.session import PASSWORD_VARIABLE, QUICK, set_secrets
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.rows(4)

BROKEN = "PME_NOT_AUTHENTIC"
DAMAGED = "PME_SNAPSHOT_DAMAGED"
BY_VERIFY = "by verify"
NO = "not detectable"

# Who has which master keys. Readers have both. `mallory` is a signing key that nobody trusts.
HOLDERS = {
    "outsider": (),
    "column": ("pii",),
    "footer": ("footer",),
    "readers": ("footer", "pii"),
}
MASTER_KEYS = ("footer", "pii")


def keytool(*arguments: str, store: Path) -> None:
    """Run keytool on a keystore."""
    secret = ["-storetype", "PKCS12", "-storepass:env", PASSWORD_VARIABLE]
    command = ["keytool", *arguments, "-keystore", str(store), *secret]
    subprocess.run(command, check=True, capture_output=True)


@dataclass(frozen=True)
class Keyring:
    """Keystores: one for the owner, who signs, and one for each attacker."""

    directory: Path

    def of(self, holder: str) -> pme.Keystore:
        return pme.Keystore(str(self.directory / f"{holder}.p12"), password=pme.env(PASSWORD_VARIABLE))

    @property
    def verify_key(self) -> str:
        return f"file:{self.directory / 'signer.pem'}"


@pytest.fixture(scope="module")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    """Return keystores with the same master keys, as far as their holders have them."""
    set_secrets()
    made = Keyring(tmp_path_factory.mktemp("keyring"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
        made.of("readers").create(list(MASTER_KEYS))
        readers, owner = made.directory / "readers.p12", made.directory / "owner.p12"
        shutil.copy(readers, owner)
        pair = ("-genkeypair", "-keyalg", "Ed25519", "-dname", "CN=signer")
        keytool(*pair, "-alias", "signer", store=owner)
        keytool("-exportcert", "-rfc", "-alias", "signer", "-file", str(made.directory / "signer.pem"), store=owner)
        keytool(*pair, "-alias", "mallory", store=readers)
        for holder, held in HOLDERS.items():
            store = made.directory / f"{holder}.p12"
            if store != readers:
                shutil.copy(readers, store)
            for alias in set(MASTER_KEYS) - set(held):
                keytool("-delete", "-alias", alias, store=store)
    return made


@dataclass(frozen=True)
class Attacked:
    """A sealed table in the hands of someone."""

    spark: SparkSession
    keyring: Keyring
    path: Path
    older: Path
    holder: str
    signed: bool

    @property
    def files(self) -> list[Path]:
        return data_files(self.path)

    @property
    def snapshots(self) -> Path:
        return self.path / "_pme_snapshots"

    @property
    def keys(self) -> pme.Keystore:
        return self.keyring.of(self.holder)

    def session(self) -> SparkSession:
        """Return a session that remembers no version."""
        return self.spark.newSession()

    def write(self, first: int) -> Path:
        """Write a file with the attacker's keys to another place; who lacks a key makes one of this name."""
        forged = self.path.with_name("forged")
        own = forged.with_name("own.p12")
        shutil.copy(self.keys.path, own)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
            store = pme.Keystore(str(own), password=pme.env(PASSWORD_VARIABLE))
            if lacking := sorted(set(MASTER_KEYS) - set(HOLDERS[self.holder])):
                store.add(*lacking)
        people(self.spark, first).write.format(FORMAT).options(**POLICY, **store.options()).save(str(forged))
        return data_files(forged)[0]

    def forge(self, **signing: Any) -> bool:
        """Seal the table as the attacker can, and return whether it worked."""
        done = outcome(
            lambda: pme.seal(self.session(), self.path, kms=self.keys, expect=expected(self.path), **signing)
        )
        return done == DONE

    def read(self, *elsewhere: Path, **options: str) -> str:
        """Return the condition that a reader's new session fails with, or else whether verify finds anything."""
        session, readers = self.session(), self.keyring.of("readers")
        needed = ({"verifyKey": self.keyring.verify_key} if self.signed else {}) | options
        at = str([self.path, *elsewhere][-1])
        source = session.read.format(FORMAT).options(**readers.options(), **needed)
        done = outcome(lambda: source.load(at).collect(), innermost_condition)
        if done != DONE:
            return done
        found = pme.verify(session, at, kms=readers, options=needed).collect()
        return BY_VERIFY if found else NO


# Pages without a tag, a checksum and a dictionary: each of their bytes is a value.
CLEAR = {"parquet.enable.dictionary": "false", "parquet.page.write-checksum.enabled": "false"}
CTR = {"algorithm": "AES_GCM_CTR_V1"}
POLICY = {"footerKey": "footer", "columnKeys": "pii: name", "compression": "none"}


def people(spark: SparkSession, first: int) -> Any:
    """Return ten people, written as one file."""
    return spark.range(first, first + 10, 1, 1).selectExpr("id", "concat('name-', id) AS name")


def replaced(old: Path, new: Path) -> None:
    """Put a file in the place of another one."""
    bend.replace(old, new.read_bytes())


def copy(table: Attacked) -> None:
    shutil.copy(table.files[0], table.path / "part-99999-copy.parquet")


def add(table: Attacked) -> None:
    shutil.copy(table.write(100), table.path / "part-99999-new.parquet")


def drop(table: Attacked) -> None:
    table.files[0].unlink()


def swap(table: Attacked) -> None:
    replaced(table.files[0], table.files[1])


def replace(table: Attacked) -> None:
    replaced(table.files[0], table.write(100))


def replace_all(table: Attacked) -> None:
    new = table.write(100)
    for file in table.files[1:]:
        file.unlink()
    replaced(table.files[0], new)


def put_back_a_file(table: Attacked) -> None:
    replaced(table.files[0], table.older / table.files[0].name)


def rename(table: Attacked) -> None:
    table.files[0].rename(table.path / "part-88888.parquet")


def delete_snapshots(table: Attacked) -> None:
    shutil.rmtree(table.snapshots)


def alter_manifest(table: Attacked) -> None:
    manifest = max(table.snapshots.glob("snapshot-*.json"))
    bend.replace(manifest, manifest.read_bytes().replace(b'"rows":20', b'"rows":21'))


def alter_seal(table: Attacked) -> None:
    bend.flip(max(table.snapshots.glob("snapshot-*.json")), -20)


def rename_manifest(table: Attacked) -> None:
    max(table.snapshots.glob("snapshot-*.json")).rename(table.snapshots / "snapshot-0000000009.json")


def parts(table: Attacked) -> list[Path]:
    return sorted(table.snapshots.glob("part-*.parquet"))


def alter_part(table: Attacked) -> None:
    for part in parts(table):
        bend.flip(part, part.stat().st_size // 2)


def delete_part(table: Attacked) -> None:
    for part in parts(table):
        part.unlink()


def log_a_file_elsewhere(table: Attacked) -> None:
    """Make the table look as if a stream had written it: Spark then reads the files that the stream's log names."""
    elsewhere = table.path.with_name("elsewhere")
    elsewhere.mkdir()
    shutil.copy(table.files[0], elsewhere / "part-99999.parquet")
    log = table.path / "_spark_metadata"
    log.mkdir()
    lines = []
    for file in [*table.files, elsewhere / "part-99999.parquet"]:
        state = {"path": file.as_uri(), "size": file.stat().st_size, "isDir": False, "modificationTime": 1}
        lines.append(json.dumps(state | {"blockReplication": 1, "blockSize": 1 << 25, "action": "add"}))
    (log / "0").write_text("\n".join(["v1", *lines]))


def cut_footer(table: Attacked) -> None:
    file = table.files[0]
    bend.replace(file, file.read_bytes()[:-1])


def alter_footer(table: Attacked) -> None:
    bend.flip(table.files[0], -40)


# Whoever can seals the table again afterwards. With the footer's key alone one can make a list of any files,
# but no file whose other columns readers accept.
WITH_HMAC: dict[Any, tuple[str, str, str, str]] = {
    #                 outsider       column         footer         readers
    copy: (MISMATCH, MISMATCH, NO, NO),
    add: (MISMATCH, MISMATCH, BROKEN, NO),
    drop: (MISMATCH, MISMATCH, NO, NO),
    rename: (MISMATCH, MISMATCH, NO, NO),
    swap: (MISMATCH, MISMATCH, NO, NO),
    # The schema comes from the footer of a file, which is under another key.
    replace: (MISMATCH, MISMATCH, BROKEN, NO),
    replace_all: (MISMATCH, MISMATCH, BROKEN, NO),
    put_back_a_file: (MISMATCH, MISMATCH, NO, NO),
    delete_snapshots: (NO, NO, NO, NO),
    # These break existing snapshots. Anyone who can seal takes the list away first.
    alter_manifest: (NOT_AUTHENTIC,) * 4,
    alter_seal: (NOT_AUTHENTIC,) * 4,
    rename_manifest: (NOT_AUTHENTIC,) * 4,
    alter_part: (NOT_AUTHENTIC,) * 4,
    cut_footer: (MISMATCH,) * 4,
    alter_footer: (MISMATCH,) * 4,
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, keyring: Keyring, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Return directories with a table of two versions, sealed with an HMAC and signed, and what they were before."""
    made = {}
    owner = keyring.of("owner")
    for signed in (False, True):
        directory = made[signed] = tmp_path_factory.mktemp("signed" if signed else "hmac")
        table = directory / "table"
        signing = {"signing": "signer"} if signed else {}
        for first in (0, 10):
            writer = people(spark, first).write.format(FORMAT).options(**POLICY, **owner.options())
            writer.mode("append").save(str(table))
        pme.seal(spark.newSession(), table, kms=owner, expect=expected(table), **signing)  # type: ignore[arg-type]
        shutil.copytree(table, directory / "older")
        other = directory / "other"
        people(spark, 20).write.format(FORMAT).options(**POLICY, **owner.options()).save(str(other))
        replaced(data_files(table)[0], data_files(other)[0])
        pme.seal(spark.newSession(), table, kms=owner, expect=expected(table), **signing)  # type: ignore[arg-type]
        shutil.copytree(table, directory / "whole")
    return made


@pytest.fixture
def attacked(
    spark: SparkSession,
    keyring: Keyring,
    tables: dict[bool, Path],
    holder: str,
    signed: bool,  # noqa: FBT001
) -> Iterator[Attacked]:
    """Return the table, which is put back afterwards: a snapshot states its place."""
    directory = tables[signed]
    yield Attacked(spark, keyring, directory / "table", directory / "older", holder, signed)
    for left in directory.iterdir():
        if left.name not in {"older", "whole", "other"}:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.copytree(directory / "whole", directory / "table")


holders = pytest.mark.parametrize("holder", HOLDERS)
with_hmac = pytest.mark.parametrize("signed", [False], ids=["hmac"])
with_signature = pytest.mark.parametrize("signed", [True], ids=["signature"])
both = pytest.mark.parametrize("signed", [False, True], ids=["hmac", "signature"])


@holders
@both
def test_the_owners_table_is_read_and_nothing_is_found(attacked: Attacked) -> None:
    assert attacked.read() == NO
    assert attacked.read(snapshot="require", minSnapshot="2") == NO


@with_hmac
@holders
@pytest.mark.parametrize("action", WITH_HMAC, ids=lambda action: action.__name__)
def test_what_a_reader_notices_of_a_table_with_an_hmac(attacked: Attacked, action: Any) -> None:
    expected = WITH_HMAC[action][list(HOLDERS).index(attacked.holder)]
    action(attacked)
    attacked.forge()
    assert attacked.read() == expected


@with_signature
@holders
@pytest.mark.parametrize("action", [*WITH_HMAC, delete_part], ids=lambda action: action.__name__)
def test_a_reader_with_the_public_key_refuses_every_altered_table(attacked: Attacked, action: Any) -> None:
    action(attacked)
    refused = {MISMATCH, NOT_AUTHENTIC, DAMAGED, BROKEN, "PME_DAMAGED_FILE"}
    assert attacked.read() in refused
    # Whoever has keys forges another list: with an HMAC, and with a key of their own.
    for signing in ({}, {"signing": "mallory"}):
        shutil.rmtree(attacked.snapshots, ignore_errors=True)
        attacked.forge(**signing)
        assert attacked.read() in refused


@with_signature
@pytest.mark.parametrize("holder", ["readers"])
def test_readers_forge_hmacs_and_no_signatures(attacked: Attacked) -> None:
    drop(attacked)
    assert not attacked.forge(), "they cannot verify what the signer has signed, and so cannot add a version"
    assert not attacked.forge(signing="mallory")
    assert not attacked.forge(signing="signer")
    delete_snapshots(attacked)
    assert attacked.read() == MISMATCH
    assert attacked.forge()
    assert attacked.read() == NOT_AUTHENTIC
    delete_snapshots(attacked)
    assert attacked.forge(signing="mallory")
    assert attacked.read() == NOT_AUTHENTIC
    readers = attacked.session().read.format(FORMAT).options(**attacked.keys.options())
    assert outcome(lambda: readers.load(str(attacked.path)).collect()) != DONE, "without verifyKey it is refused, too"


@with_signature
@pytest.mark.parametrize("holder", ["readers"])
def test_without_the_public_key_a_reader_accepts_a_forged_hmac(attacked: Attacked) -> None:
    drop(attacked)
    delete_snapshots(attacked)
    assert attacked.forge()
    readers = attacked.session().read.format(FORMAT).options(**attacked.keys.options())
    assert readers.load(str(attacked.path)).count() == 10


@both
@holders
def test_an_older_table_is_noticed_by_its_version_only(attacked: Attacked) -> None:
    shutil.rmtree(attacked.path)
    shutil.copytree(attacked.older, attacked.path)
    assert attacked.read() == NO
    assert attacked.read(minSnapshot="2") == NOT_AUTHENTIC
    can_seal = attacked.forge()
    assert can_seal == (not attacked.signed and "footer" in HOLDERS[attacked.holder])
    assert attacked.read(minSnapshot="2") == (NO if can_seal else NOT_AUTHENTIC)


@pytest.mark.rows(2)
@both
@pytest.mark.parametrize("holder", ["outsider"])
def test_a_session_that_has_read_a_table_notices_an_older_one(attacked: Attacked) -> None:
    readers, session = attacked.keyring.of("readers"), attacked.session()
    needed = {"verifyKey": attacked.keyring.verify_key} if attacked.signed else {}

    def read() -> int:
        source = session.read.format(FORMAT).options(**readers.options(), **needed)
        return source.load(str(attacked.path)).count()

    assert read() == 20
    shutil.rmtree(attacked.path)
    shutil.copytree(attacked.older, attacked.path)
    assert outcome(read, innermost_condition) == NOT_AUTHENTIC
    delete_snapshots(attacked)
    assert outcome(read, innermost_condition) == (MISMATCH if attacked.signed else NOT_AUTHENTIC)


@both
@holders
def test_a_copy_elsewhere_needs_another_seal(attacked: Attacked) -> None:
    copied = attacked.path.with_name("elsewhere")
    shutil.copytree(attacked.path, copied)
    assert attacked.read(copied) == NOT_AUTHENTIC
    shutil.rmtree(copied / "_pme_snapshots")
    can_seal = outcome(lambda: pme.seal(attacked.session(), copied, kms=attacked.keys, expect="unsealed")) == DONE
    assert can_seal == ("footer" in HOLDERS[attacked.holder])
    if attacked.signed:
        assert attacked.read(copied) == (NOT_AUTHENTIC if can_seal else MISMATCH)
    else:
        assert attacked.read(copied) == NO
        assert attacked.read(copied, snapshot="require") == (NO if can_seal else MISMATCH)


@both
@holders
def test_deleted_snapshots_are_missed_only_by_who_requires_them(attacked: Attacked) -> None:
    delete_snapshots(attacked)
    for required in ({"snapshot": "require"}, {"minSnapshot": "2"}):
        assert attacked.read(**required) == MISMATCH
    assert attacked.read() == (MISMATCH if attacked.signed else NO)


@both
@pytest.mark.parametrize("holder", ["outsider"])
@pytest.mark.parametrize("how", READERS.values(), ids=READERS)
def test_the_log_of_a_stream_adds_no_file_that_lies_elsewhere(attacked: Attacked, how: dict[str, str]) -> None:
    log_a_file_elsewhere(attacked)
    found: list[Row] = []
    needed = ({"verifyKey": attacked.keyring.verify_key} if attacked.signed else {}) | how | {"snapshot": "require"}
    source = attacked.session().read.format(FORMAT).options(**attacked.keyring.of("readers").options(), **needed)
    done = outcome(lambda: found.extend(source.load(str(attacked.path)).collect()), innermost_condition)
    assert done in {DONE, MISMATCH}
    assert len(found) in {0, 20}, "a file that no list has was read"


@both
@holders
def test_an_altered_page_is_refused_by_its_tag(attacked: Attacked) -> None:
    bend.flip_in_module(attacked.files[0], 1)
    assert attacked.read() == BROKEN
    if not attacked.signed:
        attacked.forge()
        assert attacked.read() == BROKEN


@pytest.fixture(scope="module")
def untagged(spark: SparkSession, keyring: Keyring, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Return tables whose pages have no tags."""
    made = {}
    owner = keyring.of("owner")
    for signed in (False, True):
        table = made[signed] = tmp_path_factory.mktemp("ctr") / "table"
        options = POLICY | CTR | CLEAR | owner.options()
        people(spark, 0).write.format(FORMAT).options(**options).save(str(table))
        signing = {"signing": "signer"} if signed else {}
        pme.seal(spark.newSession(), table, kms=owner, options=CTR, expect="unsealed", **signing)  # type: ignore[arg-type]
    return made


@pytest.mark.rows(2)
@pytest.mark.parametrize("signed", [False, True], ids=["hmac", "signature"])
def test_an_altered_page_without_a_tag_is_found_by_verify(
    spark: SparkSession,
    keyring: Keyring,
    untagged: dict[bool, Path],
    signed: bool,  # noqa: FBT001
) -> None:
    path = untagged[signed]
    table = Attacked(spark, keyring, path, path, "readers", signed)
    [file] = table.files
    content = file.read_bytes()
    offset, size = bend.modules(content)[1]
    # Within the values of the first column, which are numbers: each is as good as another.
    bend.flip(file, offset + size - 1)
    assert table.read(**CTR) == BY_VERIFY
    if not signed:
        os.utime(file)
        assert table.forge(options=CTR)
        assert table.read(**CTR) == NO
