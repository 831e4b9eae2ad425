"""Helpers to check a diagnosis."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pme_parquet as pme

# These depend on the machine, or on the JVM's options.
OF_THE_MACHINE = ("AES speed", "AES instructions")


def assert_each_says_what_to_do(checks: Iterable[dict[str, Any]]) -> None:
    """Fail if a check that is not ok has no remedy, or one that is ok has one."""
    for check in checks:
        assert check["status"] in {"ok", "warning", "problem"}, check
        assert check["found"], check
        assert bool(check["remedy"]) == (check["status"] != "ok"), check


def named(checks: Iterable[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the one check of this name."""
    [found] = [check for check in checks if check["name"] == name]
    return found


def not_ok(checks: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the checks that are not ok, except those that depend on the machine."""
    return {
        check["name"]: check["found"]
        for check in checks
        if check["status"] != "ok" and not check["name"].startswith(OF_THE_MACHINE)
    }


def forms(diagnosis: pme.Diagnosis) -> dict[str, str]:
    """Return it as a terminal, a notebook, a pipe and a program get it."""
    screen = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    screen.print(diagnosis)
    assert isinstance(screen.file, io.StringIO)
    return {
        "text": str(diagnosis),
        "rich": screen.file.getvalue(),
        "html": diagnosis._repr_html_(),
        "dict": str(diagnosis.to_dict()),
        "repr": repr(diagnosis),
    }
