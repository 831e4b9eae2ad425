"""The documents of `--json`, by command: `api/json.txt` has their names and types.

Each document that a test reads must have exactly what the file says. `UPDATE_API=1` writes what a run's documents have.
Of objects whose names are data, such as counts by status, `name{}` stands for all; who adds one writes it by hand.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).parents[2] / "api" / "json.txt"
KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
Shape = dict[str, str]
_documents: dict[str, list[Any]] = defaultdict(list)


def declared() -> dict[str, Shape]:
    """What each command's documents have: types by path. A path that ends in `?` may be missing."""
    _, *sections = FILE.read_text().rstrip().split("\n\n")
    named = (section.splitlines() for section in sections)
    return {command: dict(line.strip().split(": ", 1) for line in lines) for command, *lines in named}


def require(command: str, document: object) -> None:
    """Fail if the document is not as declared."""
    # A command that fails has this document, whichever it is.
    name = "any command that fails" if isinstance(document, dict) and set(document) == {"error"} else command
    shapes = declared()
    own = shapes.get(name, {})
    if os.environ.get("UPDATE_API"):
        _documents[name].append(document)
        shapes[name] = _shape(_documents[name], own)
        _write(shapes)
        return
    problems = list(_problems(document, "", own))
    message = "api/json.txt differs. Programs may depend on what has gone; if it may change: UPDATE_API=1"
    assert not problems, f"{name}: {message}\n" + "\n".join(problems)


def _kind(value: object) -> str:
    return "null" if value is None else KINDS[type(value)]


def _problems(value: object, at: str, own: Shape) -> Iterator[str]:
    kinds = (own.get(at) or own.get(f"{at}?", "" if at else "object")).split(" | ")
    if _kind(value) not in kinds:
        yield f"{at} is {_kind(value)}"
    names = value if isinstance(value, dict) and f"{at}{{}}" not in own else {}
    inside = re.compile(rf"{re.escape(at + '.' if at else '')}(\w+)(\??)")
    known = {found[1]: found[2] for path in own if (found := inside.fullmatch(path))} if names else {}
    for name in names.keys() - known.keys():
        yield f"{name} of {at or 'the document'} is not declared"
    for name in known.keys() - names.keys():
        if not known[name]:
            yield f"{name} of {at or 'the document'} is missing"
    for path, one in _children(value, at, own):
        yield from _problems(one, path, own)


def _children(value: object, at: str, own: Shape) -> list[tuple[str, object]]:
    if isinstance(value, list):
        return [(f"{at}[]", one) for one in value]
    if isinstance(value, dict) and f"{at}{{}}" in own:
        return [(f"{at}{{}}", one) for one in value.values()]
    return [(f"{at}.{name}" if at else name, one) for name, one in value.items()] if isinstance(value, dict) else []


def _shape(documents: list[Any], before: Shape) -> Shape:
    """What the documents have. A name that was declared stays unless it should have been in one of them and was not."""
    kinds: dict[str, set[str]] = defaultdict(set)
    counts: dict[object, int] = defaultdict(int)

    def look(value: object, at: str) -> None:
        kinds[at].add(_kind(value))
        counts[at] += isinstance(value, dict)
        for path, one in _children(value, at, before):
            counts[path, at] += 1
            look(one, path)

    for document in documents:
        look(document, "")
    shape = {}
    for path in kinds.keys() - {""}:
        above = path.rpartition(".")[0]
        is_optional = not path.endswith(("[]", "{}")) and counts[path, above] < counts[above]
        declared = before.get(path) or before.get(f"{path}?", "")
        known = kinds[path] | set(declared.split(" | ") if declared else ())
        shape[f"{path}?" if is_optional or f"{path}?" in before else path] = " | ".join(sorted(known))
    gone: set[str] = set()
    for path in sorted(before, key=lambda path: path.rstrip("?")):
        name = path.rstrip("?")
        above = name.removesuffix("[]").removesuffix("{}") if name.endswith(("[]", "{}")) else name.rpartition(".")[0]
        is_required = not path.endswith(("[]", "{}", "?"))
        if above in gone or (is_required and name not in kinds and counts[above]):
            gone.add(name)
        elif name not in kinds:
            shape[path] = before[path]
    return dict(sorted(shape.items()))


def _write(shapes: dict[str, Shape]) -> None:
    [header, *_] = FILE.read_text().splitlines()
    lines = [header]
    for command, shape in sorted(shapes.items()):
        lines += ["", command, *(f"  {path}: {kinds}" for path, kinds in shape.items())]
    FILE.write_text("\n".join(lines) + "\n")
