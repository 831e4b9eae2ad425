"""The layers that `scripts/layers.txt` declares: sections, and in each a line per layer with what it may use."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Rule(NamedTuple):
    """The layers of a name or pattern, and the names or patterns that they may use."""

    layers: str
    may_use: tuple[str, ...]


class Section(NamedTuple):
    """Rules, and their subject: `jvm modules`, `jvm packages`, or a Python package and its root."""

    title: str
    rules: tuple[Rule, ...]

    def knows(self, layer: str) -> bool:
        """Whether a line declares this layer."""
        return any(fnmatchcase(layer, rule.layers) for rule in self.rules)

    def allows(self, user: str, used: str) -> bool:
        """Whether the first line that declares the user lets it use the other."""
        for rule in self.rules:
            if fnmatchcase(user, rule.layers):
                return any(fnmatchcase(used, pattern) for pattern in rule.may_use)
        return False


def read(file: Path) -> list[Section]:
    """The sections of a file.

    Raises:
        ValueError: a line is neither a title nor a rule; the message has its number.
    """
    sections: list[tuple[str, list[Rule]]] = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        line = text.partition("#")[0].strip()
        layers, colon, may_use = line.partition(":")
        if line.startswith("[") and line.endswith("]"):
            sections.append((line.strip("[]"), []))
        elif colon and sections:
            sections[-1][1].append(Rule(layers.strip(), tuple(may_use.split())))
        elif line:
            raise ValueError(f"{file}:{number}: this is no [section] and no `layer: what it may use`.")
    return [Section(title, tuple(rules)) for title, rules in sections]
