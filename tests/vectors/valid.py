"""The valid files: each algorithm, footer, form of keys and layout, and what the specification leaves open."""

from __future__ import annotations

import io
import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.files import anatomy, thrift
from tests.vectors import index
from tests.vectors.sealer import I16, LIST, STRUCT, How, Key, Sealed, Sealer, digest, material, reference, text_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.files.thrift import Struct
    from tests.vectors.index import Case, Rows

# The PyArrow that wrote the pages: another one may write other bytes.
PYARROW = "26.0.1"
GCM, CTR = "AES_GCM_V1", "AES_GCM_CTR_V1"
FOOTER = "footer"

NESTED = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("address", pa.struct([("street", pa.string()), ("zip", pa.int32())])),
        pa.field("scores", pa.map_(pa.string(), pa.int64())),
    ]
)
PEOPLE = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
NUMBERS = pa.schema(
    [*(pa.field(name, pa.int32(), nullable=False) for name in "abc"), pa.field("d", pa.string(), nullable=False)]
)
PATHS = {
    "people": ["id", "name"],
    "empty": ["id", "name"],
    "numbers": list("abcd"),
    "nested": [
        "id",
        "tags.list.element",
        "address.street",
        "address.zip",
        "scores.key_value.key",
        "scores.key_value.value",
    ],
}
TABLES: dict[str, Rows] = {
    "people": [{"id": number, "name": None if number == 2 else f"name-{number}"} for number in range(5)],
    "empty": [],
    "numbers": [{"a": 2 * i, "b": 100 + i, "c": 200 + i, "d": f"d{i % 2}"} for i in range(12)],
    "nested": [
        {"id": 0, "tags": ["x", None], "address": {"street": "First", "zip": 1}, "scores": [["k", 1], ["l", None]]},
        {"id": 1, "tags": [], "address": {"street": None, "zip": 2}, "scores": []},
        {"id": 2, "tags": None, "address": None, "scores": None},
    ],
}
SCHEMAS = {"people": PEOPLE, "empty": PEOPLE, "numbers": NUMBERS, "nested": NESTED}
# Two row groups, each with two pages of equal size per column: a module in another's place breaks nothing but its AAD.
PAGED: dict[str, Any] = {"row_group_size": 6, "max_rows_per_page": 3, "write_batch_size": 3, "write_page_index": True}
PAGED |= {"use_dictionary": ["d"]}
# One page, one dictionary, both indexes.
SMALL: dict[str, Any] = {"use_dictionary": ["name"], "write_page_index": True}
BLOOM: dict[str, Any] = {"bloom_filter_options": {"id": {"ndv": 5, "fpp": 0.1}}}
BLOOMS: dict[str, Any] = {"bloom_filter_options": {"a": {"ndv": 6, "fpp": 0.1}}}


class Made(NamedTuple):
    """A case with its file, how that was made, and perhaps the file of key material."""

    case: Case
    sealed: Sealed
    how: How
    material: bytes | None = None


@cache
def plain(table: str, settings: tuple[tuple[str, Any], ...]) -> bytes:
    """Return a table as a plaintext file of PyArrow."""
    chosen = json.loads(dict(settings)["json"])
    out, schema = io.BytesIO(), SCHEMAS[table]
    # PyArrow takes maps as lists of pairs.
    rows: Any = TABLES[table]
    if table == "nested":
        rows = [row | {"scores": row["scores"] and [tuple(pair) for pair in row["scores"]]} for row in rows]
    given = {"compression": "none", "use_dictionary": False, "store_schema": False} | chosen
    size = given.pop("row_group_size", None)
    with pq.ParquetWriter(out, schema, **given) as writer:
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema), size)
    return out.getvalue()


def make(
    name: str,
    comment: str,
    table: str = "people",
    *,
    form: str = "keyId",
    columns: dict[str, int] | None = None,
    bits: int = 128,
    shared: bool = False,
    result: str = index.VALID,
    flags: tuple[str, ...] = (),
    settings: dict[str, Any] | None = None,
    written: bytes | None = None,
    supplied: str | None = None,
    **how: Any,
) -> Made:
    """Return a valid case.

    Args:
        columns: the bits of the keys that columns have of their own
        shared: whether these columns have one key
        settings: of PyArrow's writer
        supplied: the AAD prefix that the reader is given
    """
    columns = columns or {}
    wrapped = form not in {"none", "keyId"}
    ids = {path: "columns" if shared else path.split(".")[0] for path in columns}
    data = {FOOTER: text_key(FOOTER, bits)} | {ids[path]: text_key(ids[path], size) for path, size in columns.items()}
    masters = {key: text_key(f"master {key}", 128) for key in data}
    entries: dict[str, str] = {}

    def key(key_id: str, number: int) -> Key:
        if form == "none":
            return Key(data[key_id])
        if not wrapped:
            return Key(data[key_id], key_id.encode())
        stated = json.dumps(material(data[key_id], key_id, masters, form, footer=key_id == FOOTER))
        if "external" not in form:
            return Key(data[key_id], stated.encode())
        entry = "footerKey" if key_id == FOOTER else f"columnKey{number}"
        entries[entry] = stated
        return Key(data[key_id], reference(entry))

    own = {path: key(ids[path], number) for number, path in enumerate(columns)}
    made = How(name, key(FOOTER, 0), own, **how)
    content = written or plain(table, (("json", json.dumps(settings or {})),))
    sealed = Sealer(content, made).file()
    case = index.Case(
        id=name,
        comment=comment,
        result=result,
        algorithm=CTR if made.ctr else GCM,
        footer="plaintext" if made.signed else "encrypted",
        keyMetadata=form,
        keys={key_id: value.hex() for key_id, value in (masters if wrapped else data).items()},
        footerKey=data[FOOTER].hex(),
        columnKeys={path: data[ids[path]].hex() for path in columns},
        plaintextColumns=list(made.plaintext),
        aadPrefix=supplied,
        rows=table,
        flags=list(flags),
        features=sorted(features(made, table, bits, columns, settings or {}, form)),
    )
    return Made(case, sealed, made, json.dumps(entries).encode() if entries else None)


def features(how: How, table: str, bits: int, columns: dict[str, int], settings: dict[str, Any], form: str) -> set[str]:
    """Return what a reader must support to open a file."""
    wanted = {
        "AES_GCM_CTR_V1": how.ctr,
        "AES_GCM_V1": not how.ctr,
        "BloomFilter": "bloom_filter_options" in settings,
        "ColumnKeys": columns,
        "Compression": "compression" in settings,
        "Dictionary": settings.get("use_dictionary"),
        "EncryptedFooter": not how.signed,
        "ExternalKeyMaterial": "external" in form,
        "KeyId": form == "keyId",
        "ManyPages": "max_rows_per_page" in settings,
        "NestedColumns": table == "nested",
        "NoKeyMetadata": form == "none",
        "PageIndex": "write_page_index" in settings,
        "PlaintextColumns": how.plaintext,
        "PlaintextFooter": how.signed,
        "StoredAadPrefix": how.prefix and how.stored,
        "SuppliedAadPrefix": how.prefix and not how.stored,
        "V2Pages": "data_page_version" in settings,
        "WrappedKeys": form not in {"none", "keyId"},
    }
    return {name for name, has in wanted.items() if has} | {f"Key{size}" for size in {bits, *columns.values()}}


ALL = {"id": 128, "name": 128}


def grid() -> Iterator[Made]:
    """Yield each algorithm with each footer, under one key and under keys of columns."""
    for ctr in (False, True):
        for signed in (False, True):
            kind = f"{'ctr' if ctr else 'gcm'}-{'plaintext' if signed else 'encrypted'}-footer"
            words = f"{CTR if ctr else GCM}, {'plaintext footer with signature' if signed else 'encrypted footer'}"
            yield make(f"{kind}-uniform", f"{words}, one key", ctr=ctr, signed=signed)
            yield make(
                f"{kind}-columns", f"{words}, a key for each column", columns=ALL, form="single", ctr=ctr, signed=signed
            )
            layout: Any = {"settings": SMALL}
            yield make(f"{kind}-indexes", f"{words}, one key, dictionary, page index", ctr=ctr, signed=signed, **layout)
            some: Any = {"columns": {"name": 128}, "form": "single", "plaintext": ("id",)}
            yield make(f"{kind}-partial", f"{words}, one column in plaintext", ctr=ctr, signed=signed, **some)
            layout = {"settings": PAGED | BLOOMS, "columns": {"c": 128}, "form": "single"}
            words += ", two row groups, two pages, dictionary, page index, Bloom filter"
            yield make(f"{kind}-pages", words, "numbers", ctr=ctr, signed=signed, **layout)


def keys() -> Iterator[Made]:
    """Yield each form of key metadata and each length of keys."""
    for form in ("none", "single", "double", "externalSingle", "externalDouble"):
        yield make(f"keys-{form}-uniform", f"key metadata: {form}; one key", form=form)
        if form != "single":
            yield make(f"keys-{form}-columns", f"key metadata: {form}; keys of columns", form=form, columns=ALL)
    yield make("keys-keyId-columns", "key metadata: names of keys; keys of columns", columns=ALL)
    for bits in (192, 256):
        yield make(f"keys-{bits}-uniform", f"a key of {bits} bits", bits=bits)
        yield make(f"keys-{bits}-ctr", f"a key of {bits} bits, {CTR}", bits=bits, ctr=True)
    yield make(
        "keys-mixed-lengths",
        "footer 128 bits, columns 192 and 256",
        columns={"id": 192, "name": 256},
        form="single",
    )


def prefixes() -> Iterator[Made]:
    """Yield files with an AAD prefix."""
    for signed in (False, True):
        kind = "plaintext" if signed else "encrypted"
        how: Any = {"signed": signed, "prefix": b"table/1"}
        yield make(f"prefix-stored-{kind}-footer", "an AAD prefix that the file stores", **how)
        yield make(
            f"prefix-supplied-{kind}-footer",
            "an AAD prefix that the reader has to know",
            **how,
            stored=False,
            supplied="table/1",
        )
    how = {"prefix": b"table/1"}
    yield make(
        "prefix-stored-and-expected",
        "the reader expects the AAD prefix that the file stores",
        **how,
        supplied="table/1",
    )
    yield make(
        "prefix-supplied-ctr", f"a supplied AAD prefix, {CTR}", **how, ctr=True, stored=False, supplied="table/1"
    )
    yield make(
        "prefix-supplied-columns",
        "a supplied AAD prefix, keys of columns",
        **how,
        columns=ALL,
        stored=False,
        supplied="table/1",
    )
    yield make("unique-16-bytes", "aad_file_unique has 16 bytes, not 8", unique=digest("unique", 16))


def layouts() -> Iterator[Made]:
    """Yield what the pages and columns of files are like."""
    for codec in ("snappy", "zstd", "gzip"):
        yield make(
            f"codec-{codec}",
            f"pages compressed with {codec}, then encrypted",
            settings={"compression": codec},
        )
    yield make(
        "dictionary",
        "one row group, one page and a dictionary for each column",
        settings={"use_dictionary": True},
    )
    yield make("bloom-filter", "a Bloom filter of one column", settings=BLOOM)
    yield make("nested-uniform", "a list, a struct and a map, one key", "nested")
    nested = dict.fromkeys(PATHS["nested"], 128)
    yield make("nested-columns", "keys of single leaf columns", "nested", columns=nested, form="none")
    yield make(
        "nested-columns-wrapped",
        "one leaf of a struct with a key of its own",
        "nested",
        columns={"address.street": 128},
        form="single",
    )
    yield make("empty-encrypted-footer", "no row group", "empty")
    yield make("empty-plaintext-footer", "no row group", "empty", signed=True)
    v2: dict[str, Any] = {"settings": PAGED | {"data_page_version": "2.0"}}
    yield make("v2-pages", "V2 data pages of required columns, which have no levels", "numbers", **v2)
    opened: Any = {
        "result": index.ACCEPTABLE,
        "flags": ("LevelsOfV2",),
        "settings": {"data_page_version": "2.0"},
    }
    yield make("v2-levels-encrypted", "V2 data pages, levels inside of the ciphertext", **opened)
    yield make("v2-levels-clear", "V2 data pages, levels before the ciphertext", **opened, clear_levels=True)
    shared: Any = {
        "columns": {"a": 128, "b": 128},
        "form": "single",
        "shared": True,
        "plaintext": ("c",),
        "settings": PAGED,
    }
    yield make("shared-column-key", "two columns with one key, and one in plaintext", "numbers", **shared)
    yield make(
        "no-column-encrypted",
        "every column in plaintext below an encrypted footer",
        plaintext=("id", "name"),
    )
    for name, ordinal in (("missing", None), ("of-another-group", 1), ("negative", -1)):
        words = f"the ordinal of the first row group is {name.replace('-', ' ')}, its modules have the right one"
        opened = {
            "result": index.ACCEPTABLE,
            "flags": ("Ordinal",),
            "forged": with_ordinal(ordinal),
        }
        yield make(f"ordinal-{name}", words, **opened)


def with_ordinal(ordinal: int | None) -> Callable[[Struct], Struct]:
    """Return a change of a footer: another ordinal of the first row group."""

    def changed(footer: Struct) -> Struct:
        first, *others = thrift.get(footer, anatomy.ROW_GROUPS)[1]
        first = thrift.drop(first, anatomy.ORDINAL)
        first = first if ordinal is None else thrift.put(first, anatomy.ORDINAL, I16, ordinal)
        return thrift.put(footer, anatomy.ROW_GROUPS, LIST, (STRUCT, [first, *others]))

    return changed


def all_valid() -> Iterator[Made]:
    """Yield every case whose file was not altered after it was sealed."""
    for cases in (grid, keys, prefixes, layouts):
        yield from cases()
