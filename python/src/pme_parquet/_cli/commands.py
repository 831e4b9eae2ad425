"""Commands that are made of functions: each parameter of a function is an argument or an option of its command.

Their names, types, defaults and helps are those of the function's signature and docstring. What only the command line
has, or what it declares differently, is a parameter of the function that makes the answer.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from pme_parquet._cli import output
from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.groups import IndexChoice, Opening, Part
from pme_parquet._cli.options import Given, WriteKeys, help_of, master_keys, storage_options
from pme_parquet._cli.sessions import SparkChoice, session
from pme_parquet._kms.secrets import parse_reference
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

_JSON = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]


class Answer(NamedTuple):
    """What a command prints, as text or as a document, and its exit code."""

    shown: object
    document: dict[str, Any]
    code: int = 0


class Call:
    """A function with the arguments that were typed.

    Attributes:
        function: the function of the command.
        arguments: by the names of its parameters, without those that `on` adds.
        groups: the groups of options that the command has.
        given: the options of the format.
        keys: the keys of a write.
        choice: which Spark.
        failed: why an operation failed whose report is the answer.
    """

    def __init__(self, command: Command, arguments: dict[str, Any], groups: Mapping[type, Any]) -> None:
        self.function = command.function
        self.arguments = arguments
        self.groups = groups
        self.given: Given = groups.get(Given, Given())
        self.keys: WriteKeys = groups.get(WriteKeys, WriteKeys())
        self.choice: SparkChoice = groups.get(SparkChoice, SparkChoice())
        self.failed: PmeError | None = None
        self._command = command

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 of any type
        return self.arguments[name]

    @cached_property
    def options(self) -> dict[str, str]:
        """The options of the format."""
        return self.given.options()

    @cached_property
    def _complete(self) -> dict[str, Any]:
        added: dict[str, Any] = {}
        for name, parameter in self._command.taken.items():
            if name == "options" and self._command.spark:
                added[name] = self.options
            elif "Encryption" in _annotation(parameter):
                added[name] = self.keys.encryption(self.options)
            elif name == "progress":
                added[name] = not self.choice.quiet
        return self.arguments | added

    def session(self, checked: Mapping[str, str] | None = None) -> AbstractContextManager[SparkSession]:
        """A session, after checks of the arguments, of the paths, and of these options or else of those typed."""
        arguments = self._complete
        sources = [arguments[name] for name in ("path", "source") if name in arguments]
        options = self.options if checked is None else checked
        before_spark(self.choice, options, *sources, target=arguments.get("target"))
        return session(self.choice)

    def on(self, *spark: SparkSession, **changes: Any) -> Any:  # noqa: ANN401 a function's own
        """Calls the function, with a session if it needs one. If it fails with a report, that is the result.

        Args:
            spark: the session.
            changes: arguments that are not as typed.
        """
        try:
            return self.function(*spark, **self._complete | changes)
        except PmeError as failed:
            if failed.report is None:
                raise
            self.failed = failed
            return failed.report

    def __call__(self, *, checked: Mapping[str, str] | None = None, **changes: Any) -> Any:  # noqa: ANN401 as `on`
        """Calls the function as `on` does, in a `session` if it needs one."""
        if not self._command.spark:
            return self.on(**changes)
        with self.session(checked) as running:
            return self.on(running, **changes)


class Command:
    """A command.

    Attributes:
        function: the function that it calls.
        name: as typed.
        spark: whether it takes the options of Spark and of the format.
        taken: the parameters of the function.
        derived: the arguments and options that come from parameters.
        callback: the command as typer takes it.
    """

    def __init__(
        self, function: Callable[..., Any], answer: Callable[..., Answer], names: Mapping[str, str], *, spark: bool
    ) -> None:
        self.function = function
        self.name = answer.__name__.strip("_").replace("_", "-")
        self.taken = inspect.signature(function).parameters
        self.spark = spark or ("spark" in self.taken and self.taken["spark"].default is inspect.Parameter.empty)
        self._answer = answer
        hints = get_type_hints(answer, include_extras=True)
        _, *own = inspect.signature(answer).parameters.values()
        self._own = [_parameter(one.name, hints[one.name], one.default) for one in own]
        types = [_annotation(parameter) for parameter in self.taken.values()]
        self._groups: list[Any] = [WriteKeys] if any("Encryption" in one for one in types) else []
        self._groups += [Given, SparkChoice] if self.spark else []
        self._groups += [Part] if "Sample" in types else []
        self._groups += [IndexChoice] if "index" in self.taken else []
        self._groups += [Opening] if "self" in self.taken else []
        self.derived = [
            _Derived(function, parameter, names.get(parameter.name))
            for parameter in self.taken.values()
            if parameter.name not in hints and _has_an_option(parameter)
        ]
        self.callback = self._callback()

    def _callback(self) -> Callable[..., None]:
        def run(**typed: Any) -> None:  # noqa: ANN401 what typer has parsed
            self._run(typed)

        options = {derived.parameter.name: derived.option for derived in self.derived}
        parameters = [*self._own]
        parameters += [derived.typed(options) for derived in self.derived]
        parameters += [one for group in self._groups for one in _of_group(group)]
        parameters += [_parameter("as_json", _JSON, default=False)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__doc__ = self._answer.__doc__
        return run

    def _run(self, typed: dict[str, Any]) -> None:
        as_json = typed.pop("as_json")
        groups = {group: group(**{one.name: typed.pop(one.name) for one in fields(group)}) for group in self._groups}
        arguments = {one.parameter.name: one.value(typed.pop(one.name)) for one in self.derived}
        arguments |= {name: value for name, value in typed.items() if name in self.taken}
        for group in groups.values():
            arguments |= group.arguments() if isinstance(group, (Part, IndexChoice)) else {}
        call = Call(self, arguments, groups)
        answer = self._answer(call, **typed)
        failed = call.failed
        document = answer.document if failed is None else answer.document | output.document(failed)
        output.print_result(answer.shown, document, as_json=as_json)
        if failed is not None:
            output.write_error(output.message_of(failed))
            raise SystemExit(output.of_findings([failed.condition]))
        if answer.code:
            raise SystemExit(answer.code)


def command(
    function: Callable[..., Any], *, spark: bool = False, **names: str
) -> Callable[[Callable[..., Answer]], Command]:
    """Makes a command, by the name of the decorated function, which gets a `Call` and makes the answer.

    Args:
        function: what the command calls.
        spark: whether it takes the options of Spark although the function can do without a session.
        names: other names of the function's parameters.
    """
    return lambda answer: Command(function, answer, names, spark=spark)


class _Kind(NamedTuple):
    """How the command line takes the values of a type.

    Attributes:
        typed: what typer parses.
        metavar: how help shows a value.
        help: what help adds to the docstring.
        read: the argument, from what typer has parsed and the option's name.
    """

    typed: Any
    metavar: str | None = None
    help: str = ""
    read: Callable[[Any, str], Any] = lambda value, _: value


_NAMES = _Kind(list[str], "NAME", "Repeat it for several.")
_KINDS = {
    "bool": _Kind(bool),
    "int": _Kind(int),
    "str": _Kind(str),
    "int | str": _Kind(str),
    "PathLike": _Kind(str),
    "str | PathLike[str]": _Kind(Path),
    "SecretReference": _Kind(str, "REF", "Write it as env:NAME or file:PATH.", parse_reference),
    "Literal['internal', 'external']": _Kind(str),
    "Literal['rows', 'cells']": _Kind(str, "rows|cells"),
    "Sequence[str]": _NAMES,
    "str | Iterable[str]": _NAMES,
    "str | Sequence[str]": _NAMES,
    "Mapping[str, str]": _Kind(
        list[str], "OLD=NEW", "Repeat it for several, or use a JSON object if names contain =.", master_keys
    ),
    "Mapping[str, Any]": _Kind(
        list[str],
        "NAME=VALUE",
        "For example endpoint_url=http://127.0.0.1:9000, or secret=env:NAME. A secret must be a reference: env:NAME or "
        "file:PATH. Repeat it for several.",
        storage_options,
    ),
}
# Groups have the options for these.
_GROUPED = ("SparkSession", "KmsLike", "Encryption", "Sample", "AnyIndex", "ColumnKeys")
_METAVARS = {"signing": "NAME", "location": "DIR", "expect": "STATE"}
_OTHER_NAMES = {"signing": "signing_key", "aliases": "names"}


def _has_an_option(parameter: inspect.Parameter) -> bool:
    of_group = any(kind in _annotation(parameter) for kind in _GROUPED)
    return not of_group and parameter.name not in {"self", "options", "progress"}


def _annotation(parameter: inspect.Parameter) -> str:
    """The type that a module of the package writes, without the None of a default."""
    return str(parameter.annotation).removesuffix(" | None")


class _Derived:
    """The argument or option for a parameter of a function.

    Attributes:
        parameter: the parameter.
        name: what typer calls it.
        option: what users call it.
    """

    def __init__(self, function: Callable[..., Any], parameter: inspect.Parameter, name: str | None) -> None:
        self.parameter = parameter
        self._function = function
        self._kind = _NAMES if parameter.kind is parameter.VAR_POSITIONAL else _KINDS[_annotation(parameter)]
        is_named = parameter.kind is parameter.KEYWORD_ONLY
        self._is_argument = (parameter.default is parameter.empty and not is_named) or parameter.name == "target"
        is_repeated = self._kind.typed == list[str] and not self._is_argument
        plain = parameter.name.removesuffix("s") if is_repeated else parameter.name
        self.name = name or _OTHER_NAMES.get(parameter.name, plain)
        self.option = self.name.upper() if self._is_argument else f"--{self.name.replace('_', '-')}"

    def typed(self, options: Mapping[str, str]) -> inspect.Parameter:
        """The parameter as typer takes it; `options` are how users call parameters of the function."""
        text = help_of(self._function, self.parameter.name, options)
        default = None if self.parameter.default == () else self.parameter.default
        if self._is_argument:
            info: Any = typer.Argument(metavar=self.option, help=text)
        else:
            # A flag that is off by default has no opposite.
            names = (self.option,) if default is False else ()
            metavar = self._kind.metavar or _METAVARS.get(self.parameter.name)
            info = typer.Option(*names, metavar=metavar, help=f"{text} {self._kind.help}".rstrip())
        typed = self._kind.typed | None if default is None else self._kind.typed
        return _parameter(self.name, Annotated[typed, info], default)

    def value(self, typed: Any) -> Any:  # noqa: ANN401 of any type
        """The argument of the function."""
        return self.parameter.default if typed in (None, []) else self._kind.read(typed, self.option)


def _of_group(group: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 a dataclass
    hints = get_type_hints(group, include_extras=True)
    for one in fields(group):
        yield _parameter(one.name, hints[one.name], one.default if one.default_factory is MISSING else [])


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401 of any type
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
