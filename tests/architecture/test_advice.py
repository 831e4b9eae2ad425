"""Advice names no package that somebody else could publish under a name of ours."""

from __future__ import annotations

import re

from tests.support.session import ROOT

# From an index, not from a file of `make wheel`.
_FROM_INDEX = re.compile(r"pip install (?:-\S+ )*['\"`]?pme[-_]parquet(?![-_\w.]*\.whl)")
_PLACES = (
    "README.md",
    "docs/**/*.md",
    "python/**/*.md",
    "python/src/**/*.py",
    "jvm/*/src/main/**/*.scala",
    "examples/**/*.py",
)
# Made from the sources, which are searched.
_GENERATED = ROOT / "docs" / "errors.md"


def test_no_text_has_a_user_install_a_package_of_ours_from_an_index() -> None:
    assert _FROM_INDEX.search("pip install 'pme-parquet[delta]'")
    assert not _FROM_INDEX.search("pip install target/wheel/pme_parquet-0.1.0-py3-none-any.whl")
    files = {file for place in _PLACES for file in ROOT.glob(place)} - {_GENERATED}
    assert len(files) > 100
    assert [str(file.relative_to(ROOT)) for file in files if _FROM_INDEX.search(file.read_text())] == []
