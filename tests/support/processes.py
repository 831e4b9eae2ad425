"""Python processes that start a Spark of their own, and how their results get here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, fields, is_dataclass
from itertools import repeat
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tests.support import archive
from tests.support.session import ROOT

if TYPE_CHECKING:
    from types import ModuleType

    from _typeshed import DataclassInstance

Result = TypeVar("Result", bound="DataclassInstance")

PATIENCE = 240

# Of a process whose JVM halts, which may be late in its work.
PATIENCE_TO_HALT = 300
HALTED = 137


def environment() -> dict[str, str]:
    """Return the environment of such a process: nothing of this one's Spark, and everything that can be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return kept | archive.VARIABLES | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def result_of(job: ModuleType, result: type[Result], *arguments: str, patience: int = PATIENCE) -> Result:
    """Run a module as a script, and return the result in the last line of its output."""
    done = subprocess.run(
        [sys.executable, str(job.__file__), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return of_json(result, done.stdout.splitlines()[-1])


def print_result(result: DataclassInstance) -> None:
    """Print the result of a job, for `result_of`."""
    sys.stdout.write(to_json(result) + "\n")


def to_json(result: DataclassInstance) -> str:
    return json.dumps(asdict(result))


def of_json(result: type[Result], text: str) -> Result:
    """Return a result, or fail: JSON must have each of its fields, and nothing else."""
    made: Result = _decoded(result, json.loads(text))
    return made


def _decoded(kind: Any, found: Any) -> Any:
    origin, of = get_origin(kind) or kind, get_args(kind)
    if origin in {Union, UnionType}:
        [other] = (one for one in of if one is not NoneType)
        return None if found is None else _decoded(other, found)
    if origin is Literal:
        assert found in of, f"{kind}: {found!r}"
        return found
    container: Any = dict if is_dataclass(kind) else list if origin is tuple else origin
    assert type(found) is container, f"{kind}: {found!r}"
    if is_dataclass(kind):
        kinds = get_type_hints(kind)
        assert found.keys() == kinds.keys(), f"{kind}: {sorted(found.keys() ^ kinds.keys())}"
        return origin(**{name: _decoded(kinds[name], value) for name, value in found.items()})
    if origin is dict:
        # JSON has no other keys.
        assert of[0] is str, kind
        return {name: _decoded(of[1], value) for name, value in found.items()}
    if origin in {list, tuple}:
        each = of if origin is tuple and ... not in of else repeat(of[0], len(found))
        return origin(_decoded(one, value) for one, value in zip(each, found, strict=True))
    return found


def picked(kind: type[Result], found: object, **known: object) -> Result:
    """Return a result with the attributes that another object has, and some that are known."""
    names = {one.name for one in fields(kind)} - known.keys()
    return kind(**{name: getattr(found, name) for name in names}, **known)


def assert_halts(job: str, *arguments: object) -> None:
    """Run a module by its name, and fail unless its JVM halts."""
    done = subprocess.run(
        [sys.executable, "-m", job, *map(str, arguments)],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_TO_HALT,
        check=False,
    )
    assert done.returncode == HALTED, done.stderr
