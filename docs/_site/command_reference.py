"""The directive `{command-reference}`: every command of `pme-parquet` with its arguments, as typer documents them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# Typer writes Markdown for sites that render it as HTML, so it escapes quotes and brackets in help texts.
_ENTITIES = {"&#x27;": "'", "&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}


class CommandReference(SphinxDirective):
    """The output of `typer … utils docs` for the command."""

    def run(self) -> list[nodes.Node]:
        """Return its sections, without the title: the page has its own."""
        command = [sys.executable, "-m", "typer", "pme_parquet._cli.app", "utils", "docs", "--name", "pme-parquet"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for entity, character in _ENTITIES.items():
            text = text.replace(entity, character)
        _title, _, rest = text.partition("\n")
        return self.parse_text_to_nodes(rest, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True}
