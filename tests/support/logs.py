"""What a JVM logs: everything, in a file, or our warnings on the driver."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

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


@contextmanager
def warnings(spark: SparkSession) -> Iterator[list[str]]:
    """Collect our warnings on the driver during the block; they are complete after it."""
    jvm: Any = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    writer = jvm.java.io.StringWriter()
    layout = log4j.core.layout.PatternLayout.createDefaultLayout()
    name = f"seen-{uuid4().hex[:8]}"
    appender = log4j.core.appender.WriterAppender.newBuilder().setName(name).setTarget(writer).setLayout(layout).build()
    appender.start()
    logger = log4j.LogManager.getLogger("io.pmeparquet")
    level = logger.getLevel()
    logger.addAppender(appender)
    logger.setLevel(log4j.Level.WARN)
    found: list[str] = []
    try:
        yield found
    finally:
        logger.removeAppender(appender)
        logger.setLevel(level)
        found += [line for line in writer.toString().splitlines() if line]
