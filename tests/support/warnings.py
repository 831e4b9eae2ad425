"""Our warnings in the driver's log."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


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
