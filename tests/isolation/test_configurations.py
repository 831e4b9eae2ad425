"""Scans share what they send to executors only if it is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_scans_share_the_broadcast_of_equal_configurations_only(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    # Spark changes its own, for example when a session first needs a catalog.
    base = jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: FBT003 - Java has no names of arguments

    def configuration(**values: str) -> Any:
        made = jvm.org.apache.hadoop.conf.Configuration(base)
        for name, value in values.items():
            made.set(name, value)
        return made

    def sent(conf: Any, of: SparkSession = spark) -> Any:
        return jvm.io.pmeparquet.spark.session.SharedConf.broadcast(of._jsparkSession, conf)

    first = configuration(secret="a")
    shared = sent(first)
    assert sent(configuration(secret="a")).id() == shared.id()
    assert sent(configuration(secret="b")).id() != shared.id()
    assert sent(configuration(secret="a", more="a")).id() != shared.id()
    assert sent(configuration()).id() != shared.id()
    # A session can have classes of its own.
    assert sent(configuration(secret="a"), spark.newSession()).id() != shared.id()
    # The scan that made it goes on to set its own values.
    first.set("secret", "changed")
    assert shared.value().value().get("secret") == "a"
    assert sent(configuration(secret="a")).id() == shared.id()
    assert sent(first).id() != shared.id()


def test_only_a_few_configurations_are_kept(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    base = jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: FBT003 - as above

    def sent(value: int) -> Any:
        conf = jvm.org.apache.hadoop.conf.Configuration(base)
        conf.set("kept", str(value))
        return jvm.io.pmeparquet.spark.session.SharedConf.broadcast(spark._jsparkSession, conf)

    # A reference keeps each of them from being collected.
    made = [sent(value) for value in range(9)]
    assert [sent(value).id() for value in range(1, 9)] == [one.id() for one in made[1:]]
    assert sent(0).id() != made[0].id()
