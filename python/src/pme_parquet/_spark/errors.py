"""Makes failures of the connector surface as `PmeError` in Python, in classic sessions and over Spark Connect.

PySpark turns every JVM exception into a Python one in a single function, `convert_exception`: one for classic
sessions, one for Connect. `install_errors` puts a function in front of each that hands on whatever is not the
connector's. What it raises is both a `PmeError` and what PySpark would have raised, so handlers of either work on.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from typing import TYPE_CHECKING, Any, cast

from pme_parquet._audience import current
from pme_parquet._spark.connector import misfit, misfit_in, unloadable
from pme_parquet.errors import BY_CONDITION, NoKeyError, PmeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pme_parquet._spark.connector import Misfit

_CLASSIC = "pyspark.errors.exceptions.captured"
_CONNECT = "pyspark.errors.exceptions.connect"
_CONNECT_CLIENT = "pyspark.sql.connect.client.core"  # imports convert_exception by name
_WITH_TEXTS = {"PmeException", "PmeSparkException"}
_MARK = "_pme_parquet"
_LONGEST_CHAIN = 32
_FRAMES = 8
# Errors of a JVM with classes that were not compiled for each other.
_LINKING = frozenset(
    {
        "AbstractMethodError",
        "BootstrapMethodError",
        "ExceptionInInitializerError",
        "IllegalAccessError",
        "IncompatibleClassChangeError",
        "NoClassDefFoundError",
        "NoSuchFieldError",
        "NoSuchMethodError",
        "UnsupportedClassVersionError",
        "VerifyError",
    }
)

# The connector's message in a text: its beginning (Connect may put the class in brackets before it), or after the
# name of the connector's exception class: "... failed: io.pmeparquet.spark.session.PmeSparkException: [PME_...] ...".
_IN_TEXT = re.compile(r"(?:^(?:\([\w.$]+\) )?|io\.pmeparquet\.[\w.$]+: )(\[(PME_[A-Z_]+)\] [^\n]*)")


# parquet-java has no keys for an encrypted file; the file's name is in Spark's message around it.
_NO_KEYS = re.compile(r"ParquetCryptoRuntimeException: [^\n]*(?:No keys available|Null File Decryptor)")
_FILE = re.compile(r"(?:reading file|for file:) (?:\w+\{path=)?([^\s;]+?)\.?(?:[\s;]|$)")
_MIXED: dict[tuple[type[PmeError], type[Exception]], type[PmeError]] = {}


def install_errors() -> None:
    """Map failures of the connector to Python classes. Calling it again has no effect.

    `configure` and the `options()` of this package's classes call it. Call it yourself if you use none of them.
    """
    for module_name, found in ((_CLASSIC, _found_in_classic), (_CONNECT, _found_in_connect)):
        try:
            module = importlib.import_module(module_name)
        except ImportError:  # no PySpark here, or one without Connect's or classic's own dependencies
            continue
        _put_in_front(module, found)
    client = sys.modules.get(_CONNECT_CLIENT)
    if client is not None:
        client.convert_exception = sys.modules[_CONNECT].convert_exception  # type: ignore[attr-defined]


def _put_in_front(module: Any, found: Callable[..., tuple[str, Any] | None]) -> None:  # noqa: ANN401 a module
    original = module.convert_exception
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def convert_exception(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 PySpark's signature differs by version
        converted = original(*args, **kwargs)
        if isinstance(converted, PmeError):
            return converted
        ours = found(converted, *args)
        return converted if ours is None else _as_pme_error(converted, *ours)

    setattr(convert_exception, _MARK, True)
    module.convert_exception = convert_exception


def _found_in_classic(converted: Any, java: Any, *_: Any) -> tuple[str, Any] | None:  # noqa: ANN401 py4j is untyped
    """The message of the connector's exception: among the causes, or in the text if a cause was lost on the way."""
    for cause in _causes(java):
        message = str(cause.getMessage())
        if message.startswith("[PME_") and str(cause.getClass().getName()).startswith("io.pmeparquet."):
            # The clients of other key tools throw exceptions of their own, with one text.
            has_texts = str(cause.getClass().getSimpleName()) in _WITH_TEXTS
            return str(cause.textFor(current())) if has_texts else message, cause
    text = getattr(converted, "_desc", None) or getattr(converted, "desc", None) or ""
    return (
        _in_texts([text], java)
        or _misfit(java)
        or _without_keys([str(cause.toString()) for cause in _causes(java)], java)
    )


def _found_in_connect(converted: Any, *args: Any) -> tuple[str, Any] | None:  # noqa: ANN401 as above
    """The message in the server's answer: from the chain of errors if it sends one, else from text and stack trace."""
    for error in (error for argument in args for error in getattr(argument, "errors", ())):
        if any(name.startswith("io.pmeparquet.") for name in error.error_type_hierarchy):
            # PySpark 3.5 has none.
            parameters = getattr(getattr(error, "spark_throwable", None), "message_parameters", {})
            return str(parameters.get("text.python") or error.message), None
    texts = [str(text) for name in ("_message", "message", "_stacktrace") if (text := getattr(converted, name, None))]
    misfit_there = _message_of(misfit_in("\n".join(texts), connect=True), None)
    return _in_texts(texts, None) or misfit_there or _without_keys(texts, None)


def _without_keys(texts: list[str], java: Any) -> tuple[str, Any] | None:  # noqa: ANN401 as above
    """What to type where Spark's own Parquet source met an encrypted file."""
    text = "\n".join(texts)
    if not _NO_KEYS.search(text):
        return None
    file = _FILE.search(text)
    path = file[1] if file else "a file"
    message = (
        f'read: {path} is encrypted, and format("parquet") has no keys. Read the table with pme.read(spark, "PATH", '
        'kms=keys), or with spark.read.format("pme-parquet").options(**keys.options()).load("PATH"); keys is, for '
        'example, pme.Keystore("keys.p12", password=pme.env("PME_KEYSTORE_PASSWORD")).'
    )
    return NoKeyError(message).message, java


def _misfit(java: Any) -> tuple[str, Any] | None:  # noqa: ANN401 as above
    """What is wrong with a session that does not find the format or cannot load the connector."""
    for cause in _causes(java):
        text = str(cause.toString())
        found = misfit_in(text)
        if found is None and _is_of_linking(cause):
            found = unloadable(text.partition("\n")[0])
        if found is not None:
            return _message_of(_looked_at() or found, java)
    return None


def _is_of_linking(cause: Any) -> bool:  # noqa: ANN401 as above
    """Whether classes of the connector failed to load or to link."""
    if str(cause.getClass().getSimpleName()) not in _LINKING:
        return False
    return any(
        str(frame.getClassName()).startswith("io.pmeparquet.") for frame in list(cause.getStackTrace())[:_FRAMES]
    )


def _looked_at() -> Misfit | None:
    """A more exact reason, from what the connector's jar says about itself."""
    from pyspark import SparkContext  # noqa: PLC0415 nothing happens at import

    context: Any = SparkContext._active_spark_context  # noqa: SLF001 the session that failed
    return None if context is None else misfit(context._jvm)  # noqa: SLF001 as PySpark does


def _message_of(found: Misfit | None, java: Any) -> tuple[str, Any] | None:  # noqa: ANN401 as above
    return None if found is None else (found.error("Spark").message, java)


def _causes(java: Any) -> Iterator[Any]:  # noqa: ANN401 as above
    for _ in range(_LONGEST_CHAIN):
        if java is None:
            return
        yield java
        java = java.getCause()


def _in_texts(texts: list[str], java: Any) -> tuple[str, Any] | None:  # noqa: ANN401 as above
    for text in texts:
        match = _IN_TEXT.search(text)
        if match and match[2] in BY_CONDITION:
            return match[1].strip(), java
    return None


def _as_pme_error(converted: Exception, message: str, java: Any) -> PmeError:  # noqa: ANN401 as above
    match = re.match(r"\[(PME_[A-Z_]+)\]", message)
    ours = BY_CONDITION.get(match[1], PmeError) if match else PmeError
    error = _mixed(ours, _spark_base(type(converted)))
    raised: PmeError = error.__new__(error, message)
    raised.__dict__.update(converted.__dict__)
    raised.args = (message,)
    raised.message, raised.java_exception, raised.spark_error = message, java, converted
    return raised


def _spark_base(converted: type[Exception]) -> type[Exception]:
    """PySpark's class, except its UnknownException: classic PySpark drops that one and raises the raw py4j error."""
    return converted.__bases__[0] if converted.__name__ == "UnknownException" else converted


def _mixed(ours: type[PmeError], sparks: type[Exception]) -> type[PmeError]:
    """A class that is both. It is made here because PySpark is not imported before it is used."""
    if (ours, sparks) not in _MIXED:
        methods = {
            "getCondition": _condition,
            "getErrorClass": _condition,
            "getMessage": _message,
            "__reduce__": _pickled,
        }
        attributes = {"__module__": ours.__module__, "__doc__": ours.__doc__}
        _MIXED[ours, sparks] = cast("type[PmeError]", type(ours.__name__, (ours, sparks), methods | attributes))
    return _MIXED[ours, sparks]


def _condition(error: PmeError) -> str:
    return error.condition


def _message(error: PmeError) -> str:
    return error.message


def _pickled(error: PmeError) -> tuple[type[PmeError], tuple[str]]:
    """Pickles as the plain class: no name leads to the mixed class in another process."""
    return BY_CONDITION.get(error.condition, PmeError), (error.message,)
