"""Whether what a page names exists: tests of Python and Scala, and types of Scala."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from tests.support.markdown import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@cache
def functions_in(file: str) -> frozenset[str]:
    """Return the functions that a file of Python defines or imports."""
    here: set[str] = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            here.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            here |= {one.name for one in node.names}
    return frozenset(here)


@cache
def scala(folder: str, kind: str) -> dict[Path, str]:
    """Return the Scala and Java files of a folder's `main` or `test`, each as one line."""
    files = [path for end in ("scala", "java") for path in sorted((ROOT / folder).glob(f"src/{kind}/**/*.{end}"))]
    return {path: " ".join(path.read_text(encoding="utf-8").split()) for path in files}


def has_type(folder: str, name: str) -> bool:
    """Return whether a folder has a type, and for `Type.member` one of its members in the same file."""
    kind, _, member = name.partition(".")
    return any(
        kind in text
        and re.search(rf"\b(class|object|trait) {kind}\b", text)
        and (not member or re.search(rf"\b(def|val) {member}\b", text))
        for text in scala(folder, "main").values()
    )


def suites(name: str) -> list[str]:
    """Return the text of each suite of a name."""
    return [
        text
        for folder in sorted(ROOT.glob("jvm/*"))
        for path, text in scala(str(folder.relative_to(ROOT)), "test").items()
        if path.stem == name
    ]
