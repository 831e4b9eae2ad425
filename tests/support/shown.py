"""The forms in which results are shown, and the checks of a diagnosis."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    import pme_parquet as pme
    from pme_parquet._display.content import Showable
    from pme_parquet._doctor.diagnosis import Check

# These depend on the machine, or on the JVM's options.
OF_THE_MACHINE = ("AES speed", "AES instructions")


def assert_each_says_what_to_do(diagnosis: pme.Diagnosis) -> None:
    """Fail if a check that is not ok has no remedy, or one that is ok has one."""
    for check in diagnosis.checks:
        assert check.status in {"ok", "warning", "problem"}, check
        assert check.found, check
        assert bool(check.remedy) == (check.status != "ok"), check


def named(diagnosis: pme.Diagnosis, name: str) -> Check:
    """Return the one check of this name."""
    [found] = [check for check in diagnosis.checks if check.name == name]
    return found


def not_ok(diagnosis: pme.Diagnosis) -> dict[str, str]:
    """Return the checks that are not ok, except those that depend on the machine."""
    return {
        check.name: check.found
        for check in diagnosis.checks
        if check.status != "ok" and not check.name.startswith(OF_THE_MACHINE)
    }


def forms(result: Showable, width: int = 100) -> dict[str, str]:
    """Return a result as a terminal, a notebook, a pipe and a program get it."""
    return {"text": str(result), "rich": on_screen(result, width), "html": result._repr_html_(), "repr": repr(result)}


def all_of(diagnosis: pme.Diagnosis) -> dict[str, str]:
    """Return a diagnosis in all forms, also in the one that `--json` prints."""
    return forms(diagnosis) | {"dict": str(diagnosis.to_dict())}


def on_screen(result: Showable, width: int) -> str:
    """Return what a terminal of this width shows."""
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    screen.print(result)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()
