"""A job that encrypts tables of a real Delta, which a session without our factory has written in plaintext.

Run as ``python -m tests.delta.encrypt_job DIRECTORY PART…``. The parts are functions. It leaves the tables in the
directory.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import encrypt_killed_job, watched
from tests.delta.delta_tables import CANARY, FACTORY_NAME, collected, session
from tests.delta.encrypt_faults import concurrent, conflicts, killed, stopped, told
from tests.delta.encrypt_others import changed, large, named, races
from tests.delta.encrypt_tables import COLUMNS, NAMES, NESTED, OPEN, Encrypting, EncryptResult, follow, row
from tests.support import file_systems, java
from tests.support.canary import find_canaries
from tests.support.processes import picked, print_result
from tests.support.session import write_keys


def simple(job: Encrypting) -> None:
    """Encrypt a table twice, and write to it."""
    table = job.written("simple")
    job.read("simple refused", "simple")
    job.encrypt("simple", table, OPEN)
    job.encrypt("simple again", table, OPEN)
    job.read("simple rows", "simple")
    job.sql(f"INSERT INTO delta.`{table}` {row('8, 10, 1, 1')}")
    job.encrypt("simple appended", table, OPEN)
    keys = "map('footerKey', 'footer', 'columnKeys', 'pii: ssn', 'unlistedColumns', 'plaintext')"
    other = job.written("sql")
    for function in ("encrypt", "rotate"):
        call = f"pme_delta_{function}('{other}', options => {keys})"
        job.note(f"simple sql {function}", f"SELECT files_rewritten, rows, columns['ssn'], columns['id'] FROM {call}")
    job.check("check simple", "simple")
    shutil.copy(stray(job), Path(table, "stray.parquet"))
    job.check("check simple of a stray file", "simple")
    job.check("check simple without a session", "simple", spark=None)
    (job.work / "others").mkdir()
    others = write_keys(job.work / "others", ("pii",))
    job.check("check simple without the key", "simple", kms={"kms": "static", "kms.static.keys": f"file:{others}"})


def stray(job: Encrypting) -> Path:
    """Write a file whose encrypted footer hides that `ssn` is not encrypted, and return it."""
    enc = pme.Encryption(footer_key="footer", column_keys={"pay": ["id"]}, unlisted_columns="plaintext")
    place = job.work / "stray"
    frame = job.spark.sql(row("100, 101, 1, 1")).write.mode("overwrite")
    frame.format("pme-parquet").options(**replace(enc, kms=job.kms).options()).save(str(place))
    [file] = place.rglob("part-*.parquet")
    return file


def mapped(job: Encrypting) -> None:
    """Encrypt nested columns under column mapping, where files have other names."""
    for mode in ("name", "id"):
        table = job.written(mode, f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')")
        job.openly(f"ALTER TABLE delta.`{table}` RENAME COLUMN ssn TO number")
        job.openly(f"ALTER TABLE delta.`{table}` RENAME COLUMN number TO ssn")
        job.encrypt(mode, table, NESTED)
        job.encrypt(f"{mode} again", table, NESTED)
        job.check(f"check {mode}", mode)
        job.read(f"{mode} rows", mode)


def whole(job: Encrypting) -> None:
    """Encrypt every column of a table with partitions, deletion vectors and change data."""
    more = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"
    table = job.written("whole", f"PARTITIONED BY (day) TBLPROPERTIES ({more})")
    job.openly(f"DELETE FROM delta.`{table}` WHERE id = 4")
    every = {"footer": ["id", "ssn", "home", "jobs", "notes"]}
    enc = pme.Encryption(footer_key="footer", column_keys=every)
    job.encrypt("whole: no columns", table, pme.Encryption(uniform_key="footer"))
    job.encrypt("whole", table, enc)
    job.read("whole rows", "whole")
    changes = f"table_changes_by_path('{table}', {job.result('whole').version})"
    job.note("whole changes", f"SELECT count(*) FROM {changes}")
    job.encrypt("whole again", table, enc)
    job.check("check whole", "whole")


def cleaned(job: Encrypting) -> None:
    """Follow the advice of the result, a month later."""
    # Delta 4 compares the first retention, if only it is set, with 7 days.
    kept = "'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 1 days'"
    own = f"'delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '7', {kept}"
    table = job.written("cleaned", f"TBLPROPERTIES ({own})")
    job.openly(f"DELETE FROM delta.`{table}` WHERE ssn = '{CANARY}-3'")
    job.openly(f"UPDATE delta.`{table}` SET day = 'other' WHERE ssn = '{CANARY}-4'")
    job.encrypt("cleaned", table, encrypt_killed_job.ENC)
    job.attempt("cleaned before", lambda: [str(one) for one in find_canaries(table, [CANARY])])
    follow(job, "cleaned", table, job.result("cleaned").statements)
    job.check("check cleaned", "cleaned")
    job.check("check cleaned of named columns", "cleaned", ["ssn", "home.street"])
    job.check("check cleaned without a session", "cleaned", spark=None)
    job.read("cleaned rows", "cleaned")
    job.note("cleaned properties", f"SHOW TBLPROPERTIES delta.`{table}`")


def refused(job: Encrypting) -> None:
    """Ask for what would not be encrypted."""
    table = job.written("refused")
    other = pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}, aad_prefix="people")
    job.encrypt("refused: prefix", table, other)
    job.encrypt("refused: footer", table, pme.Encryption(footer_key="pay"))
    job.encrypt("refused: no such key", table, pme.Encryption(footer_key="footer", column_keys={"nobody": ["ssn"]}))
    job.encrypt("refused: no such column", table, pme.Encryption(footer_key="footer", column_keys={"pii": ["snn"]}))
    job.encrypt("refused: kms", table, pme.Encryption(kms="vault", footer_key="footer"))
    without = job.spark.newSession()
    without.conf.set(FACTORY_NAME, "")
    job.encrypt("refused: no factory", table, OPEN, without)
    job.encrypt("refused: no table", job.place("nothing"), OPEN)
    job.encrypt("refused: no name", "nothing", OPEN)
    job.keep("refused: no keys", lambda: pme.delta.rotate(job.spark, table, OPEN))
    columns = "id LONG, ssn STRING"
    shows = {
        "partition": (columns, "PARTITIONED BY (ssn)"),
        "cluster": (columns, "CLUSTER BY (ssn)"),
        "default": (f"id LONG, ssn STRING DEFAULT '{CANARY}'", "'delta.feature.allowColumnDefaults' = 'supported'"),
        "constraint": (columns, f"'delta.constraints.c' = 'ssn <> \\'{CANARY}\\''"),
        "planted": (columns, "'pme-parquet.kms.vault.url' = 'http://127.0.0.1:1'"),
        "order": ("ssn MAP<STRING, STRING>", ""),
    }
    for name, (listed, more) in shows.items():
        made = f"TBLPROPERTIES ({more})" if more.startswith("'") else more
        job.encrypt(f"refused: {name}", job.written(f"refused-{name}", made, listed), OPEN)
    keys = "'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pay: ssn'"
    silent = "'delta.dataSkippingNumIndexedCols' = '0'"
    keyed = job.place("refused-keys")
    job.sql(f"CREATE TABLE delta.`{keyed}` ({columns}) USING delta TBLPROPERTIES ({keys}, {silent})")
    job.encrypt("refused: keys", keyed, OPEN)
    job.encrypt("refused: generated", job.generated("refused-generated"), OPEN)


def clustered(job: Encrypting) -> None:
    """Encrypt a table with liquid clustering."""
    table = job.written("clustered", "CLUSTER BY (id)")
    job.encrypt("clustered", table, OPEN)
    job.read("clustered rows", "clustered")
    # A name that SQL has in backticks only.
    job.encrypt("odd name", job.written("odd-name", columns="`a-b` LONG, ssn STRING"), OPEN)


def restored(job: Encrypting) -> None:
    """Go back to plaintext."""
    table = job.written("restored")
    job.encrypt("restored", table, OPEN)
    job.note("restored: refused", f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 1")


def rotated(job: Encrypting) -> None:
    """Change a master key, and take the same keys again."""
    table = job.written("rotated")
    job.encrypt("rotated: encrypted", table, OPEN)
    before = job.result("rotated: encrypted").version
    new = pme.Encryption(footer_key="footer", column_keys={"pii-2": ["ssn"]}, unlisted_columns="plaintext")
    job.encrypt("rotated: refused", table, new)
    job.keep("rotated", lambda: pme.delta.rotate(job.spark, table, new))
    job.keep("rotated: again", lambda: pme.delta.rotate(job.spark, table, new))
    job.read("rotated rows", "rotated")
    job.check("check rotated", "rotated")
    job.read("rotated: rows before", "rotated", f"VERSION AS OF {before}")
    job.keep_live("rotated", "rotated")
    [live] = job.live["rotated"]
    usage = pme.key_usage(job.spark, f"{table}/{live}", kms=job.kms).select("master_key", "kind", "columns").collect()
    job.attempt("rotated: keys", lambda: sorted(repr(tuple(one)) for one in usage if one[0]))
    for name, change in {
        "rotate": lambda: pme.rotate(job.spark, table, kms=job.kms, master_keys={"pii-2": "pii"}),
        "in place": lambda: pme.encrypt(job.spark, table, enc=replace(OPEN, kms=job.kms), in_place=True),
    }.items():
        job.attempt(f"rotated: bare {name}", change)


def footers(job: Encrypting) -> None:
    """Encrypt files that a session with another footer key wrote, and a table with row tracking."""
    table = job.written("footers")
    job.encrypt("footers", table, OPEN)
    other = job.spark.newSession()
    other.conf.set("pme-parquet.footerKey", "pay")
    other.sql(f"INSERT INTO delta.`{table}` {row('8, 10, 1, 1')}")
    job.encrypt("footers: other", table, OPEN)
    job.encrypt("footers: again", table, OPEN)
    live = job.spark.read.format("delta").load(table).inputFiles()
    usage = [row for file in live for row in pme.key_usage(job.spark, file, kms=job.kms).collect()]
    job.attempt("footers: keys", lambda: sorted({one["master_key"] for one in usage if one["kind"] == "footer"}))
    tracked = job.written("tracked", "TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    job.encrypt("tracked", tracked, OPEN)
    job.encrypt("tracked again", tracked, OPEN)


def dropped(job: Encrypting) -> None:
    """Drop a column that has a key, and give the table its other keys."""
    table = job.written("dropped", "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    both = replace(OPEN, column_keys={"pii": ["ssn"], "pay": ["jobs"]})
    job.encrypt("dropped: encrypted", table, both)
    made = f"delta.`{table}`"
    job.note("dropped: drop", f"ALTER TABLE {made} DROP COLUMN ssn")
    insert = f"INSERT INTO {made} SELECT id, day, home, jobs, notes FROM ({row('8, 10, 1, 1')})"
    job.note("dropped: refused", insert)
    rest = replace(OPEN, column_keys={"pay": ["jobs"]})
    job.keep("dropped: rotated", lambda: pme.delta.rotate(job.spark, table, rest))
    job.note("dropped: insert", insert)
    job.note("dropped: rows", f"SELECT count(*), count(jobs[0].pay) FROM {made}")
    job.keep_live("dropped", "dropped")
    job.check("check dropped", "dropped")


def draft(job: Encrypting) -> None:
    """Write to a table with the names of Delta's draft for encryption, and rotate its keys."""
    own = job.spark.newSession()
    own.conf.set("spark.databricks.delta.allowArbitraryProperties.enabled", "true")
    made = f"delta.`{job.place('draft')}`"
    keys = "'delta.encryption.footer_key' = 'footer', 'delta.encryption.column_keys' = 'pii: ssn'"
    silent = "'delta.dataSkippingStatsColumns' = 'id'"
    create = f"CREATE TABLE {made} ({COLUMNS}) USING delta TBLPROPERTIES ({keys}, {silent}"
    for name in ("kms_id", "plaintext_footer"):
        job.attempt(f"draft: {name}", partial(collected, own, f"{create}, 'delta.encryption.{name}' = 'true')"))
    collected(own, f"{create})")
    collected(own, f"INSERT INTO {made} {row('0, 8, 1, 2')}")
    drop = f"ALTER TABLE {made} UNSET TBLPROPERTIES ('delta.encryption.column_keys')"
    job.attempt("draft: drop", partial(collected, own, drop))
    job.note("draft: delete", f"DELETE FROM {made} WHERE ssn = '{CANARY}-1'")
    job.read("draft rows", "draft")
    job.check("check draft", "draft")
    frame = job.spark.sql(row("8, 9, 1, 1")).write.format("delta").mode("append")
    given = frame.option("delta.encryption.column_keys", "pii: ssn")
    job.attempt("draft: options", lambda: given.save(job.place("draft")))
    new = replace(OPEN, column_keys={"pii-2": ["ssn"]})
    job.keep("draft", lambda: pme.delta.rotate(job.spark, job.place("draft"), new))
    job.read("draft rows rotated", "draft")


PARTS = {
    part.__name__: part
    for part in (
        simple,
        mapped,
        whole,
        cleaned,
        refused,
        clustered,
        concurrent,
        restored,
        rotated,
        told,
        conflicts,
        footers,
        dropped,
        draft,
        named,
        large,
        changed,
        races,
        killed,
        stopped,
    )
}


def main() -> None:
    work = Path(sys.argv[1])
    spark = session(work)
    write_keys(work, NAMES)
    if sys.argv[2:] != ["simple"]:
        classes = work / "classes"
        java.compile_to(classes, watched.SOURCE, *sorted(Path(file_systems.__file__).parent.glob("*.java")))
        java.add_to_class_path(spark, classes)
    job = Encrypting(spark, work)
    for name in sys.argv[2:]:
        PARTS[name](job)
    spark.stop()
    print_result(picked(EncryptResult, job))


if __name__ == "__main__":
    main()
