"""Writes the vectors: the files and the index."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.vectors.index import FEATURES, FILES, FLAGS, INDEX, Case
from tests.vectors.tampered import all_tampered
from tests.vectors.valid import PYARROW, TABLES, all_valid

if TYPE_CHECKING:
    from pathlib import Path

MATERIAL = "_KEY_MATERIAL_FOR_{}.json"


def content() -> dict[Path, bytes]:
    """Return all files of the vectors by their paths."""
    if pa.__version__ != PYARROW:
        raise ValueError(
            f"PyArrow {PYARROW} writes the pages, and this is {pa.__version__}. For another, change PYARROW."
        )
    made = [*all_valid(), *all_tampered()]
    found: dict[Path, bytes] = {}
    for one in made:
        if one.case.file in found:
            raise ValueError(one.case.id)
        found[one.case.file] = one.sealed.content
        if one.material:
            found[one.case.file.with_name(MATERIAL.format(one.case.file.name))] = one.material
    index = {
        "format": 1,
        "license": "Apache-2.0",
        "pagesBy": f"PyArrow {PYARROW}",
        "flags": told(FLAGS),
        "features": told(FEATURES),
        "tables": TABLES,
        "cases": [stated(one.case, found[one.case.file]) for one in made],
    }
    return found | {INDEX: text(index).encode()}


def told(words: dict[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {name: {"spec": spec, "means": means} for name, (spec, means) in words.items()}


def stated(case: Case, file: bytes) -> dict[str, Any]:
    """Return a case without what is empty, with its file and what the specification says of it."""
    sections = {FLAGS[flag][0] for flag in case.flags} or {FEATURES[name][0] for name in case.features}
    kept = {name: value for name, value in asdict(case).items() if value not in (None, [], {})}
    named = {"id": case.id, "file": f"files/{case.file.name}", "sha256": hashlib.sha256(file).hexdigest()}
    return named | kept | {"spec": sorted({one for section in sections for one in section.split(", ")})}


def text(index: dict[str, Any]) -> str:
    """Return the index with a line for each entry, so that changes can be read."""
    lines = []
    for name, value in index.items():
        if isinstance(value, list):
            inner = ",\n".join(f"    {json.dumps(one)}" for one in value)
            lines.append(f'  "{name}": [\n{inner}\n  ]')
        elif isinstance(value, dict):
            inner = ",\n".join(f"    {json.dumps(key)}: {json.dumps(one)}" for key, one in value.items())
            lines.append(f'  "{name}": {{\n{inner}\n  }}')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write() -> None:
    """Write the files anew."""
    made = content()
    FILES.mkdir(exist_ok=True)
    for old in FILES.iterdir():
        if old not in made:
            old.unlink()
    for path, piece in made.items():
        path.write_bytes(piece)
