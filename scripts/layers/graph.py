"""Uses of one part by another, as a graph: its circles, and its edges that paths already imply."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Graph = dict[str, set[str]]


class Use(NamedTuple):
    """A line of a file by which one part of the project uses another.

    Attributes:
        place: the file and the line.
        name: the name in the source.
        user: the part that the file belongs to.
        used: the part that the name belongs to.
    """

    place: str
    name: str
    user: str
    used: str


def graph_of(uses: Iterable[Use], parts: Iterable[str] = ()) -> Graph:
    """Which part uses which, without uses of itself."""
    graph: Graph = {part: set() for part in parts}
    for use in uses:
        graph.setdefault(use.used, set())
        graph.setdefault(use.user, set())
        if use.used != use.user:
            graph[use.user].add(use.used)
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """What a part uses, directly or through others."""
    found: set[str] = set()
    waiting = deque(graph[start])
    while waiting:
        part = waiting.popleft()
        if part not in found:
            found.add(part)
            waiting.extend(graph[part])
    return found


def circles(graph: Graph) -> list[list[str]]:
    """A shortest circle through each knot: parts that each use the next one, and the last one uses the first."""
    reach = {part: reachable(graph, part) for part in graph}
    knots: dict[frozenset[str], str] = {}
    for part in sorted(graph):
        if part in reach[part]:
            knots.setdefault(frozenset(other for other in reach[part] if part in reach[other]), part)
    return [_shortest(graph, knot) for knot in knots]


def _shortest(graph: Graph, knot: frozenset[str]) -> list[str]:
    return min((_circle(graph, part, knot) for part in sorted(knot)), key=len)


def _circle(graph: Graph, start: str, knot: frozenset[str]) -> list[str]:
    before: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        part = waiting.popleft()
        for following in sorted(graph[part] & knot):
            if following == start:
                circle = [part]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return circle[::-1]
            if following not in before:
                before[following] = part
                waiting.append(following)
    raise AssertionError(f"{start} is in no circle of {sorted(knot)}")


def essential(graph: Graph) -> Graph:
    """The graph without edges that a path through other parts implies; edges within a knot stay."""
    reach = {part: reachable(graph, part) for part in graph}
    kept: Graph = defaultdict(set)
    for user, used_by_user in graph.items():
        for used in used_by_user:
            between = (one for one in used_by_user if one != used and user not in reach[one] and one not in reach[used])
            if user in reach[used] or not any(used in reach[one] for one in between):
                kept[user].add(used)
    return {part: kept[part] for part in graph}
