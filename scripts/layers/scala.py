"""What Scala and Java files use of each other: by imports, by full names, and by names of their own package.

Names relative to a package, as `pages.ChunkPages` in `io.pmeparquet.parquet`, are not followed: write imports in full.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from layers.graph import Use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = "io.pmeparquet"

_PACKAGE = re.compile(r"^package ([\w.]+)", re.MULTILINE)
_IMPORT = re.compile(rf"\bimport (?:static )?({re.escape(ROOT)}[\w.]*?)(?:\.(\{{[^}}]*\}}|\*))?(?=[;\s]|$)")
_FULL_NAME = re.compile(rf"\b{re.escape(ROOT)}(?:\.\w+)+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINITION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:private|protected)(?:\[\w+\])?\s+)?"
    r"(?:(?:public|final|sealed|abstract|implicit|case|static|lazy)\s+)*"
    r"(?:class|object|trait|interface|enum|record)\s+([A-Za-z_]\w*)",
    re.MULTILINE,
)
# Strings, characters and comments; only their line breaks are kept.
_NO_CODE = re.compile(
    r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*[\s\S]*?\*/',
)

# What a companion may have, that is, a type in a file of another name: lines of code, with its companion object, and
# other packages that name it.
MOST_LINES = 50
MOST_PACKAGES = 7


class Companion(NamedTuple):
    """A type in a file of another name that others look for: its place, its lines of code, and who names it."""

    place: str
    name: str
    lines: int
    packages: int


class Source(NamedTuple):
    """A file: its place, the module of the build and the package it belongs to, and its code without comments."""

    place: str
    module: str
    package: str
    code: str

    @property
    def definitions(self) -> list[str]:
        """The names that it defines for others."""
        return _DEFINITION.findall(self.code)

    @property
    def name(self) -> str:
        """The name of the file, which is that of its type."""
        return PurePath(self.place).stem

    def companions(self) -> Iterator[Companion]:
        """The types of other names, without those that extend its own, or whose names begin like it."""
        texts: dict[str, list[str]] = defaultdict(list)
        starts: dict[str, int] = {}
        found = list(_DEFINITION.finditer(self.code))
        for one, following in zip(found, [*found[1:], None], strict=bool(found)):
            starts.setdefault(one[1], one.start())
            texts[one[1]].append(self.code[one.start() : following.start() if following else len(self.code)])
        of_family = re.compile(rf"\b(?:extends|with|implements)\s+(?:\w+\.)*{self.name}\b")
        for name, parts in texts.items():
            if not name.startswith(self.name) and not any(of_family.search(part.partition("{")[0]) for part in parts):
                lines = sum(1 for part in parts for line in part.splitlines() if line.strip())
                yield Companion(f"{self.place}:{self.line(starts[name])}", name, lines, packages=0)

    def line(self, offset: int) -> int:
        """The number of the line at an offset of the code."""
        return self.code.count("\n", 0, offset) + 1


class Sources:
    """The sources of all modules below a directory, without their tests."""

    def __init__(self, project: Path, directory: Path) -> None:
        self.files = [_read(project, directory, file) for file in _files(directory)]

    @cached_property
    def packages(self) -> set[str]:
        """The packages, by their full names."""
        return {file.package for file in self.files}

    @cached_property
    def modules(self) -> set[str]:
        """The modules of the build."""
        return {file.module for file in self.files}

    def uses_of_packages(self) -> Iterator[Use]:
        """Each use of one package by another."""
        for file, place, name in self._named():
            package = self._package_of(name)
            if package is not None and package != file.package:
                yield Use(place, name, short(file.package), short(package))

    def uses_of_modules(self) -> Iterator[Use]:
        """Each use of one module by another. A package may be in several modules: then the definitions decide."""
        for file, place, name in [*self._named(), *self._neighbours()]:
            package = self._package_of(name)
            if package is None:
                continue
            defined = name.removeprefix(package).lstrip(".").split(".")[0]
            modules = {one.module for one in self._defining.get((package, defined), [])} or self._holding[package]
            if file.module not in modules and len(modules) == 1:
                yield Use(place, name, file.module, *modules)

    def uses_of_files(self) -> Iterator[Use]:
        """Each use of one file by another of its package. Between packages there is no circle anyway."""
        for file in self.files:
            seen: set[str] = set()
            for found in _WORD.finditer(file.code):
                defining = self._defining.get((file.package, found[0]), [])
                if found[0] in seen or len(defining) != 1 or file in defining:
                    continue
                seen.add(found[0])
                yield Use(f"{file.place}:{file.line(found.start())}", found[0], file.place, defining[0].place)

    def misplaced(self) -> Iterator[Companion]:
        """The types that other packages name, and that are neither in a file of their name nor small companions."""
        naming: dict[tuple[str, str], set[str]] = defaultdict(set)
        for file, _, name in self._named():
            package = self._package_of(name)
            if package is not None and package != file.package:
                naming[package, name.removeprefix(package).lstrip(".").split(".")[0]].add(file.package)
        for file in self.files:
            for one in file.companions():
                packages = len(naming[file.package, one.name])
                if packages > MOST_PACKAGES or (packages and one.lines > MOST_LINES):
                    yield one._replace(packages=packages)

    @cached_property
    def _defining(self) -> dict[tuple[str, str], list[Source]]:
        found: dict[tuple[str, str], list[Source]] = defaultdict(list)
        for file in self.files:
            for name in set(file.definitions):
                found[file.package, name].append(file)
        return found

    @cached_property
    def _holding(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for file in self.files:
            found[file.package].add(file.module)
        return found

    def _package_of(self, name: str) -> str | None:
        """The longest package at the beginning of a full name."""
        while name and name not in self.packages:
            name = name.rpartition(".")[0]
        return name or None

    def _named(self) -> Iterator[tuple[Source, str, str]]:
        """The full names in files, with their places."""
        for file in self.files:
            imports = list(_IMPORT.finditer(file.code))
            for found in imports:
                place = f"{file.place}:{file.line(found.start())}"
                yield from ((file, place, name) for name in _imported(found[1], found[2]))
            rest = _IMPORT.sub(_blank, _PACKAGE.sub(_blank, file.code))
            for found in _FULL_NAME.finditer(rest):
                yield file, f"{file.place}:{file.line(found.start())}", found[0]

    def _neighbours(self) -> Iterator[tuple[Source, str, str]]:
        """The uses of a file's own package, if other modules have parts of it, too."""
        for file in self.files:
            if len(self._holding[file.package]) == 1:
                continue
            seen: set[str] = set()
            for found in _WORD.finditer(file.code):
                if found[0] not in seen and (file.package, found[0]) in self._defining:
                    seen.add(found[0])
                    yield file, f"{file.place}:{file.line(found.start())}", f"{file.package}.{found[0]}"


def short(package: str) -> str:
    """A package in the form that rules use."""
    return package.removeprefix(ROOT).lstrip(".") or "root"


def _files(directory: Path) -> Iterator[Path]:
    for file in sorted(directory.rglob("*")):
        below = file.relative_to(directory).parts
        if file.suffix in {".scala", ".java"} and below[1:3] == ("src", "main"):
            yield file


def _read(project: Path, directory: Path, file: Path) -> Source:
    code = _NO_CODE.sub(lambda found: "\n" * found[0].count("\n") or " ", file.read_text(encoding="utf-8"))
    package = _PACKAGE.search(code)
    if package is None:
        raise ValueError(f"{file}: no package is declared.")
    return Source(str(file.relative_to(project)), file.relative_to(directory).parts[0], package[1], code)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _imported(source: str, several: str | None) -> Iterator[str]:
    """The names of an import: one, several in braces, or all of a package."""
    if several is None or several == "*":
        yield source
        return
    for name in several.strip("{}").split(","):
        only = name.strip().split(" ")[0]
        yield source if only in {"_", ""} else f"{source}.{only}"
