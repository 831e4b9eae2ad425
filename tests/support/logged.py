"""Has a JVM log everything, for tests that search what it logs for secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LOGGING = """
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n%ex
logger.ours.name = io.pmeparquet
logger.ours.level = trace
logger.parquet.name = org.apache.parquet
logger.parquet.level = trace
"""


def everything(work: Path, log: Path) -> str:
    """Return the option of a JVM that logs to a file; its configuration is written to a directory."""
    properties = work / "log4j2.properties"
    properties.write_text(LOGGING.format(log=log))
    return f"-Dlog4j2.configurationFile=file:{properties}"
