"""The command `scripts/house`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from layers import check, draw, rules

PROJECT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Checks or draws; 0 if all is well, 1 if something breaks the rules."""
    given = _parser().parse_intermixed_args(arguments)
    file = given.rules or given.project / "scripts" / "layers.txt"
    sections = [one for one in rules.read(file) if not given.sections or one.title in given.sections]
    checked = check.read(given.project, sections)
    if given.command == "draw":
        sys.stdout.write(f"{draw.picture(checked)}\n")
        return 0
    problems = [problem for one in checked for problem in check.problems(one)]
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/house", description="Which part of the project may use which.")
    parser.add_argument("command", choices=("check", "draw"), help="list what breaks the rules, or draw a picture")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="of the rules, as 'jvm packages'; else all")
    parser.add_argument("--project", type=Path, default=PROJECT, help="another tree than this one")
    parser.add_argument("--rules", type=Path, help="other rules than the tree's scripts/layers.txt")
    return parser
