"""Reports what breaks the rules: forbidden imports, undeclared layers, circles, types in files of other names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from layers import python, scala
from layers.graph import circles, graph_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from layers.graph import Use
    from layers.rules import Section
    from layers.scala import Companion

NOBODY = "nobody"


class Checked(NamedTuple):
    """A section, its layers, and the uses that its rules are about.

    Attributes:
        section: the rules.
        layers: all existing ones.
        uses: of layers.
        modules: uses of Python modules, or of files of one Scala package, which must have no circles either.
        misplaced: Scala types that a file of another name has.
    """

    section: Section
    layers: set[str]
    uses: list[Use]
    modules: list[Use]
    misplaced: tuple[Companion, ...] = ()


def read(project: Path, sections: Iterable[Section]) -> list[Checked]:
    """The sources that each section is about.

    Raises:
        ValueError: a section's title names none.
    """
    return [_read(project, section) for section in sections]


def problems(checked: Checked) -> Iterator[str]:
    """A line for each problem."""
    section = checked.section
    for layer in sorted(checked.layers):
        if not section.knows(layer):
            yield f"[{section.title}] declares no layer {layer}"
    for use in _once(checked.uses):
        if use.user != use.used and section.knows(use.user) and not section.allows(use.user, use.used):
            yield f"{use.place} imports {use.name}, which layer {use.user} may not ([{section.title}])"
    for use in _once(checked.modules):
        if any(rule.layers == NOBODY and _matches(use.used, rule.may_use) for rule in section.rules):
            yield f"{use.place} imports {use.name}, which nobody may ([{section.title}])"
    yield from _circles(checked.uses)
    yield from _circles(checked.modules)
    for one in checked.misplaced:
        yield (
            f"{one.place} has {one.name}, which belongs in a file of its name: it has {one.lines} lines, and other "
            f"packages that name it are {one.packages}"
        )


def _read(project: Path, section: Section) -> Checked:
    package, _, root = section.title.partition(" in ")
    if root:
        return _python(project, section, package, root)
    sources = scala.Sources(project, project / "jvm")
    if package == "jvm modules":
        return Checked(section, sources.modules, list(sources.uses_of_modules()), [])
    if package == "jvm packages":
        packages = set(map(scala.short, sources.packages))
        uses, files = list(sources.uses_of_packages()), list(sources.uses_of_files())
        return Checked(section, packages, uses, files, tuple(sources.misplaced()))
    raise ValueError(f"[{section.title}]: there are [jvm modules], [jvm packages] and [PACKAGE in DIRECTORY].")


def _python(project: Path, section: Section, package: str, root: str) -> Checked:
    directory = project / root
    modules = list(python.uses(project, directory, package))
    layers = {_layer(name) for name in python.modules(directory, package)}
    uses = [use._replace(user=_layer(use.user), used=_layer(use.used)) for use in modules]
    return Checked(section, layers, uses, modules)


def _layer(module: str) -> str:
    """The part of a package that a module is in: the name right below the package. The package itself is `__init__`."""
    _, _, below = module.partition(".")
    return below.partition(".")[0] or "__init__"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _once(uses: Iterable[Use]) -> Iterable[Use]:
    """One of several names of the same part that a line imports."""
    return {(use.place, use.user, use.used): use for use in uses}.values()


def _circles(uses: list[Use]) -> Iterator[str]:
    for circle in circles(graph_of(uses)):
        steps = zip(circle, [*circle[1:], circle[0]], strict=True)
        lines = [next(use for use in uses if (use.user, use.used) == step) for step in steps]
        lines_of_it = "".join(f"\n    {use.place} uses {use.name}" for use in lines)
        yield f"a circle: {' -> '.join([*circle, circle[0]])}{lines_of_it}"
