"""Builds the site of these pages: `make docs` writes it to target/docs. `_toc.yml` defines the side bar.

The pages are written for GitHub, and Sphinx builds them unchanged. Only `api.md` and `cli-reference.md` get content
here, from docstrings and from the command itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "pme-parquet"
release = version = pme_parquet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_external_toc",
    "command_reference",
]
exclude_patterns = ["_site"]
external_toc_path = "_toc.yml"

myst_heading_anchors = 4
# Code blocks contain `…` where a page leaves something out, so highlighting them fails.
suppress_warnings = ["misc.highlighting_failure"]

default_role = "literal"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
# List attributes as parameters, not under "Variables".
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"pme-parquet {release}"
html_static_path = ["_site/static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def _examples_are_code(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Mark examples as code, since Napoleon treats the text under `Example:` as prose."""
    lines[:] = ["Example::" if line == "Example:" else line for line in lines]
    for at in [at for at, line in enumerate(lines) if line == "Example::"]:
        lines.insert(at + 1, "")


def setup(app: Sphinx) -> None:
    """Show the examples of docstrings as code. Priority 400 runs before Napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", _examples_are_code, priority=400)
