"""The arguments of a window, checked where they stand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_of, row_function
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Attribute, Expression, FunctionCall
from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import Receiver
from cep.apps.parts.scope import Code, Environment, NoScope, RowScope
from cep.apps.parts.values import NUMERIC
from cep.apps.parts.windows import EventWindow, Key

MakeWindow = Callable[[PartContext, Receiver], EventWindow]
"""A new window with nothing in it."""


@dataclass(frozen=True, slots=True)
class WindowArguments:
    """The arguments of one window, where it stands."""

    call: FunctionCall
    scope: RowScope
    environment: Environment

    def counted(self, least: int, most: int) -> None:
        given = len(self.call.arguments)
        if not least <= given <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise AppTextError(self.call.at, f"the window {self.call.name} takes {wanted} arguments, and has {given}")

    def _constant(self, position: int) -> Code:
        node = self.call.arguments[position]
        what = f"argument {position + 1} of the window {self.call.name}"
        code = ExpressionCompiler(NoScope(what)).code_of(node)
        if not code.is_constant:
            raise AppTextError(node.at, f"{what} must be a constant")
        return code

    def length(self, position: int) -> int:
        code = self._constant(position)
        if code.type != "int" or isinstance(code.constant, bool) or cast(int, code.constant) < 0:
            raise AppTextError(self.call.arguments[position].at, "a number of events is expected here, 0 or more")
        return cast(int, code.constant)

    def time(self, position: int) -> int:
        code = self._constant(position)
        if code.type not in ("int", "long") or cast(int, code.constant) < 0:
            raise AppTextError(self.call.arguments[position].at, "a time is expected here, such as 5 sec")
        return cast(int, code.constant)

    def flag(self, position: int) -> bool | None:
        """None if the argument is missing or is not true or false."""
        if position >= len(self.call.arguments):
            return None
        value = getattr(self.call.arguments[position], "value", None)
        return value if isinstance(value, bool) else None

    def attribute(self, position: int) -> Code:
        node = self.call.arguments[position]
        if not isinstance(node, Attribute):
            raise AppTextError(node.at, "an attribute is expected here")
        return self.scope.code_of(node)

    def position(self, argument: int) -> int:
        """Return the position of the column that the argument names."""
        node = self.call.arguments[argument]
        names = [column.name for column in self.scope.columns]
        return names.index(node.name) if isinstance(node, Attribute) and node.name in names else 0

    def key(self, node: Expression) -> Key:
        code = ExpressionCompiler(self.scope).code_of(node)
        return cast(Key, function_of(code.source, "row, at", self.environment))

    def time_attribute(self, position: int) -> Key:
        if self.attribute(position).type != "long":
            raise AppTextError(self.call.arguments[position].at, "the time must be a long, in milliseconds")
        return self.key(self.call.arguments[position])

    def keys(self, nodes: Sequence[Expression]) -> Key:
        """All of them together; of the whole row if there are none."""
        if not nodes:
            return lambda row, _at: row
        compiler = ExpressionCompiler(self.scope)
        return row_function([compiler.code_of(node).source for node in nodes], "row, at", self.environment)

    def number(self, position: int) -> float:
        """Between 0 and 1."""
        code = self._constant(position)
        if code.type not in NUMERIC or not 0 < cast(float, code.constant) < 1:
            raise AppTextError(self.call.arguments[position].at, "a number between 0 and 1 is expected here")
        return float(cast(float, code.constant))

    def text(self, position: int) -> str:
        code = self._constant(position)
        if code.type != "string":
            raise AppTextError(self.call.arguments[position].at, "a text in quotes is expected here")
        return cast(str, code.constant)

    def truth(self, position: int) -> bool:
        """Return False if the argument is missing."""
        if position >= len(self.call.arguments):
            return False
        value = self.flag(position)
        if value is None:
            raise AppTextError(self.call.arguments[position].at, "true or false is expected here")
        return value
