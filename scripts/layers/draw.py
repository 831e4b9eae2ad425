"""The picture: a Mermaid graph of the layers of each section, without edges that others imply."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layers.graph import essential, graph_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layers.check import Checked


def picture(checked: Iterable[Checked]) -> str:
    """A graph for each section, in Markdown."""
    return "\n\n".join("\n".join(_graph(one)) for one in checked)


def _graph(checked: Checked) -> Iterator[str]:
    yield f"## {checked.section.title}\n"
    yield "```mermaid\ngraph TD"
    graph = essential(graph_of(checked.uses, checked.layers))
    for layer in sorted(graph):
        yield f'  {_id(layer)}["{layer}"]'
    for user in sorted(graph):
        yield from (f"  {_id(user)} --> {_id(used)}" for used in sorted(graph[user]))
    yield "```"


def _id(layer: str) -> str:
    """A name that is not a keyword of Mermaid."""
    return "n_" + re.sub(r"\W", "_", layer)
