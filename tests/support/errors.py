"""What an error says about itself, whichever PySpark raised it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def outcome(action: Callable[[], object]) -> str:
    """Return "done", or the condition of the error that the action raises."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 - two outcomes are compared, whatever they are
        return condition(error)
    return DONE
