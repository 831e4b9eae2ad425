"""What users of Python and of the command may rely on is in `api/`, and has not changed unawares.

`make api-update` writes the files. The Scala suite `PublicApiSuite` compares the others there.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import griffe
import pytest
import typer

from pme_parquet._cli import keystores, output
from pme_parquet._cli.app import GROUPS, app
from pme_parquet.errors import BY_CONDITION
from tests.support import shapes
from tests.support.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pme_parquet._cli.commands import Command

PROJECT = Path(__file__).parents[2]
API = PROJECT / "api"
PACKAGE = "pme_parquet"
MODULES = (PACKAGE, f"{PACKAGE}.delta", f"{PACKAGE}.hudi", f"{PACKAGE}.iceberg")
KEYS = (keystores.create, keystores.add, keystores.subset, keystores.list_)
# Their values say nothing: a parameter's name, and what each version changes.
NAMELESS = {"message", "__version__"}


def same(name: str, header: str, sections: Iterable[list[str]]) -> None:
    expected = "\n\n".join([f"# {header}", *("\n".join(lines) for lines in sections)]) + "\n"
    file = API / name
    if os.environ.get("UPDATE_API"):
        file.write_text(expected)
    assert file.read_text() == expected, "Users may depend on what is gone. If it may change: make api-update"


def test_the_python_api_is_as_stated() -> None:
    package: Any = griffe.load("pme_parquet", search_paths=[PROJECT / "python" / "src"])
    modules = {name: package if name == PACKAGE else package[name.removeprefix(f"{PACKAGE}.")] for name in MODULES}
    exported = {f"{name}.{one}": modules[name].members[one] for name in MODULES for one in modules[name].exports}
    public = {name: _target(member) for name, member in sorted(exported.items()) if not member.is_module}
    paths = {found.canonical_path for found in public.values()}
    sections = [list(_described(found, name, paths)) for name, found in public.items()]
    # Then what these name in turn, without a public name of its own: fields of results, names of types.
    todo = list(public.values())
    reached: dict[str, Any] = {}
    while todo:
        for path in _named(todo.pop()):
            if path not in paths | reached.keys() and (found := _ours(package, path)) is not None:
                reached[path] = found
                todo.append(found)
    sections += [list(_described(found, found.name, paths)) for _, found in sorted(reached.items())]
    same("python.txt", "The public names of pme_parquet. Compared by tests/architecture/test_api.py.", sections)


def _target(member: Any) -> Any:
    return member.final_target if member.is_alias else member


def _ours(package: Any, path: str) -> Any:
    """The class or the name of a type with this path; None if it is not ours."""
    if not path.startswith(f"{PACKAGE}."):
        return None
    found = _target(package[path.removeprefix(f"{PACKAGE}.")])
    return found if found.is_class or found.is_attribute else None


def _members(found: Any, paths: set[str]) -> dict[str, Any]:
    """What a class and its bases have, but for bases that are described themselves."""
    others = [base for base in found.mro() if base.canonical_path in paths]
    known = {name for base in others for name in base.all_members}
    members = {name: member for name, member in found.all_members.items() if not name.startswith("_")}
    return {name: _target(member) for name, member in sorted(members.items()) if name not in known}


def _named(found: Any) -> set[str]:
    """The paths of all names in annotations."""
    parts = [found, *(_members(found, set()).values() if found.is_class else ())]
    annotations: list[Any] = [one.annotation for part in parts for one in getattr(part, "parameters", ())]
    annotations += [getattr(part, "returns", None) for part in parts if part.is_function]
    annotations += [part.annotation for part in parts if part.is_attribute]
    annotations += [found.value] if found.is_attribute else []
    annotated = [one for one in annotations if isinstance(one, griffe.Expr)]
    return {
        name.canonical_path for one in annotated for name in one.iterate(flat=True) if isinstance(name, griffe.ExprName)
    }


def _described(found: Any, name: str, paths: set[str]) -> Iterator[str]:
    if found.is_function:
        yield f"def {name}{_signature(found)}"
    elif found.is_class:
        ours = [base for base in found.bases if isinstance(base, griffe.Expr)]
        bases = [str(base) for base in ours if (at := base.canonical_path) in paths or not at.startswith(PACKAGE)]
        yield f"class {name}" + (f"({', '.join(bases)})" if bases else "")
        members = _members(found, paths)
        if found.parameters and (members or not bases):
            yield f"  __init__{_parameters(found.parameters)}"
        for one, inside in members.items():
            yield f"  def {one}{_signature(inside)}" if inside.is_function else f"  {one}{_typed(inside)}"
    else:
        yield f"{name}{_typed(found)}"


def _typed(attribute: Any) -> str:
    """The type of an attribute, or the value of a name of a type."""
    if attribute.annotation is not None and "TypeAlias" not in str(attribute.annotation):
        return f": {attribute.annotation}"
    return "" if attribute.name in NAMELESS else f" = {attribute.value}"


def _signature(function: Any) -> str:
    return f"{_parameters(function.parameters)} -> {function.returns}"


def _parameters(parameters: Any) -> str:
    shown, kinds = [], griffe.ParameterKind
    is_keyword = False
    for one in parameters:
        if one.name in {"self", "cls"}:
            continue
        if one.kind is kinds.keyword_only and not is_keyword:
            shown.append("*")
        is_keyword |= one.kind in {kinds.keyword_only, kinds.var_positional}
        star = {kinds.var_positional: "*", kinds.var_keyword: "**"}.get(one.kind, "")
        default = f" = {one.default}" if one.default is not None and not star else ""
        shown.append(f"{star}{one.name}: {one.annotation}{default}")
    return f"({', '.join(shown)})"


def test_the_commands_are_as_stated() -> None:
    made: dict[tuple[str, ...], Command] = {(one.name,): one for commands in GROUPS.values() for one in commands}
    made |= {("keys", one.name): one for one in KEYS}
    codes = {"0": ["success"], "130": ["Ctrl-C"]}
    for condition, error in sorted(BY_CONDITION.items()):
        codes.setdefault(str(output.code(error("failed"))), []).append(condition)
    lines = [[f"exit {code}: {', '.join(names)}" for code, names in sorted(codes.items())]]
    lines += [list(_command(names, made[names])) for names in COMMANDS]
    same("cli.txt", "The commands of pme-parquet. Compared by tests/architecture/test_api.py.", lines)


def _command(names: tuple[str, ...], made: Command) -> Iterator[str]:
    yield " ".join(names)
    found: Any = typer.main.get_command(app)
    for name in names:
        found = found.commands[name]
    types = inspect.signature(made.callback).parameters
    for one in found.params:
        name = " ".join([*one.opts, *one.secondary_opts]) if one.opts[0].startswith("-") else one.metavar
        default = "" if one.default in (None, [], ()) else f" = {one.default}"
        variable = f", or {one.envvar}" if one.envvar else ""
        yield f"  {name}: {_type(types[one.name].annotation)}{default}{variable}"


def _type(annotation: Any) -> str:
    typed = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return typed.__name__ if isinstance(typed, type) and not get_args(typed) else str(typed).replace("pathlib.", "")


def test_each_command_states_its_document() -> None:
    assert {" ".join(names) for names in COMMANDS} | {"any command that fails"} == set(shapes.declared())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"more": 1}, "more of the document is not declared"),
        ({"rows": "300"}, "rows is string"),
        ({"failed": [{"file": "a", "condition": "b"}]}, "message of failed[] is missing"),
        ({"failed": [{"file": "a", "condition": "b", "message": None}]}, "failed[].message is null"),
    ],
)
def test_a_document_that_differs_from_what_is_stated_is_refused(
    change: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UPDATE_API", raising=False)
    good = {"target": "t", "files": 3, "rows": 300, "pages": 9, "bytes": 2048, "already": 0, "failed": []}
    shapes.require("encrypt", good)
    with pytest.raises(AssertionError, match=re.escape(problem)):
        shapes.require("encrypt", good | change)


def test_counts_by_name_may_have_any_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UPDATE_API", raising=False)
    document = {"path": "t", "dry_run": False, "counts": {"rotated": 1, "another": 2}, "files": []}
    shapes.require("rotate", document)
    with pytest.raises(AssertionError, match=r"counts\{\} is string"):
        shapes.require("rotate", document | {"counts": {"rotated": "1"}})
