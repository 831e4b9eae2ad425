"""ORC's own command with the keys of a Hadoop KMS, as outside check of our files, and we as readers of its files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from getpass import getuser
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.orc.tools import Tools
from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import MASTERS, NESTED, PAY, PII, TURNED, VECTORIZED, read, rows, save
from tests.support.expect import refused
from tests.support.kms import hadoop_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._inspect.inspected import InspectedFile
    from tests.support.kms.hadoop_server import HadoopKms
    from tests.support.source import Conf

OWNER, ANALYST, STRANGER = "owner", "analyst", "stranger"
# Of this many rows these make several stripes, each of several row groups.
ROWS = 3_000
SMALL = {
    "orc.stripe.size": "65536",
    "orc.rows.between.memory.checks": "500",
    "orc.row.index.stride": "1000",
    "orc.dictionary.key.threshold": "0",
}
# A Hadoop KMS counts versions from 0 and leaves none out, and all versions of a key have one length.
LATER = bytes((at * 23 + 3) % 256 for at in range(32))
CANARIES = ["ssn-", "żółw"]
BITS = {"AES128": 128, "AES256": 256}


def nullify(value: object) -> None:
    """Return what ORC shows in place of any value."""
    assert value is not None


def hashed(value: str) -> str:
    return sha256(value.encode()).hexdigest().upper()


def redact(value: str | int) -> str | int:
    """Return a day as the first of its year, and a number with 9 for each digit."""
    return f"{value[:4]}-01-01" if isinstance(value, str) else int("9" * len(str(value)))


MASKS: dict[str, Callable[[Any], Any]] = {"nullify": nullify, "sha256": hashed, "redact": redact}


@dataclass(frozen=True)
class Table:
    """How a frame is written: its columns under keys, and their masks, of which `nullify` is the default."""

    frame: str
    codec: str
    columns: dict[str, str]
    masks: dict[str, str] = field(default_factory=dict)
    kms: str = "static"
    more: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, str]:
        keys = json.dumps({key: [name for name, of in self.columns.items() if of == key] for key in [*self.keys()]})
        masks = ";".join(f"{mask}:{name}" for name, mask in self.masks.items())
        return {"columnKeys": keys, "compression": self.codec, **({"orc.mask": masks} if masks else {}), **self.more}

    def keys(self) -> list[str]:
        return list(dict.fromkeys(self.columns.values()))

    def seen_without(self, row: str, *keys: str) -> str:
        """Return a row as somebody sees it who lacks these keys."""
        value = json.loads(row)
        for name, key in self.columns.items():
            if key.partition("@")[0] in keys:
                value = changed(value, name.split("."), MASKS[self.masks.get(name, "nullify")])
        return json.dumps(value)


def changed(value: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """Return a value with another one at a path: entries of maps are objects with `_key` and `_value`."""
    if value is None or not path:
        return None if value is None else change(value)
    if isinstance(value, list):
        return [{**entry, f"_{path[0]}": changed(entry[f"_{path[0]}"], path[1:], change)} for entry in value]
    return {**value, path[0]: changed(value[path[0]], path[1:], change)}


PEOPLE = {"ssn": PII, "salary": PAY, "age": PAY, "born": PII}
MANY = {"ssn": PII, "salary": PAY, "s.b": PII, "m.value.x": f"{TURNED}@1"}
TYPES = {name: key for key, names in orc.alternating(orc.TYPES).items() for name in names}
EACH_MASK = {"ssn": "sha256", "age": "redact", "born": "redact", "salary": "nullify"}
TABLES = [
    Table("types", "zstd", TYPES, {"string": "sha256", "date": "redact"}),
    Table("many", "zlib", MANY),
    Table("people", "none", PEOPLE, EACH_MASK),
    Table("people", "snappy", PEOPLE, EACH_MASK, "hadoop"),
    Table("people", "lz4", {"ssn": TURNED, "salary": PII}, {}, "hadoop", {"dataKeyBits": "256"}),
    Table("people", "lzo", PEOPLE, {}, "hadoop"),
]


@pytest.fixture(scope="module")
def kms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopKms]:
    """Return a Hadoop KMS whose users may use all keys, ``PII`` only, or none."""
    ours = f"{OWNER},{getuser()}"
    users = {PII: f"{ours},{ANALYST}", PAY: ours, TURNED: ours}
    with hadoop_server.running(tmp_path_factory.mktemp("hadoop-kms"), users) as made:
        made.hold(PII, MASTERS[PII, 0])
        made.hold(PAY, MASTERS[PAY, 0])
        made.hold(TURNED, MASTERS[TURNED, 0], LATER)
        yield made


@pytest.fixture(scope="module")
def options(kms: HadoopKms, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return options of the Hadoop KMS, and of a static one with the same master keys."""
    turned = {TURNED: MASTERS[TURNED, 0], f"{TURNED}@1": LATER}
    static = orc.static(tmp_path_factory.mktemp("static"), [PII, PAY], **turned)
    return {"static": static, "hadoop": pme.HadoopKms(kms.uri).options()}


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    people = spark.range(0, 20, 1, 1).selectExpr(
        "id",
        "concat('ssn-', id) AS ssn",
        "date_add(DATE'1950-03-04', CAST(id AS INT)) AS born",
        "id * 1.5D AS salary",
        "CAST(id * 3 AS INT) AS age",
    )
    many = spark.range(0, ROWS, 1, 1).selectExpr(
        "id",
        "concat('ssn-', sha2(CAST(id AS STRING), 256)) AS ssn",
        "id * 1.5D AS salary",
        "named_struct('a', id, 'b', array(id, id + 1)) AS s",
        "map(concat('k', id % 3), named_struct('x', id, 'y', IF(id % 5 = 0, NULL, id))) AS m",
    )
    return {"types": orc.every_type(spark), "people": people, "many": many}


@pytest.fixture(scope="module")
def plain(frames: dict[str, DataFrame], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a file of each frame by Spark's own ``orc``, without encryption."""
    root = tmp_path_factory.mktemp("plain")
    for name, frame in frames.items():
        frame.write.format("orc").options(**SMALL).save(str(root / name))
    return {name: orc.files(root / name)[0] for name in frames}


@pytest.fixture(scope="module")
def files(
    options: dict[str, dict[str, str]], frames: dict[str, DataFrame], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """Return a file of ours for each of ``TABLES``."""
    root = tmp_path_factory.mktemp("ours")
    for table in TABLES:
        save(frames[table.frame], str(root / table.codec), options[table.kms], **table.options(), **SMALL)
    return [orc.files(root / table.codec)[0] for table in TABLES]


def test_orc_tools_print_the_cells_of_each_file_of_ours_to_whoever_has_the_keys(
    kms: HadoopKms, plain: dict[str, Path], files: list[Path]
) -> None:
    [*found], _ = Tools(kms.uri, OWNER).data([*plain.values(), *files])
    expected = dict(zip(plain, found[: len(plain)], strict=True))
    assert [len(lines) for lines in expected.values()] == [10, 20, ROWS]
    assert json.loads(expected["people"][7])["ssn"] == "ssn-7"
    for table, lines in zip(TABLES, found[len(plain) :], strict=True):
        assert lines == expected[table.frame], table


def test_orc_tools_without_a_key_show_masks_and_no_data(
    kms: HadoopKms, plain: dict[str, Path], files: list[Path]
) -> None:
    [*found], said = Tools().data([*plain.values(), *files])
    expected = dict(zip(plain, found[: len(plain)], strict=True))
    masked = [line for lines in found[len(plain) :] for line in lines]
    assert [canary for canary in CANARIES if canary in said.log + "".join(masked)] == []
    [*some], _ = Tools(kms.uri, ANALYST).data(files)
    for lacks, seen in (((PII, PAY, TURNED), found[len(plain) :]), ((PAY, TURNED), some)):
        for table, lines in zip(TABLES, seen, strict=True):
            wanted = [table.seen_without(row, *lacks) for row in expected[table.frame]]
            assert [json.dumps(json.loads(line)) for line in lines] == wanted, (lacks, table)


def test_a_file_that_orc_tools_encrypt_opens_here(
    spark: SparkSession, conf: Conf, kms: HadoopKms, plain: dict[str, Path], files: list[Path], tmp_path: Path
) -> None:
    # `convert` has no options of encryption: it keeps keys and masks of the file that it copies.
    copy = tmp_path / "copies" / "copy.orc"
    Tools(kms.uri, OWNER).run("convert", "--output", copy, files[0])
    orc.assert_no_canaries(copy.parent, CANARIES)
    [ours, theirs] = [pme.inspect(path).files[0] for path in (files[0], copy)]
    assert (ours.created_by, theirs.created_by) == (ours.created_by, "ORC Java 1.9.8")
    assert encryption(theirs) == encryption(ours)
    options = orc.static(tmp_path / "keys", [PII, PAY])
    expected = rows(spark.read.format("orc").load(str(plain["types"])))
    for vectorized in ("true", "false"):
        with conf({VECTORIZED: vectorized, NESTED: vectorized}):
            assert rows(read(spark, str(copy), options)) == expected
    with refused("PME_KEY_DENIED", PAY):
        read(spark, str(copy), orc.static(tmp_path / "keys", [PII])).collect()


@pytest.mark.nightly
def test_orc_tools_say_of_keys_columns_masks_and_statistics_what_inspect_says(
    kms: HadoopKms, plain: dict[str, Path], files: list[Path]
) -> None:
    [*found], said = Tools(kms.uri, STRANGER).meta(files)
    assert [canary for canary in CANARIES if canary in said.out + said.log] == []
    for table, file, theirs in zip(TABLES, files, found, strict=True):
        [ours] = pme.inspect(file).files
        if table.codec == "lzo":
            # Python cannot read its footer, and says so.
            assert [one.condition for one in ours.findings] == ["PME_UNSUPPORTED"]
            continue
        assert ours.orc
        keys = {(f"{key.master_key}@{key.master_key_version}", key.data_key_bits) for key in ours.column_keys}
        assert keys == {(key, BITS[algorithm]) for key, algorithm in said.refused()[str(file)]}
        assert len(keys) == len(table.keys())
        assert encryption(ours) == dict(leaves(theirs["schema"]))
        assert table.frame != "many" or len(theirs["stripes"]) > 1
        assert (ours.rows, ours.row_groups, ours.created_by, ours.orc.compression, ours.orc.version) == (
            theirs["numberOfRows"],
            len(theirs["stripes"]),
            theirs["softwareVersion"],
            theirs["compression"],
            theirs["fileVersion"],
        )
    # Encrypted statistics are those of the data. ORC 1.9.8 reads them in compressed files only.
    shown = [(table.frame, file) for table, file in zip(TABLES, files, strict=True) if table.codec != "none"]
    [*found], _ = Tools(kms.uri, OWNER).meta([*plain.values(), *(file for _, file in shown)])
    expected = {name: statistics(meta) for name, meta in zip(plain, found, strict=False)}
    for (frame, file), meta in zip(shown, found[len(plain) :], strict=True):
        assert statistics(meta) == expected[frame], file


def encryption(file: InspectedFile) -> dict[str, tuple[str, str | None]]:
    """Return key and mask of each encrypted column, as `inspect` shows them."""
    assert file.orc
    return {one.name: (str(one.keys[0].master_key), one.mask) for one in file.orc.encrypted}


def leaves(
    schema: dict[str, Any], name: str = "", key: str | None = None, mask: str = "nullify"
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Return key and mask of each encrypted column, as ORC's tools show them: those of a column are its fields' too."""
    attributes = schema.get("attributes", {})
    key, mask = attributes.get("encrypt", key), attributes.get("mask", mask)
    children = schema.get("children", {})
    if isinstance(children, list):
        children = dict(zip(("key", "value") if len(children) > 1 else ("element",), children, strict=True))
    for child, inner in children.items():
        yield from leaves(inner, f"{name}.{child}".lstrip("."), key, mask)
    if not children and key:
        yield name, (key.partition("@")[0], mask)


def statistics(meta: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statistics of a file, and of its stripes, without the sizes."""
    stripes = [one for stripe in meta["stripeStatistics"] for one in stripe["columnStatistics"]]
    return [
        {name: value for name, value in one.items() if name != "bytesOnDisk"}
        for one in meta["fileStatistics"] + stripes
    ]
