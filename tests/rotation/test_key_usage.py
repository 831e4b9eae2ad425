"""Which master keys protect what, and what is lost with each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support import tables
from tests.support.expect import save
from tests.support.frames import people
from tests.support.kms import access
from tests.support.kms.transit_server import TransitServer
from tests.support.tables import COLUMNS, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made


def usage(spark: SparkSession, path: str, **given: Any) -> dict[tuple[str | None, str], dict[str, Any]]:
    """Return the rows by master key and kind."""
    found = [row.asDict() for row in pme.key_usage(spark, path, **given).collect()]
    by_key = {(row["master_key"], row["kind"]): row for row in found}
    assert len(by_key) == len(found)
    return by_key


def test_each_master_key_is_listed_with_what_it_protects(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    files, told = len(table.pages), usage(spark, table.path, kms=table.kms)
    assert set(told) == {("footer", "footer"), ("pii", "column"), ("pay", "column")}
    assert {row["files"] for row in told.values()} == {files}
    assert {(row["wrapping"], row["material"]) for row in told.values()} == {("double", "internal")}
    assert {row["rows"] for row in told.values()} == {20}
    footer, pii = told["footer", "footer"], told["pii", "column"]
    assert pii["columns"] == sorted(COLUMNS["pii"]) == pii["unreadable_columns"]
    assert (pii["unreadable_files"], footer["unreadable_files"]) == (0, files)
    assert {"id", "name", "salary"} <= set(footer["unreadable_columns"])
    assert not {"name", "ssn", "salary"} & set(footer["columns"])
    chunks = sum(len(content) for content in table.pages.values())
    assert 0 < sum(row["bytes"] for row in told.values()) < chunks


def test_no_file_needs_the_key_of_a_readable_footer(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made(plaintext_footer=True, unlisted_columns="plaintext")
    told = usage(spark, table.path, kms=table.kms)["footer", "footer"]
    assert (told["unreadable_files"], told["unreadable_columns"]) == (0, [])


def test_an_aad_prefix_that_files_do_not_store_is_an_option(spark: SparkSession, target: str) -> None:
    kms = pme.PythonKms(Remembering())
    tables.write(people(spark), target, kms, aad_prefix="orders", store_aad_prefix=False)
    given = usage(spark, target, kms=kms, options={"aadPrefix": "orders"})
    assert {key for key, _ in given} == {"footer", "pii", "pay"}
    assert {tuple(row["problems"]) for row in given.values()} == {()}
    without = usage(spark, target, kms=kms)
    assert {tuple(row["problems"]) for row in without.values()} == {("PME_AAD_PREFIX",)}


def test_after_a_rotation_the_new_master_keys_are_listed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    pme.rotate(spark, table.path, kms=table.kms, master_keys={"pii": "pii-2"}, key_material="external")
    told = usage(spark, table.path, kms=table.kms)
    assert {key for key, _ in told} == {"footer", "pii-2", "pay"}
    assert {row["material"] for row in told.values()} == {"external"}


def test_what_a_reader_may_not_open_is_listed_as_far_as_possible(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    table = made()
    told = usage(spark, table.path, kms=pme.PythonKms(Remembering(lacks=["pii"])))
    assert (told["pii", "column"]["bytes"], told["pii", "column"]["problems"]) == (None, ["PME_KEY_NOT_FOUND"])
    assert told["pii", "column"]["columns"] == sorted(COLUMNS["pii"])
    told = usage(spark, table.path)
    [(key, row)] = told.items()
    assert key == ("footer", "footer")
    assert (row["unreadable_files"], row["rows"]) == (len(table.pages), None)


def test_plaintext_and_damaged_files_are_listed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    people(spark).coalesce(1).write.parquet(f"{table.path}/more")
    Path(table.path, "broken.parquet").write_bytes(b"no Parquet file at all")
    told = usage(spark, table.path, kms=table.kms)
    assert told[None, "plaintext"]["files"] == 1
    assert told[None, "unknown"]["problems"] == ["PME_DAMAGED_FILE"]


def test_versions_of_vault_s_keys_are_listed(spark: SparkSession, tmp_path: Path, target: str) -> None:
    with TransitServer() as server:
        server.create(*access.KEYS)
        kms = access.by_token(server, tmp_path)
        encryption = access.encryption(kms, plaintext_footer=True)
        save(people(spark).coalesce(1), f"{target}/a=1", encryption.options())
        server.rotate("pii")
        save(people(spark).coalesce(1), f"{target}/a=2", encryption.options())
        rows = pme.key_usage(spark, target, kms=kms).where("master_key = 'pii'").collect()
        assert sorted((row.version, row.files) for row in rows) == [(1, 1), (2, 1)]
        assert tables.found(target, ["vault:v1:", "vault:v2:"]) == ["vault:v1:", "vault:v2:"]
