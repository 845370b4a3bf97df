"""What a function accepts and gives, written as `string int? -> string`.

`number` is any of the numeric types, `whole` int or long, `any` everything; `?` may be left out, `*` may come as often
as one likes, and only one of them, the last. `same` as a result is the type of the first argument.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import FunctionCall, ValueType
from cep.apps.parts.scope import Code

ACCEPTED: Mapping[str, tuple[ValueType, ...]] = {
    "number": ("int", "long", "float", "double", "decimal"),
    "whole": ("int", "long"),
    "any": get_args(ValueType),
    **{name: (name, "object") for name in get_args(ValueType)},
}
WORDS: Mapping[str, str] = {"number": "a number", "whole": "an int or a long", "any": "a value"}


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """`compute` is called with the values of the arguments, none of which is null: with a null the value is null, but
    if `takes_null`. `takes_clock`: the app's time comes before them, milliseconds."""

    name: str
    parameters: tuple[str, ...]
    is_optional: bool
    is_repeated: bool
    returns: str
    compute: Callable[..., Any]
    takes_null: bool = False
    takes_clock: bool = False

    @property
    def runtime_name(self) -> str:
        return f"f_{self.name.replace(':', '_')}"

    def called(self, *values: Any) -> Any:
        """None if an argument is null, unless it may be."""
        return None if None in values and not self.takes_null else self.compute(*values)

    def code(self, call: FunctionCall, arguments: Sequence[Code]) -> Code:
        """Raise AppTextError if the arguments do not fit."""
        self._check_count(call, len(arguments))
        for place, (node, argument) in enumerate(zip(call.arguments, arguments, strict=True)):
            wanted = self.parameters[min(place, len(self.parameters) - 1)]
            if argument.type not in ACCEPTED[wanted]:
                what = WORDS.get(wanted, f"a {wanted}")
                raise AppTextError(node.at, f"{self.name}() takes {what} here, and this is {argument.type}")
        given = [*(["app.now"] if self.takes_clock else []), *(one.source for one in arguments)]
        returns = arguments[0].type if self.returns == "same" else cast(ValueType, self.returns)
        return Code(f"{self.runtime_name}({', '.join(given)})", returns)

    def _check_count(self, call: FunctionCall, given: int) -> None:
        least = len(self.parameters) - (self.is_optional or self.is_repeated)
        most = None if self.is_repeated else len(self.parameters)
        if given < least or (most is not None and given > most):
            wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
            raise AppTextError(call.at, f"{self.name}() takes {wanted} arguments, and has {given}")


def function(name: str, signature: str, compute: Callable[..., Any], **terms: bool) -> NamedFunction:
    """`terms`: `takes_null`, `takes_clock`."""
    before, _, returns = signature.partition("->")
    words = before.split()
    last = words[-1][-1] if words else ""
    return NamedFunction(
        name,
        tuple(word.rstrip("?*") for word in words),
        last == "?",
        last == "*",
        returns.strip(),
        compute,
        **terms,
    )
