"""`json:group(value)`: the values of the rows that are there, as a JSON array, as `#json:tokenize` spread them."""

from collections.abc import Sequence
from typing import Any

from cep.apps.functions.collection_functions import dumped, loaded
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall
from cep.apps.parts.aggregators import AggregatorKind
from cep.apps.parts.app_context import Stateful
from cep.apps.parts.scope import Code
from cep.apps.parts.values import Value


class JsonGroup(Stateful):
    """Texts that are JSON are taken as what they say, others as strings."""

    STATE = ("_values",)

    def __init__(self, enclosing: str | None) -> None:
        self._enclosing = enclosing
        self._values: list[Any] = []

    @property
    def kept_values(self) -> int:
        return len(self._values)

    def add(self, value: Value) -> None:
        self._values.append(_read(value))

    def remove(self, value: Value) -> None:
        read = _read(value)
        if read in self._values:
            self._values.remove(read)

    def reset(self) -> None:
        self._values = []

    @property
    def value(self) -> str:
        return dumped(self._values if self._enclosing is None else {self._enclosing: self._values})


def _read(value: Value) -> Any:
    try:
        return loaded(value)
    except ValueError:
        return value


def json_group(call: FunctionCall, arguments: Sequence[Code]) -> AggregatorKind:
    """With a second argument, an object with the array under that name."""
    if len(arguments) not in (1, 2) or (len(arguments) == 2 and not isinstance(arguments[1].constant, str)):
        raise AppTextError(call.at, "json:group() takes a value, and a name in quotes if the array is to have one")
    enclosing = str(arguments[1].constant) if len(arguments) == 2 else None
    return AggregatorKind("string", lambda: JsonGroup(enclosing), keeps_values=True)
