"""A KMS client written in Python, called from the driver's JVM through py4j's callback server."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pme_parquet._spark.connector import misfit
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from logging import LogRecord

_CLASS = "io.pmeparquet.kms.PythonKms"


class KmsCalls(Protocol):
    """The interface of a KMS client in Python. Several threads call it."""

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        """Encrypt a key with a master key. The returned text is stored with the file."""
        ...

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        """Decrypt what `wrap_key` returned.

        Raises:
            PermissionError: this user may not use the master key.
            LookupError: there is no such master key.
        """
        ...


class PythonKms:
    """Master keys behind a client written in Python, for a KMS that has no built-in client.

    The client runs in this process, which must be the driver, and is called once for each key: executors ask the
    driver. So it needs a classic session; with Spark Connect the driver is another process.

    Example:
        class Client:
            def wrap_key(self, key: bytes, master_key_id: str) -> str: ...
            def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes: ...

        kms = pme.PythonKms(Client())
        spark.read.format("pme-parquet").options(**kms.options()).load(path)

    Raises:
        PmeError: `PME_UNSUPPORTED` from `options()` without such a session.
    """

    def __init__(self, client: KmsCalls) -> None:
        from secrets import token_hex  # noqa: PLC0415 slow to import

        self._secrets: list[str] = []
        self._client = type(client).__name__
        self._callback = _callback(client, self._secrets)
        self._id = f"python-{token_hex(16)}"

    def __repr__(self) -> str:
        return f"PythonKms({self._client})"

    def options(self) -> dict[str, str]:
        """The options of the format, for reading and writing. Each call gives the JVM a new secret."""
        from secrets import token_urlsafe  # noqa: PLC0415 slow to import

        install_errors()
        # A call that is under way may still have the one before.
        self._secrets[:] = [*self._secrets[-1:], token_urlsafe()]
        _keep_out_of_logs(self._secrets[-1])
        _register(self._id, self._secrets[-1], self._callback)
        return {"kms": _CLASS, "pme.python.kms": self._id}


def _register(name: str, secret: str, callback: object) -> None:
    from pyspark import SparkContext  # noqa: PLC0415 nothing happens at import
    from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415 as above

    context: Any = SparkContext._active_spark_context  # noqa: SLF001 the existing session; this must not create one
    if context is None:
        message = (
            "pme.PythonKms: the client cannot be called: this process has no Spark driver (over Spark Connect the "
            "driver is another process). Start a classic session first, or use a KMS class."
        )
        raise UnsupportedError(message)
    found = misfit(context._jvm)  # noqa: SLF001 as PySpark does
    if found is not None:
        raise found.error("pme.PythonKms")
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call] # noqa: SLF001 as PySpark does
    context._jvm.io.pmeparquet.kms.PythonKms.register(name, secret, callback)  # noqa: SLF001


class _Redacting:
    """A filter of logs that takes out the secrets: with one, any process on this machine could unwrap keys."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def add(self, secret: str) -> None:
        self._secrets.add(secret)

    def __call__(self, record: LogRecord) -> bool:
        text = record.getMessage()
        found = [secret for secret in tuple(self._secrets) if secret in text]
        if found:
            for secret in found:
                text = text.replace(secret, "(redacted)")
            record.msg, record.args = text, ()
        return True


_REDACTING = _Redacting()


def _keep_out_of_logs(secret: str) -> None:
    """Keep a secret out of what py4j logs at level DEBUG."""
    import logging  # noqa: PLC0415 slow to import

    _REDACTING.add(secret)
    for name in ("py4j.java_gateway", "py4j.clientserver"):
        # Adding it a second time does nothing.
        logging.getLogger(name).addFilter(_REDACTING)


def _callback(client: KmsCalls, secrets: Sequence[str]) -> object:
    """The client as the JVM sees it. It exchanges only text: an exception would take its text and its key across.

    Any process on this machine can call py4j's callback server by any name that the object answers to; only the JVM
    knows the secret. Therefore the object has only the method `call`, and no attributes.
    """
    from hmac import compare_digest  # noqa: PLC0415 slow to import

    def call(given: str, what: str, value: str, master_key_id: str) -> str:
        if not any([compare_digest(given.encode(), secret.encode()) for secret in secrets]):  # noqa: C419 each takes as long
            return "failed PermissionError"
        if what == "wrap":
            return _answer(lambda: _text(client.wrap_key(base64.b64decode(value), master_key_id)))
        return _answer(lambda: _base64(client.unwrap_key(value, master_key_id)))

    class Java:
        implements: ClassVar = ["io.pmeparquet.kms.PythonKmsCalls"]

    # py4j inspects the class, which has nothing to see.
    answers = {"call": call, "Java": Java, "__class__": object}

    class Callback:
        def __getattribute__(self, name: str) -> object:
            try:
                return answers[name]
            except KeyError:
                raise AttributeError(name) from None

    return Callback()


def _answer(call: Callable[[], str]) -> str:
    try:
        return f"ok {call()}"
    except PermissionError:
        return "denied -"
    except LookupError:
        return "missing -"
    except BaseException as error:  # noqa: BLE001 py4j waits for an answer; it has only the error's kind
        return f"failed {type(error).__name__}"


def _text(wrapped: object) -> str:
    if not isinstance(wrapped, str) or not wrapped:
        raise TypeError
    return wrapped


def _base64(key: object) -> str:
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError
    return binascii.b2a_base64(bytes(key), newline=False).decode()
