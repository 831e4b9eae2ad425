"""The checks of `examples/databricks`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from tests.support.session import ROOT

FOLDER = ROOT / "examples" / "databricks"


def checks() -> Any:
    """Return the module of the checks, which is in no package."""
    spec = spec_from_file_location("check_platform", FOLDER / "check_platform.py")
    assert spec
    assert spec.loader
    made = module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made
