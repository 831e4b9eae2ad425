"""What an error says about itself, in any PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Callable

DONE = "done"


def condition(error: BaseException) -> str:
    """Return the error's condition (``getErrorClass`` before PySpark 4.0), or the name of its class."""
    for name in ("getCondition", "getErrorClass"):
        method = getattr(error, name, None)
        if method is not None:
            return str(method() or type(error).__name__)
    return type(error).__name__


def innermost_condition(error: BaseException) -> str:
    """Return the error's condition, or that of the innermost cause if PySpark does not look at causes."""
    found = condition(error)
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None:
        if is_instance_of(SparkContext._gateway, cause, "org.apache.spark.SparkThrowable"):
            found = str(cause.getErrorClass() or found)
        cause = cause.getCause()
    return found


def outcome(action: Callable[[], object], by: Callable[[BaseException], str] = condition) -> str:
    """Return "done", or the condition of the error that the action raises."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 - any two outcomes are compared
        return by(error)
    return DONE
