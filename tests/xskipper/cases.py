"""The 40 API cases of Xskipper, with their data.

From https://github.com/xskipper-io/xskipper, commit 3bfbeea, Apache License 2.0, Copyright 2021 IBM Corp.:
`src/test/resources/test_config/APITests.json` and `input_datasets`. What is skipped differs where Xskipper skips a file
that can hold a row for other data with the same metadata: there, ``why`` says it.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

Row = tuple[object, ...]
Files = dict[str, list[Row]]

FIRST, SECOND, THIRD = "0-3-JTH", "10-23-JT", "20-33-HT"
HT, BJ, JH = (f"date=2018-05-21/{name}" for name in ("10-23-HT", "20-25-BJ", "20-33-JH"))
LONG = "Jerusale" + "m" * 244 + "zzzz"

SAMPLE = pa.schema([("temp", pa.float64()), ("lat", pa.float64()), ("address", pa.string()), ("comments", pa.string())])
NUMBERED = SAMPLE.append(pa.field("num", pa.int32()))
LISTED = pa.schema([("temp", pa.float64()), ("address", pa.string()), ("comments", pa.string())])
DATED = pa.schema([("date", pa.string()), ("account_name", pa.string())])
PAID = DATED.append(pa.field("salary", pa.float64()))

SAMPLE1: Files = {
    FIRST: [(0.1, 12.1, "J", "X3"), (1.1, 12.2, "T", "Y3"), (2.2, 12.3, "H", "Z3")],
    SECOND: [(10.1, 13.1, "J", "X1"), (11.1, 13.2, "T", "Y1"), (22.2, 13.3, "J", "Z1")],
    THIRD: [(20.1, 13.1, "F", "X"), (21.1, 13.1, "T", "Y"), (32.2, 13.1, "T", "Z")],
}
DATA: dict[str, tuple[pa.Schema, Files]] = {
    "sample1": (SAMPLE, SAMPLE1),
    "sample1 updated": (
        SAMPLE,
        {
            FIRST: SAMPLE1[FIRST],
            SECOND: [(None, 13.1, "J", "X1"), *SAMPLE1[SECOND][1:]],
            THIRD: [(9.1, 13.1, "H", "X"), *SAMPLE1[THIRD][1:]],
        },
    ),
    "sample1Multiple": (
        SAMPLE,
        {
            FIRST: [(0.1, 12.1, "J2", "X3"), (1.1, 12.2, "T2", "Y3"), (2.2, 12.3, "H2", "Z3")],
            SECOND: SAMPLE1[SECOND],
            THIRD: [(20.1, 13.1, "H", "X"), *SAMPLE1[THIRD][1:]],
        },
    ),
    "sample1Na": (
        SAMPLE,
        {
            FIRST: [(None, 12.1, "J", "X3"), (1.1, 12.2, "T", "Y3"), (2.2, None, None, "Z3")],
            SECOND: [*SAMPLE1[SECOND][:2], (None, 13.3, "J", "Z1")],
            THIRD: [(20.1, 13.1, "H", "X"), *SAMPLE1[THIRD][1:]],
        },
    ),
    "sample1Na updated": (
        SAMPLE,
        {
            FIRST: SAMPLE1[FIRST],
            SECOND: [(8.1, 13.1, "J", "X1"), *SAMPLE1[SECOND][1:]],
            THIRD: [(20.1, 13.1, "H", "X"), (None, 13.1, "T", "Y"), (None, 13.1, "T", "Z")],
        },
    ),
    "sample1Na2": (
        NUMBERED,
        {
            FIRST: [(None, 12.1, "J", "X3", None), (None, 12.2, "T", "Y3", None), (None, None, None, "Z3", None)],
            SECOND: [(10.1, 13.1, None, "X1", 11), (11.1, 13.2, None, "Y1", 12), (None, 13.3, None, "Z1", None)],
            THIRD: [(20.1, 13.1, "H", "X", 20), (21.1, 13.1, "T", "Y", 21), (32.2, 13.1, "T", "Z", 32)],
        },
    ),
    "vallist1": (
        LISTED,
        {
            HT: [(10.1, "Haifa", "X"), (11.1, "Telaviv", "Y"), (22.2, "Haifa", "Z")],
            BJ: [(20.0, "Jerusalem", "X"), (21.1, "Batyam", "Y"), (25.0, "Jerusalem", "Z")],
            JH: [(20.1, "Jerusalem", "X"), (21.1, "Haifa", "Y"), (32.2, "Jerusalem", "Z"), (32.2, LONG, "Z")],
        },
    ),
    "dates": (
        DATED,
        {
            "c000": [("2018-02-27", "int"), ("2018-02-28", "f6d")],
            "c001": [("2018-02-17", "9a9"), ("2018-02-17", "b20"), ("2018-02-16", "zhe")],
        },
    ),
    "empty": (PAID, {"c000": [("2018-02-27", "int", 9000.5), ("2018-02-28", "f6d", 25000.9)], "c001": []}),
}


class Case(NamedTuple):
    """A query over tables: by each view its data, its indexes, and the files that it does not read."""

    query: str
    tables: dict[str, tuple[str, str, set[str]]]
    updated: tuple[str, set[str]] | None = None
    why: str = ""


WITHIN = "a value between the bounds says nothing of <>"
NULLS = "null bounds do not say that all values are null: a file with only NaN has them, too"
NAN = "bounds from footers leave out NaN, which is greater than all numbers"
BETWEEN = "SELECT address, temp FROM data WHERE temp BETWEEN 0 AND 10"
LETTERS = ", ".join(f"'{letter}'" for letter in ("Telaviv", *"abcdefghijklmnop"))
HUNDREDS = ",".join(str(number) for number in range(100, 202))


def one(data: str, indexes: str, condition: str, *skipped: str, select: str = "*", why: str = "") -> Case:
    """Return a case of one table."""
    return Case(f"SELECT {select} FROM data WHERE {condition}", {"data": (data, indexes, set(skipped))}, why=why)


CASES = [
    one("vallist1", "minmax temp", "temp IN (10, 12, 11)", BJ, JH),
    one("sample1", "minmax temp", "temp IN (1.1, 32.2)", SECOND),
    one(
        "vallist1",
        "minmax temp",
        "temp IN (10, 10.1, 10.2, 10.3, 10.4, 10.15, 10.25, 10.22, 10.5, 11, 12, 10.9)",
        *(BJ, JH),
    ),
    one("vallist1", "minmax temp", f"temp IN ({HUNDREDS})", HT, BJ, JH),
    one("vallist1", "valuelist address", "address NOT IN ('Jerusalem', 'Batyam')", BJ),
    one("sample1", "minmax temp", "temp <> 0.1 AND temp <> 1.1 AND temp <> 2.2", why=WITHIN),
    one("dates", "minmax account_name", "account_name > 'qqq'", "c000"),
    # These tables have a file without rows, which Xskipper does not list.
    one("empty", "valuelist account_name", "account_name IN ('f6d')"),
    one("empty", "minmax salary", "salary > 9000"),
    one("sample1Na2", "minmax temp", "temp > 10", why=NULLS),
    one("sample1Na2", "minmax temp", "temp > -5", why=NULLS),
    one("sample1Na2", "valuelist address", "address IN ('H')", FIRST, SECOND),
    one("sample1Na2", "bloomfilter address", "address IN ('H')", FIRST, SECOND),
    one("sample1Na2", "minmax temp, valuelist address", "address IN ('H') AND temp > 10", FIRST, SECOND),
    one("sample1Na2", "bloomfilter address, minmax temp", "address IN ('H') AND temp > 10", FIRST, SECOND),
    one("sample1Na", "valuelist address", "address IN ('H')", FIRST, SECOND),
    one("sample1", "valuelist temp", "temp IN (21.1)", FIRST, SECOND),
    one("sample1Na2", "bloomfilter num", "num IN (21)", FIRST, SECOND),
    one("vallist1", "valuelist address", f"address IN ({LETTERS})", BJ, JH),
    one("vallist1", "bloomfilter address", f"address IN ({LETTERS})", BJ, JH),
    one("sample1Na", "minmax temp", "temp BETWEEN 0 AND 10", SECOND, THIRD),
    Case(BETWEEN, {"data": ("sample1", "minmax temp", {SECOND, THIRD})}, ("sample1 updated", {SECOND})),
    Case(BETWEEN, {"data": ("sample1", "minmax temp", {SECOND, THIRD})}, ("sample1Na updated", {THIRD})),
    one("sample1", "minmax temp", "temp BETWEEN 0 AND 10", SECOND, THIRD),
    # With a slash behind the path, in Xskipper's.
    one("sample1", "minmax temp", "temp BETWEEN 0 AND 10", SECOND, THIRD, select="address"),
    one("sample1", "valuelist address, minmax temp", "address IN ('H') OR temp < 11.1", THIRD),
    one("sample1", "minmax temp", "temp < 10.1", SECOND, THIRD),
    one("sample1", "minmax temp", "temp = 0.1", SECOND, THIRD),
    one("sample1", "minmax temp", "temp <= 10.1", THIRD),
    one("vallist1", "valuelist address", f"address IN ('{LONG}')", BJ, HT),
    one(
        "vallist1",
        "valuelist address, minmax temp",
        "address IN ('Jerusalem') AND temp BETWEEN 0 AND 15",
        *(JH, BJ, HT),
    ),
    one("sample1", "minmax temp", "tEmP <= 10.1", THIRD),
    Case(
        "SELECT * FROM a WHERE temp < 10 UNION ALL SELECT * FROM b WHERE temp < 5",
        {"a": ("sample1", "minmax temp", {SECOND, THIRD}), "b": ("sample1Multiple", "minmax temp", {SECOND, THIRD})},
    ),
    Case(
        "SELECT a.*, b.* FROM a JOIN b ON a.temp = b.temp WHERE a.temp < 10 AND b.temp < 9.5",
        {"a": ("sample1", "minmax temp", {SECOND, THIRD}), "b": ("sample1Multiple", "minmax temp", {SECOND, THIRD})},
    ),
    one("sample1", "minmax temp, valuelist address", "address = 'J' OR temp < 2", THIRD),
    one("sample1", "minmax temp", "address = 'J' OR temp < 2"),
    one("sample1", "minmax temp, valuelist address", "(address = 'J' OR temp < 2) OR temp > 20"),
    one("sample1", "minmax temp, valuelist address", "(comments = 'J' AND temp < 2) OR temp > 30", why=NAN),
    one("sample1", "minmax temp, valuelist address", "NOT (comments = 'J' AND temp < 2) OR temp > 30"),
    one("sample1", "minmax temp, valuelist address", "NOT ((comments = 'J' AND temp < 2) OR temp <= 30)", why=NAN),
]
