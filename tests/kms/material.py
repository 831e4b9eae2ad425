"""Alters key material beside a file, as anyone can who can write files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.files.bend import replace

if TYPE_CHECKING:
    from collections.abc import Mapping


def bend_material(directory: str, change: Mapping[str, str], master_key: str | None = None) -> None:
    """Change fields of the material of one key, in a table of one file: the footer's, or one under this master key."""
    [path] = Path(directory).glob("_KEY_MATERIAL_FOR_*.json")
    listed = json.loads(path.read_text())
    materials = {name: json.loads(text) for name, text in listed.items()}
    under = [name for name, material in materials.items() if material["masterKeyID"] == master_key]
    bent = under[0] if master_key else "footerKey"
    replace(path, json.dumps(listed | {bent: json.dumps(materials[bent] | change)}).encode())
