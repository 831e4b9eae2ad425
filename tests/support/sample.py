"""Which tests `make test` runs, and in which of its three processes. `make test-all` runs every test on every Spark.

`RULES` says both by folder, file or test. A test with parameters is a table, each combination of their values a row
of it. `make test` takes the first rows that `in_order` returns: first each value once, then each pair of values. The
choice depends on the order in which tests and values are defined, and on no name.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest

# One process runs the tests of the oldest Spark, two those of the newest.
PROCESSES = OLDEST, NEWEST, BESIDE = "oldest", "newest", "beside"
SPLIT, TURNS = "split", "turns"
EVERY = 1_000_000


class Rule(NamedTuple):
    """Which process runs a test, and how many rows of it at most.

    ``BESIDE``: on the newest Spark, in a process of its own, for tests that mostly wait or start processes. The one
    shared session of ``NEWEST`` need not wait for them.

    ``SPLIT``: the Sparks take turns. The newest runs the first row of the first test of a file, the oldest the second
    row of it and the first row of the second test.

    ``TURNS``: the tests of a file take turns. The newest Spark runs all rows of the first test, the oldest those of the
    second. For work of ours that meets little of Spark: `make test-all` runs it on each.
    """

    where: str
    rows: int


# Only `make test-all` runs the test: it takes long, and another one shows most of it, or few changes can break it.
LEFT = Rule("", 0)

# The first matching rule applies.
RULES = {
    # Each row starts a Spark, or all rows start several: on one Spark, with the work divided between the two.
    # The others of tests/attacks have such files, in a larger heap.
    "tests/attacks/test_small_heap": LEFT,
    # Ctrl-C in a rotation has a row here.
    "tests/cli/test_processes.py::test_ctrl_c_leaves_an_encryption": LEFT,
    "tests/cli/test_processes.py::test_ctrl_c_leaves_no_partial_copy": LEFT,
    "tests/cli/test_end_to_end": Rule(OLDEST, EVERY),
    # With a stub of Spark, or in processes of their own.
    "tests/cli/": Rule(BESIDE, EVERY),
    "tests/snapshots/test_command": Rule(BESIDE, EVERY),
    "tests/connect/": LEFT,
    # Delta 3.3 is for Spark 3.5; `make test-all` has one for each Spark up to 4.2. One process writes all tables.
    "tests/delta/test_sessions": Rule(OLDEST, EVERY),
    # Two minutes. tests/delta/test_encrypt_steps has the steps, without Spark.
    "tests/delta/test_encrypt_table": LEFT,
    "tests/delta/test_verify_sessions": Rule(OLDEST, EVERY),
    # Two minutes. tests/delta/test_sessions has most refusals.
    "tests/delta/test_ways_to_set_keys": LEFT,
    # Only `make test-all` has them: a minute each.
    "tests/delta/test_shell": Rule(OLDEST, EVERY),
    "tests/delta/test_platform": Rule(OLDEST, EVERY),
    "tests/delta/test_searched": Rule(OLDEST, EVERY),
    "tests/delta/test_stores": Rule(OLDEST, EVERY),
    # With Spark, but without Delta.
    "tests/delta/test_verify": Rule(NEWEST, EVERY),
    # One process starts two executors. tests/kms/test_cluster has two for our own format.
    "tests/delta/test_calls": LEFT,
    # Without Spark.
    "tests/delta/": Rule(BESIDE, EVERY),
    "tests/doctor/test_cluster": LEFT,
    "tests/doctor/test_shown": Rule(BESIDE, EVERY),
    # Comet and Hudi are for Spark 3.5, and only `make test-all` has them.
    "tests/comet/": Rule(OLDEST, EVERY),
    "tests/hudi/test_sessions": Rule(OLDEST, EVERY),
    # It needs no Spark but to read, and only `make test-all` has Flink.
    "tests/flink/": Rule(NEWEST, EVERY),
    # Without Spark.
    "tests/hudi/": Rule(BESIDE, EVERY),
    # Iceberg 1.11 has a jar for Spark 3.5. One process writes all tables.
    "tests/iceberg/test_tables": Rule(OLDEST, EVERY),
    "tests/iceberg/test_calls": Rule(OLDEST, EVERY),
    "tests/iceberg/test_stores": Rule(OLDEST, EVERY),
    # Without Spark.
    "tests/iceberg/": Rule(BESIDE, EVERY),
    "tests/docs/test_cli_session": Rule(BESIDE, EVERY),
    # The demo and the README's commands run.
    "tests/docs/test_examples.py::test_the_demos_next_steps": LEFT,
    "tests/docs/test_examples.py::test_notebook": LEFT,
    **{f"tests/docs/test_examples.py::test_{name}_example": LEFT for name in ("orc", "sealed", "sql", "streaming")},
    "tests/docs/test_examples": Rule(BESIDE, EVERY),
    "tests/docs/test_pages.py::test_the_code_of_a_page": Rule(NEWEST, 8),
    "tests/kms/test_cluster.py::test_with_encrypted_rpc": LEFT,
    "tests/kms/test_cluster.py::test_nor_is_one_where_rpc": LEFT,
    "tests/kms/test_cluster": Rule(OLDEST, EVERY),
    "tests/leaks/test_heap_dumps": Rule(OLDEST, EVERY),
    "tests/leaks/test_secrets": Rule(BESIDE, EVERY),
    # Keys come to executors as they do for Parquet, which tests/kms/test_cluster shows.
    "tests/orc/test_cluster": LEFT,
    "tests/orc/test_hive": LEFT,
    "tests/orc/test_object_stores": LEFT,
    "tests/packaging/test_accp.py::test_amazons_provider_resolves": LEFT,
    "tests/packaging/test_accp.py::test_without_the_extra": LEFT,
    "tests/packaging/test_accp": Rule(OLDEST, EVERY),
    "tests/packaging/test_cluster": Rule(OLDEST, EVERY),
    "tests/packaging/test_other_sparks": LEFT,
    "tests/packaging/test_packages.py::test_the_connector_resolves_from_an_ivy": LEFT,
    "tests/packaging/test_packages": Rule(BESIDE, 1),
    "tests/packaging/": Rule(BESIDE, EVERY),
    # A migration publishes as a copy does: tests/rekey/test_killed.
    "tests/orc/test_migrate_killed": LEFT,
    "tests/rekey/test_encrypt_killed": Rule(NEWEST, 1),
    "tests/rekey/test_killed": Rule(NEWEST, EVERY),
    "tests/rotation/test_killed": Rule(OLDEST, 1),
    # They need no Spark, or hardly any: on one of the two, where most rows cost nothing.
    "tests/docs/test_links": Rule(BESIDE, EVERY),
    "tests/docs/test_readme": Rule(BESIDE, EVERY),
    "tests/docs/": Rule(NEWEST, EVERY),
    "tests/inspection/test_spark": Rule(OLDEST, 3),
    "tests/inspection/test_names.py::test_inspect_verify": Rule(OLDEST, 1),
    # Without Spark; thousands of altered files.
    "tests/inspection/test_mutations": Rule(BESIDE, 3),
    "tests/inspection/": Rule(BESIDE, EVERY),
    "tests/kms/client/": Rule(BESIDE, EVERY),
    "tests/orc/test_inspect_orc": Rule(BESIDE, EVERY),
    # It waits for a Hadoop KMS and for six JVMs of ORC's tools.
    "tests/orc/test_orc_tools": Rule(BESIDE, EVERY),
    "tests/orc/test_orc_": Rule(BESIDE, 12),
    "tests/kms/test_transit_server": Rule(OLDEST, EVERY),
    "tests/python/": Rule(BESIDE, EVERY),
    "tests/report/test_keyed": Rule(NEWEST, EVERY),
    # Without Spark; each row starts a browser.
    "tests/report/test_browser": Rule(BESIDE, 3),
    "tests/report/": Rule(BESIDE, EVERY),
    # A row is thousands of queries, or hundreds of altered files.
    "tests/attacks/": Rule(TURNS, 1),
    "tests/fuzz/": Rule(OLDEST, EVERY),
    # The fault that it looks for was one of Spark 3.5.
    "tests/pages/test_interpreted": Rule(OLDEST, EVERY),
    "tests/pages/test_predicates": Rule(SPLIT, 2),
    "tests/snapshots/test_equivalence": Rule(SPLIT, 2),
    "tests/verify/test_flipped_bytes": Rule(SPLIT, 2),
    # S3A is of the newest Spark's Hadoop.
    "tests/snapshots/test_object_stores": Rule(NEWEST, EVERY),
    # One process starts HDFS.
    "tests/hdfs/test_killed": Rule(OLDEST, 1),
    # S3A has a row of each.
    "tests/hdfs/test_requests": LEFT,
    "tests/hdfs/test_faults.py::test_a_read_that_meets": LEFT,
    "tests/hdfs/": Rule(OLDEST, 1),
    "tests/clouds/": Rule(NEWEST, EVERY),
    "tests/storage/test_faulty_reads": Rule(NEWEST, 1),
    "tests/storage/test_faults": Rule(NEWEST, 1),
    "tests/storage/test_requests": Rule(NEWEST, 1),
    "tests/storage/": Rule(NEWEST, EVERY),
    "tests/snapshots/test_killed": Rule(NEWEST, 1),
    # A second or two each: every action by someone, and everyone at something.
    "tests/snapshots/test_attackers": Rule(SPLIT, 4),
    # Three to five seconds each.
    "tests/snapshots/test_skipping": Rule(TURNS, 1),
    "tests/snapshots/": Rule(TURNS, 1),
    # Less than a second each: a case of Xskipper's own tests.
    "tests/xskipper/test_reads": Rule(TURNS, EVERY),
    # Plans of each Spark: the rules for denied columns look at all of their nodes.
    "tests/kms/test_denied_columns": Rule(SPLIT, 2),
    # A KMS client works the same below each Spark. tests/kms/client has what it does with every kind of server, without
    # one, so few tests of each client run through Spark.
    "tests/kms/test_aws_failures": LEFT,
    "tests/kms/test_azure": LEFT,
    "tests/kms/test_clouds_failures": LEFT,
    "tests/kms/test_gcp": LEFT,
    "tests/kms/test_orc_services": LEFT,
    "tests/kms/test_vault_failures": LEFT,
    "tests/kms/test_vault_logins": LEFT,
    "tests/kms/test_vault_tls": LEFT,
    "tests/kms/": Rule(TURNS, 1),
    "tests/orc/": Rule(TURNS, 1),
    "tests/pages/test_rows_of_pages": Rule(SPLIT, 2),
    # One process, which starts an executor.
    "tests/interop/test_hive_serde": LEFT,
    "tests/interop/": Rule(TURNS, 1),
    "tests/isolation/": Rule(TURNS, 1),
    "tests/leaks/": Rule(TURNS, 2),
    "tests/plan/": Rule(TURNS, 1),
    # The suites of jvm/spark have all else of these.
    "tests/policy/": Rule(OLDEST, EVERY),
    "tests/rekey/": Rule(TURNS, 1),
    "tests/rotation/": Rule(TURNS, 1),
    "tests/verify/": Rule(TURNS, 1),
    "tests/xskipper/": Rule(TURNS, 4),
    "tests/": Rule(SPLIT, 2),
}


def rule(test: str) -> Rule:
    """Return the rule of a test."""
    return next(made for prefix, made in RULES.items() if test.startswith(prefix))


def chosen(items: Iterable[pytest.Item], process: str | None) -> set[pytest.Item]:
    """Return the tests that one of ``PROCESSES`` runs; without a process, those that all run together."""
    files: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        tests = files.setdefault(item.nodeid.partition("::")[0], {})
        tests.setdefault(name(item), []).append(item)
    return {
        item
        for tests in files.values()
        for place, (test, rows) in enumerate(tests.items())
        for item in _chosen(test, place, rows, process)
    }


def name(item: pytest.Item) -> str:
    """Return the name of a test, which all of its rows share."""
    return item.nodeid.partition("[")[0]


def _chosen(test: str, place: int, items: list[pytest.Item], process: str | None) -> list[pytest.Item]:
    where, most = rule(test)
    # A skipped row takes no place.
    rows = [item for item in items if not is_skipped(item)] or items
    rows = [rows[at] for at in in_order(numbers(rows), most)]
    if where in {SPLIT, TURNS} and all(any(item.iter_markers("skipif")) for item in items):
        # The oldest Spark lacks the tested feature.
        where = NEWEST
    if process is None:
        return rows
    if where == TURNS:
        where = (NEWEST, OLDEST)[place % 2]
    if where != SPLIT:
        return rows if process == where else []
    return [] if process == BESIDE else rows[(place + (process == OLDEST)) % 2 :: 2]


def is_skipped(item: pytest.Item) -> bool:
    """Return whether a test is known to be skipped before it runs."""
    return any(mark.args[0] for mark in item.iter_markers("skipif"))


def in_order(rows: Sequence[Mapping[str, int]], most: int) -> list[int]:
    """Return the places of the first rows: each adds the most new values, and then the most new pairs.

    A row has the number of each parameter's value. Rows that add no pair of values are left out.
    """
    values = [set(row.items()) for row in rows]
    pairs = [set(combinations(sorted(row.items()), 2)) for row in rows]
    taken: list[int] = []
    for _ in range(min(most, len(rows))):
        best = max(range(len(rows)), key=lambda at: (len(values[at]), len(pairs[at]), -at))
        if taken and not pairs[best] and not values[best]:
            break
        taken.append(best)
        seen_values, seen_pairs = values[best], pairs[best]
        values = [row - seen_values for row in values]
        pairs = [row - seen_pairs for row in pairs]
    return sorted(taken)


def numbers(items: Sequence[pytest.Item]) -> list[dict[str, int]]:
    """Return each test's values as numbers: the first value of a parameter is 0, the next other one 1."""
    seen: dict[str, list[object]] = {}
    made = []
    for item in items:
        row: Any = getattr(item, "callspec", None)
        values: dict[str, object] = row.params if row else {}
        made.append({name: _number(value, seen.setdefault(name, [])) for name, value in values.items()})
    return made


def _number(value: object, seen: list[object]) -> int:
    for at, other in enumerate(seen):
        # Values of tests need not be comparable: frames are not.
        if other is value or (type(other) is type(value) and isinstance(value, (str, int, bytes)) and other == value):
            return at
    seen.append(value)
    return len(seen) - 1
