"""Which files of a table `deltalake` says are live, for whoever looks at them and not at the log."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pme_parquet._logs.live import Live, live
from pme_parquet._logs.log import LOG, copied
from pme_parquet._storage import storage

if TYPE_CHECKING:
    from pme_parquet._access import Access

# What commits and checkpoints are.
_OF_VERSIONS = (".json", ".parquet")


def said(table: str, reached: Access) -> Live:
    """The newest version of a Delta table and its live files, or why they are not known.

    Raises:
        PmeError: the storage cannot list the table.
    """
    files = storage(table, reached.options)
    of_log = [one for one in files.everything() if one.shown.replace("\\", "/").startswith(LOG)]
    unread: list[str] = []
    with TemporaryDirectory(prefix="pme-delta-") as directory:
        log = copied(files, of_log, Path(directory), lambda file, _: unread.append(file))
        if any(file.endswith(_OF_VERSIONS) for file in unread):
            return Live(problem="parts of its log could not be read")
        return live(Path(directory), log)
