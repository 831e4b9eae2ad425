"""Imports of Python modules: at the top of a file, in functions, and those for types only."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING

from layers.graph import Use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def modules(root: Path, package: str) -> dict[str, Path]:
    """The modules of a package below a directory, by their full names."""
    files = sorted((root / package).rglob("*.py"))
    return {_name(file.relative_to(root)): file for file in files}


def uses(project: Path, root: Path, package: str) -> Iterator[Use]:
    """Each import of one module of the package by another."""
    known = modules(root, package)
    for module, file in known.items():
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        own = module if file.name == "__init__.py" else module.rpartition(".")[0]
        for node in _statements(tree):
            for name in _imported(node, own):
                used = _longest(name, known)
                if used is not None and used != module:
                    yield Use(f"{file.relative_to(project)}:{node.lineno}", name, module, used)  # type: ignore[attr-defined]


def _name(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, the outer ones first: expressions, which are most of a file, hold none."""
    todo: deque[ast.AST] = deque([tree])
    while todo:
        yield (node := todo.popleft())
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            todo.extend(getattr(node, part, ()))


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: 1 - node.level or None] if node.level else []
        source = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{source}.{alias.name}" for alias in node.names)


def _longest(name: str, known: dict[str, Path]) -> str | None:
    """The module of a name: the name may be one, or be defined in one."""
    while name:
        if name in known:
            return name
        name = name.rpartition(".")[0]
    return None
