"""The tampered files: what somebody without keys can change, and what the holder of the footer's key can."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.support.files import anatomy, bend, thrift
from tests.support.files.anatomy import NO_PAGE, Kind, place
from tests.support.files.bend import LENGTH_BYTES, SIGNATURE_BYTES, TAIL_BYTES, with_footer
from tests.support.files.forge import flip, put, put_int
from tests.vectors.index import ACCEPTABLE, INVALID
from tests.vectors.sealer import BINARY, I64, LIST, STRUCT, text_key
from tests.vectors.valid import BLOOM, BLOOMS, FOOTER, PAGED, SMALL, TABLES, Made, make, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.files.anatomy import Module
    from tests.support.files.thrift import Struct

UNUSED = {
    Kind.COLUMN_INDEX: {"op": ">=", "value": 0},
    Kind.OFFSET_INDEX: {"op": ">=", "value": 0},
    Kind.BLOOM_HEADER: {"op": "=", "value": 2},
    Kind.BLOOM_BITSET: {"op": "=", "value": 2},
}
# The header of a page, and the length of a footer, say their size as well.
SIZED = (Kind.FOOTER, *anatomy.PAGES)
LENGTHS = {"zero": 0, "negative": -1, "huge": 0x7FFFFFF0}


def small(name: str = "small", settings: dict[str, Any] = SMALL, **how: Any) -> Made:
    """Return a file with one page, one dictionary and both indexes under one key, which every program reads."""
    return make(name, "", settings=settings, **how)


def paged(name: str = "paged", **how: Any) -> Made:
    """Return a file whose columns `a`, `b` and `d` have the footer's key, and `c` its own."""
    return make(name, "", "numbers", settings=PAGED | BLOOMS, columns={"c": 128}, form="single", **how)


def altered(
    base: Made, name: str, comment: str, content: bytes, *flags: str, result: str = INVALID, **case: Any
) -> Made:
    """Return a case with other content than its base."""
    rows = case.pop("rows", None if result == INVALID else base.case.rows)
    new = replace(base.case, id=name, comment=comment, result=result, flags=list(flags), rows=rows, **case)
    return base._replace(case=new, sealed=replace(base.sealed, content=content))


def of_module(base: Made, module: Module, name: str, comment: str, content: bytes, *flags: str) -> Made:
    """Return a case of an altered module; a filter says which query needs an index or a Bloom filter."""
    needed = UNUSED.get(module.kind)
    # The footer has the sizes of indexes and Bloom filters.
    if "ModuleLength" in flags and (needed or module.kind in SIZED):
        return altered(base, name, comment, content, *flags, result=ACCEPTABLE)
    if not needed:
        return altered(base, name, comment, content, *flags)
    column = list(TABLES[str(base.case.rows)][0])[module.column]
    asked = {"column": column, **needed}
    if base.case.rows == "numbers" and needed["op"] == "=":
        asked["value"] = TABLES["numbers"][2][column]
    return altered(base, name, comment, content, *flags, "UnusedModule", result=ACCEPTABLE, filter=asked)


def word(kind: Kind) -> str:
    return kind.name.lower().replace("_", "-")


def flips() -> Iterator[Made]:
    """Yield a flipped bit in each region of each kind of module, and forged lengths."""
    indexed, bloomed = small(), small("bloom", BLOOM)
    for kind in Kind:
        if kind == Kind.COLUMN_METADATA:
            continue
        base = bloomed if kind in anatomy.BLOOMS else indexed
        column = 1 if kind in (Kind.DICTIONARY_PAGE, Kind.DICTIONARY_PAGE_HEADER) else 0
        module = base.sealed.of(kind, *((NO_PAGE, NO_PAGE) if kind == Kind.FOOTER else (0, column)))
        for region in anatomy.REGIONS:
            content = flip(base.sealed.content, place(module, region))
            words = f"one bit of the {region} of the {word(kind)} module is flipped"
            flags = ("BitFlip", "ModuleLength") if region == anatomy.LENGTH else ("BitFlip",)
            yield of_module(base, module, f"flip-{word(kind)}-{region}", words, content, *flags)
        if kind in (Kind.DATA_PAGE, Kind.DATA_PAGE_HEADER, Kind.FOOTER, Kind.COLUMN_INDEX):
            size = module.size - LENGTH_BYTES
            for title, length in (LENGTHS | {"one-less": size - 1, "one-more": size + 1}).items():
                content = put(base.sealed.content, module.offset, struct.pack("<i", length))
                words = f"the length of the {word(kind)} module is {title.replace('-', ' ')}"
                yield of_module(base, module, f"length-{word(kind)}-{title}", words, content, "ModuleLength")
    yield from flips_of_ctr()


def flips_of_ctr() -> Iterator[Made]:
    """Yield a flipped bit in pages that are not authenticated, and in their headers, which are."""
    base = small(ctr=True)
    header, page = base.sealed.of(Kind.DATA_PAGE_HEADER), base.sealed.of(Kind.DATA_PAGE)
    content = flip(base.sealed.content, place(header, "ciphertext"))
    yield altered(base, "ctr-flip-header", "one bit of a data page's header is flipped", content, "BitFlip")
    # The last byte but one of the last `id`.
    rows = [dict(row) for row in TABLES["people"]]
    rows[-1]["id"] ^= 1 << 48
    content = flip(base.sealed.content, place(page, "ciphertext"))
    words = "one bit of a page is flipped: another value is read"
    yield altered(base, "ctr-flip-page", words, content, "CtrPage", result=ACCEPTABLE, rows=rows)
    content = flip(base.sealed.content, place(page, "length"))
    yield altered(
        base,
        "ctr-flip-page-length",
        "one bit of a page's length is flipped",
        content,
        "BitFlip",
        "ModuleLength",
        result=ACCEPTABLE,
    )


def swapped(content: bytes, one: Module, other: Module) -> bytes:
    assert one.size == other.size, (one, other)
    first, second = content[one.offset : one.end], content[other.offset : other.end]
    return put(put(content, one.offset, second), other.offset, first)


def moves() -> Iterator[Made]:
    """Yield modules in the places of others of the same size."""
    base = paged()
    sealed, content = base.sealed, base.sealed.content
    relations = {
        "within-chunk": ((0, 1, 0), (0, 1, 1)),
        "between-groups": ((0, 1, 0), (1, 1, 0)),
        "between-columns": ((0, 0, 0), (0, 1, 0)),
        "between-keys": ((0, 1, 0), (0, 2, 0)),
    }
    for title, (one, other) in relations.items():
        header, page = (
            [sealed.of(kind, *at) for at in (one, other)] for kind in (Kind.DATA_PAGE_HEADER, Kind.DATA_PAGE)
        )
        where = title.replace("-", " ")
        made = {
            "page": (f"two pages swapped, {where}", swapped(content, *page)),
            "header": (f"two headers swapped, {where}", swapped(content, *header)),
            "both": (f"two pages swapped with their headers, {where}", swapped(swapped(content, *header), *page)),
        }
        for name, (words, new) in made.items():
            yield altered(base, f"swap-{name}-{title}", words, new, "SwappedModules")
        new = put(put(content, header[1].offset, sealed.bytes_of(header[0])), page[1].offset, sealed.bytes_of(page[0]))
        yield altered(base, f"repeat-{title}", f"a page and its header repeated, {where}", new, "RepeatedModule")
    for kind, column, title in (
        (Kind.DICTIONARY_PAGE, 3, "dictionary"),
        (Kind.COLUMN_INDEX, 1, "column-index"),
        (Kind.OFFSET_INDEX, 1, "offset-index"),
        (Kind.BLOOM_HEADER, 0, "bloom-header"),
        (Kind.BLOOM_BITSET, 0, "bloom-bitset"),
    ):
        left, right = sealed.of(kind, 0, column), sealed.of(kind, 1, column)
        words = f"two modules ({word(kind)}) of two row groups swapped"
        yield of_module(base, left, f"swap-{title}", words, swapped(content, left, right), "SwappedModules")
    for kind in (Kind.COLUMN_INDEX, Kind.OFFSET_INDEX):
        left, right = sealed.of(kind, 1, 0), sealed.of(kind, 1, 1)
        words = f"two modules ({word(kind)}) of two columns swapped"
        new = swapped(content, left, right)
        yield of_module(base, right, f"swap-{word(kind)}-between-columns", words, new, "SwappedModules")
    first, second = sealed.of(Kind.DATA_PAGE_HEADER, 0, 1), sealed.of(Kind.DATA_PAGE_HEADER, 0, 1, 1)
    new = content[: first.offset] + content[second.offset :]
    yield altered(base, "drop-page", "a page is missing, what follows moves up", new, "DroppedModule")
    yield from moves_of_ctr()


def moves_of_ctr() -> Iterator[Made]:
    """Yield pages that CTR does not bind to their places, and headers that GCM does."""
    base = paged(ctr=True)
    pages = [base.sealed.of(Kind.DATA_PAGE, 0, 1, page) for page in (0, 1)]
    headers = [base.sealed.of(Kind.DATA_PAGE_HEADER, 0, 1, page) for page in (0, 1)]
    rows = [dict(row) for row in TABLES["numbers"]]
    for row, other in enumerate((3, 4, 5, 0, 1, 2)):
        rows[row]["b"] = TABLES["numbers"][other]["b"]
    content = swapped(base.sealed.content, *pages)
    words = "two pages of a chunk swapped, their headers in place: other values are read"
    yield altered(base, "ctr-swap-page", words, content, "CtrPage", "SwappedModules", result=ACCEPTABLE, rows=rows)
    content = swapped(swapped(base.sealed.content, *headers), *pages)
    yield altered(base, "ctr-swap-both", "two pages swapped with their headers", content, "SwappedModules")


def others() -> Iterator[Made]:
    """Yield modules and footers of another file that has the same keys, layout and AAD prefix."""
    for signed in (False, True):
        base, other = paged(signed=signed), paged("another file", signed=signed)
        prefix = "signed-" if signed else ""
        for kind in (Kind.DATA_PAGE_HEADER, Kind.DATA_PAGE, Kind.DICTIONARY_PAGE, Kind.COLUMN_INDEX):
            where = (0, 3 if kind == Kind.DICTIONARY_PAGE else 1)
            module = base.sealed.of(kind, *where)
            content = put(base.sealed.content, module.offset, other.sealed.bytes_of(other.sealed.of(kind, *where)))
            words = f"the {word(kind)} module of another file"
            if not signed or kind == Kind.DATA_PAGE:
                yield of_module(base, module, f"{prefix}other-{word(kind)}", words, content, "OtherFile")
        start, content = base.sealed.footer_at, base.sealed.content
        footer = other.sealed.content[other.sealed.footer_at : -TAIL_BYTES]
        yield altered(
            base,
            f"{prefix}other-footer",
            "the footer of another file",
            with_footer(content, footer),
            "OtherFile",
        )
        [mine], [theirs] = ([one for one in made.sealed.modules if one.kind == Kind.FOOTER] for made in (base, other))
        mixed = content[start : mine.offset] + other.sealed.bytes_of(theirs)
        words = "the signature" if signed else "the footer's module"
        yield altered(
            base,
            f"{prefix}other-footer-module",
            f"{words} of another file",
            with_footer(content, mixed),
            "OtherFile",
        )


def lengths() -> Iterator[Made]:
    """Yield files that are cut or padded, and forged lengths and magic bytes of the tail."""
    for base, prefix in ((small(), ""), (small(signed=True), "signed-")):
        content, at = base.sealed.content, base.sealed.footer_at
        size = len(content) - TAIL_BYTES - at
        cuts = {
            "1": len(content) - 1,
            "4": len(content) - 4,
            "8": len(content) - 8,
            "footer": at,
            "half": len(content) // 2,
        }
        for title, end in (cuts | {"12-left": 12, "all": 0}).items():
            yield altered(base, f"{prefix}cut-{title}", f"cut to {end} bytes", content[:end], "Truncated")
        forged = LENGTHS | {"one-less": size - 1, "one-more": size + 1, "file": len(content)}
        for title, length in forged.items():
            new = put(content, len(content) - TAIL_BYTES, struct.pack("<i", length))
            yield altered(
                base,
                f"{prefix}footer-length-{title}",
                f"the footer's length is {length}",
                new,
                "FooterLength",
            )
        yield altered(base, f"{prefix}pad-end", "16 bytes behind the magic", content + bytes(16), "Padded")
        new = with_footer(content, content[at:-TAIL_BYTES] + bytes(16))
        # A signature is expected in the last bytes.
        result = INVALID if base.how.signed else ACCEPTABLE
        words = "16 bytes behind the footer, counted"
        yield altered(base, f"{prefix}pad-footer", words, new, "Padded", result=result)
        magic = b"PARE" if base.how.signed else b"PAR1"
        yield altered(base, f"{prefix}magic-end", f"{magic.decode()} at the end", content[:-4] + magic, "Magic")
        gap = content[:at] + bytes(16) + content[at:]
        yield altered(
            base,
            f"{prefix}gap",
            "16 bytes between the last module and the footer",
            gap,
            "Gap",
            result=ACCEPTABLE,
        )
        start = magic + content[4:]
        words = f"{magic.decode()} at the start only"
        yield altered(base, f"{prefix}magic-start", words, start, "Magic", result=ACCEPTABLE)


def crypto(base: Made, change: Callable[[Struct], Struct]) -> bytes:
    """Return the file with FileCryptoMetaData changed, or a signed footer; nothing is sealed again."""
    content, at = base.sealed.content, base.sealed.footer_at
    reader = thrift.Reader(content[at:])
    changed = thrift.write_struct(change(reader.struct()))
    return with_footer(content, changed + content[at + reader.at : -TAIL_BYTES])


def algorithm(base: Made, kind: int | None, change: Callable[[Struct], Struct] = lambda gcm: gcm) -> bytes:
    """Return the file with another algorithm, or with other fields of it."""
    number = 8 if base.how.signed else bend.ALGORITHM

    def changed(fields: Struct) -> Struct:
        [stated] = thrift.get(fields, number)
        return thrift.put(fields, number, STRUCT, [thrift.Field(kind or stated.number, STRUCT, change(stated.value))])

    return crypto(base, changed)


def identities() -> Iterator[Made]:
    """Yield files whose AAD, algorithm or signature is not what it was."""
    for base, prefix in ((small(), ""), (small(signed=True), "signed-")):
        flag = ["Signature"] if base.how.signed else []
        words = "AES_GCM_V1 file that says AES_GCM_CTR_V1"
        yield altered(
            base,
            f"{prefix}algorithm-gcm-to-ctr",
            words,
            algorithm(base, bend.CTR),
            "AlgorithmDowngrade",
            *flag,
        )
        ctr = small(ctr=True, signed=base.how.signed)
        words = "AES_GCM_CTR_V1 file that says AES_GCM_V1"
        yield altered(
            ctr,
            f"{prefix}algorithm-ctr-to-gcm",
            words,
            algorithm(ctr, bend.GCM),
            "AlgorithmDowngrade",
            *flag,
        )
        new = algorithm(base, None, lambda gcm: thrift.put(gcm, bend.AAD_FILE_UNIQUE, BINARY, b"another1"))
        yield altered(base, f"{prefix}unique-altered", "another aad_file_unique", new, "FileUnique", *flag)
        new = algorithm(base, None, lambda gcm: thrift.drop(gcm, bend.AAD_FILE_UNIQUE))
        yield altered(base, f"{prefix}unique-missing", "no aad_file_unique", new, "FileUnique", *flag)
        new = algorithm(base, None, lambda gcm: thrift.put(gcm, bend.AAD_PREFIX, BINARY, b"table/2"))
        features = sorted({*base.case.features, "StoredAadPrefix"})
        words = "an AAD prefix that the file was sealed without"
        yield altered(base, f"{prefix}prefix-added", words, new, "AadPrefix", *flag, features=features)
        yield from prefixes(base.how.signed, prefix, flag)


def prefixes(signed: bool, prefix: str, flag: list[str]) -> Iterator[Made]:  # noqa: FBT001 -- as in How
    """Yield wrong and missing AAD prefixes."""
    stored, supplied = (small(signed=signed, prefix=b"table/1", stored=one) for one in (True, False))
    content = supplied.sealed.content
    yield altered(
        supplied,
        f"{prefix}prefix-wrong",
        "another AAD prefix is supplied",
        content,
        "AadPrefix",
        aadPrefix="table/2",
    )
    yield altered(supplied, f"{prefix}prefix-not-supplied", "no AAD prefix is supplied", content, "AadPrefix")
    new = algorithm(supplied, None, lambda gcm: thrift.drop(gcm, 3))
    yield altered(
        supplied,
        f"{prefix}prefix-denied",
        "the file denies that it needs an AAD prefix; none is supplied",
        new,
        "AadPrefix",
        *flag,
    )
    words = "the file stores another AAD prefix than the reader expects: a file of another table, or an older one"
    yield altered(
        stored,
        f"{prefix}prefix-unexpected",
        words,
        stored.sealed.content,
        "AadPrefix",
        aadPrefix="table/2",
    )
    new = algorithm(stored, None, lambda gcm: thrift.put(gcm, bend.AAD_PREFIX, BINARY, b"table/2"))
    yield altered(stored, f"{prefix}prefix-altered", "the stored AAD prefix is altered", new, "AadPrefix", *flag)
    new = algorithm(stored, None, lambda gcm: thrift.drop(gcm, bend.AAD_PREFIX))
    yield altered(stored, f"{prefix}prefix-removed", "the stored AAD prefix is removed", new, "AadPrefix", *flag)


def keys() -> Iterator[Made]:
    """Yield wrong keys, and key metadata and key material that are altered or exchanged."""
    wrong = text_key("a wrong key", 128).hex()
    one, two = small(), paged()
    for name, what, key in (
        ("key-wrong", "another key of the same length", wrong),
        ("key-longer", "a key of 256 bits for a file of 128", text_key("a wrong key", 256).hex()),
    ):
        yield altered(one, name, what, one.sealed.content, "WrongKey", keys={FOOTER: key}, footerKey=key)
    named = make("key", "", columns={"name": 128, "id": 128})
    changed: Any = {"keys": named.case.keys | {"name": wrong}, "columnKeys": named.case.columnKeys | {"name": wrong}}
    yield altered(
        named,
        "key-wrong-column",
        "another key of one column",
        named.sealed.content,
        "WrongKey",
        **changed,
    )
    no_raw: Any = {"footerKey": None, "columnKeys": {}}
    new = crypto(named, lambda fields: thrift.put(fields, bend.KEY_METADATA, BINARY, b"name"))
    yield altered(
        named,
        "key-metadata-footer",
        "the footer's key metadata name the key of a column",
        new,
        "KeyMetadata",
        **no_raw,
    )
    exchanged = make(
        "key-metadata-swapped",
        "",
        columns={"name": 128, "id": 128},
        forged=in_chunks(exchange(anatomy.CRYPTO_METADATA)),
    )
    words = "two columns have each other's key metadata, by somebody with the footer's key"
    yield altered(exchanged, "key-metadata-swapped", words, exchanged.sealed.content, "KeyMetadata", **no_raw)
    yield from key_material(two)


def key_material(base: Made) -> Iterator[Made]:
    """Yield altered wrapped keys."""
    double = small(form="double")
    for made, name, values in (
        (base, "wrong-master", {"masterKeyID": "c"}),
        (base, "altered-key", {"wrappedDEK": flipped_text}),
        (base, "double-instead-of-single", {"doubleWrapping": True}),
        (double, "altered-kek", {"wrappedKEK": flipped_text}),
        (double, "single-instead-of-double", {"doubleWrapping": False}),
        (double, "other-kek-id", {"keyEncryptionKeyID": flipped_text}),
    ):

        def changed(fields: Struct, values: dict[str, Any] = values) -> Struct:
            stated = json.loads(thrift.get(fields, bend.KEY_METADATA))
            new = {key: value(stated[key]) if callable(value) else value for key, value in values.items()}
            return thrift.put(fields, bend.KEY_METADATA, BINARY, json.dumps(stated | new).encode())

        words = f"the footer's key material: {name.replace('-', ' ')}"
        yield altered(made, f"material-{name}", words, crypto(made, changed), "KeyMaterial", footerKey=None)
    external = make("material", "", form="externalSingle", columns={"id": 128, "name": 128})
    entries = json.loads(external.material or b"")
    content = external.sealed.content
    missing = altered(external, "material-missing", "no file of key material", content, "KeyMaterial", footerKey=None)
    yield missing._replace(material=None)
    entries["columnKey0"], entries["columnKey1"] = entries["columnKey1"], entries["columnKey0"]
    words = "the file of key material has two keys of columns exchanged"
    exchanged = altered(external, "material-exchanged", words, content, "KeyMaterial", footerKey=None)
    yield exchanged._replace(material=json.dumps(entries).encode())


def flipped_text(text: str) -> str:
    """Return base64 with one character replaced."""
    return ("B" if text[0] == "A" else "A") + text[1:]


def in_chunks(change: Callable[[list[Struct]], list[Struct]]) -> Callable[[Struct], Struct]:
    """Return a change of a footer that changes all chunks of all row groups together."""

    def changed(footer: Struct) -> Struct:
        groups = thrift.get(footer, anatomy.ROW_GROUPS)[1]
        chunks = [thrift.get(group, anatomy.COLUMNS)[1] for group in groups]
        new = change([chunk for group in chunks for chunk in group])
        made = []
        for group, old in zip(groups, chunks, strict=True):
            taken, new = new[: len(old)], new[len(old) :]
            made.append(thrift.put(group, anatomy.COLUMNS, LIST, (STRUCT, taken)))
        return thrift.put(footer, anatomy.ROW_GROUPS, LIST, (STRUCT, made))

    return changed


def exchange(number: int, one: int = 0, other: int = 1) -> Callable[[list[Struct]], list[Struct]]:
    """Return a change that exchanges a field of two chunks."""

    def changed(chunks: list[Struct]) -> list[Struct]:
        first, second = (next(field for field in chunks[at] if field.number == number) for at in (one, other))
        chunks[one], chunks[other] = thrift.put(chunks[one], *second), thrift.put(chunks[other], *first)
        return chunks

    return changed


def footers() -> Iterator[Made]:
    """Yield plaintext footers that are altered without their signature, and what the footer's key allows."""
    base = small(signed=True)
    content, [signature] = base.sealed.content, [one for one in base.sealed.modules if one.kind == Kind.FOOTER]
    for title, at in (("nonce", 0), ("tag", SIGNATURE_BYTES - 1)):
        words = f"one bit of the signature's {title} is flipped"
        yield altered(base, f"signature-{title}", words, flip(content, signature.offset + at), "Signature", "BitFlip")
    without = with_footer(content, content[base.sealed.footer_at : signature.offset])
    yield altered(base, "signature-missing", "no signature", without, "Signature")
    changes: dict[str, tuple[str, Callable[[Struct], Struct]]] = {
        "rows": ("the number of rows is one less", lambda fields: put_int(fields, 3, 4)),
        "groups": ("no row group, no row", lambda fields: put_int(thrift.put(fields, 4, LIST, (STRUCT, [])), 3, 0)),
        "column": ("a column has another name", renamed),
        "key-metadata": ("another name of the signing key", lambda fields: thrift.put(fields, 9, BINARY, b"other")),
        "crypto-metadata": ("a column says no longer that it is encrypted", in_chunks(first_without_crypto)),
        "num-values": ("the readable metadata of an encrypted column have fewer values", in_chunks(fewer_values)),
    }
    for title, (words, change) in changes.items():
        yield altered(base, f"signed-{title}", words, crypto(base, change), "Signature")
    new = crypto(base, lambda fields: thrift.drop(fields, 8, 9))
    yield altered(
        base,
        "signed-algorithm-missing",
        "the footer names no algorithm",
        new,
        "PlaintextDowngrade",
        "Signature",
    )
    settings = (("json", json.dumps(SMALL)),)
    words = "a plaintext file in the place of an encrypted one, and the reader expects that"
    yield altered(small(), "plaintext-file", words, plain("people", settings), "PlaintextDowngrade")
    yield from column_metadata()
    yield from plaintext_columns()


def renamed(fields: Struct) -> Struct:
    kind, elements = thrift.get(fields, anatomy.SCHEMA)
    new = [thrift.put(one, 4, BINARY, b"nick") if thrift.get(one, 4) == b"name" else one for one in elements]
    return thrift.put(fields, anatomy.SCHEMA, LIST, (kind, new))


def first_without_crypto(chunks: list[Struct]) -> list[Struct]:
    return [thrift.drop(chunks[0], anatomy.CRYPTO_METADATA, anatomy.ENCRYPTED_METADATA), *chunks[1:]]


def fewer_values(chunks: list[Struct]) -> list[Struct]:
    meta = thrift.put(thrift.get(chunks[0], anatomy.META_DATA), anatomy.NUM_VALUES, I64, 4)
    return [thrift.put(chunks[0], anatomy.META_DATA, STRUCT, meta), *chunks[1:]]


def column_metadata() -> Iterator[Made]:
    """Yield altered ColumnMetaData modules: without the footer's key below a signature, and with it."""
    base = paged(signed=True)
    sealed: list[bytes] = []

    def noted(chunks: list[Struct]) -> list[Struct]:
        sealed.append(thrift.get(chunks[2], anatomy.ENCRYPTED_METADATA))
        return chunks

    crypto(base, in_chunks(noted))
    at = base.sealed.content.index(sealed[0])
    for title, inside in (("length", 0), ("nonce", 10), ("ciphertext", 40), ("tag", len(sealed[0]) - 1)):
        words = f"one bit of the {title} of a ColumnMetaData module is flipped"
        content = flip(base.sealed.content, at + inside)
        yield altered(base, f"signed-column-metadata-{title}", words, content, "BitFlip", "Signature")
        forged = paged(f"column-metadata-{title}", forged=in_chunks(flipped_metadata(inside)))
        words += ", by somebody with the footer's key"
        # Thrift has the length of the field as well.
        redundant = title == anatomy.LENGTH
        flags, result = (("BitFlip", "ModuleLength"), ACCEPTABLE) if redundant else (("BitFlip",), INVALID)
        yield altered(forged, forged.case.id, words, forged.sealed.content, *flags, result=result)
    for title, other in (("row groups", 6), ("columns", 1)):
        how: Any = {"columns": {"b": 128, "c": 128}, "form": "single", "shared": True, "settings": PAGED}
        swap = in_chunks(exchange(anatomy.ENCRYPTED_METADATA, 2, other))
        made = make(f"swap-column-metadata-{title.split()[-1]}", "", "numbers", **how, forged=swap)
        words = f"ColumnMetaData of two {title} exchanged, by somebody with the footer's key"
        yield altered(made, made.case.id, words, made.sealed.content, "SwappedModules")


def flipped_metadata(at: int) -> Callable[[list[Struct]], list[Struct]]:
    """Return a change that flips a bit of the encrypted metadata of column `c` in the first row group."""

    def changed(chunks: list[Struct]) -> list[Struct]:
        # A length with its lowest bit flipped may be one less or more.
        sealed = flip(thrift.get(chunks[2], anatomy.ENCRYPTED_METADATA), at)
        chunks[2] = thrift.put(chunks[2], anatomy.ENCRYPTED_METADATA, BINARY, sealed)
        return chunks

    return changed


def plaintext_columns() -> Iterator[Made]:
    """Yield altered values of a column that has no key."""
    for signed in (False, True):
        base = make("partial", "", columns={"name": 128}, form="single", plaintext=("id",), signed=signed)
        page = base.sealed.of(Kind.DATA_PAGE)
        rows = [dict(row) for row in TABLES["people"]]
        rows[-1]["id"] ^= 1 << 48
        content = flip(base.sealed.content, page.end - 2)
        kind = "plaintext" if signed else "encrypted"
        words = f"a value of a plaintext column is altered, {kind} footer"
        yield altered(
            base,
            f"plaintext-column-{kind}-footer",
            words,
            content,
            "PlaintextColumn",
            result=ACCEPTABLE,
            rows=rows,
        )


def all_tampered() -> Iterator[Made]:
    """Yield every case whose file was altered after it was sealed, or sealed by somebody who forged it."""
    for cases in (flips, moves, others, lengths, identities, keys, footers):
        yield from cases()
