"""Read hostile files, one after the other, in a process of its own with a small heap, and write down how it went.

Run as ``python -m tests.attacks.small_heap_job DIRECTORY``: ``attacks.json`` there lists the files, and after each
read a line with its name and its outcome is added to ``outcomes.jsonl``.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.attacks.probe import Probe, Query
from tests.support.session import JAVA_OPTIONS, builder, session_settings

HEAP = "512m"

# A read that takes this long will not end.
HUNG_SECONDS = 120


def main(work: Path) -> None:
    """Read the files that the test put there."""
    spark = builder(
        session_settings(work) | {"spark.driver.memory": HEAP, "spark.driver.extraJavaOptions": JAVA_OPTIONS}
    ).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    with ThreadPoolExecutor(1) as pool, (work / "outcomes.jsonl").open("w", encoding="utf-8") as outcomes:
        probe = Probe(spark, "pages", work, pool)
        for one in json.loads((work / "attacks.json").read_text()):
            faulthandler.dump_traceback_later(HUNG_SECONDS, exit=True)
            query = Query(one["where"], tuple(tuple(row) for row in one["expected"]))
            outcome = probe.attempt(work / one["file"], query, {"algorithm": one["algorithm"]})
            outcomes.write(json.dumps([one["name"], outcome]) + "\n")
            outcomes.flush()
        faulthandler.cancel_dump_traceback_later()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
