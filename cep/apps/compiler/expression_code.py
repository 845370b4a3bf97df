"""An expression to Python source: names looked up, types checked, nothing run.

Null in arithmetic gives null; a comparison with null is false, but `!=` is true; `and`, `or` and `not` take null for
false.
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from cep.apps.compiler.own_calls import own_code
from cep.apps.compiler.value_functions import FUNCTIONS, null_test
from cep.apps.errors import AppError
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import (
    Attribute,
    Constant,
    Duration,
    Expression,
    FunctionCall,
    InTable,
    IsNull,
    Negative,
    Not,
    Operation,
    Place,
    ValueType,
)
from cep.apps.parts.chunks import Row
from cep.apps.parts.scope import Code, Environment, Scope, TableCode, unknown
from cep.apps.parts.values import NUMERIC, as_float, wider

_EARLIER = "a pattern has earlier rows, as in `from every a = S, b = S select a.price, b.price`"
_ELSEWHERE = {
    "if": "write ifThenElse(condition, value, other value)",
    "iif": "write ifThenElse(condition, value, other value)",
    "first": _EARLIER,
    "last": _EARLIER,
    "lag": _EARLIER,
}
"""Functions of other languages, and what there is."""


class NestedTooDeepError(AppError):
    """An expression is nested deeper than Python reads."""

    def __init__(self) -> None:
        super().__init__("an expression is nested too deep")


AggregateCode = Callable[[FunctionCall], Code | None]
"""The Python of an aggregator's value; None if the call is of no aggregator."""

_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What has names of its own."""
_ROUNDED: Mapping[ValueType, str] = {"int": "as_int", "long": "as_long", "float": "as_float"}
_COMPARISONS = ("<", "<=", ">", ">=")


def _no_aggregate(_: FunctionCall) -> None:
    return None


@dataclass(slots=True)
class ExpressionCompiler:
    """Makes the Python of expressions that stand in one scope."""

    scope: Scope
    aggregate: AggregateCode = _no_aggregate
    in_table: TableCode | None = None
    _temporary: int = field(default=0)

    def code_of(self, node: Expression) -> Code:
        """Raise AppTextError."""
        match node:
            case Constant() | Duration():
                return _constant(node)
            case Attribute():
                return self.scope.code_of(node)
            case Operation():
                return self._operation(node)
            case _:
                return self._other(node)

    def _other(self, node: FunctionCall | Not | Negative | IsNull | InTable) -> Code:
        match node:
            case FunctionCall():
                return self._call(node)
            case Not():
                return Code(f"(not {self.condition_of(node.operand)})", "bool")
            case Negative():
                return self._negative(node)
            case IsNull():
                return Code(null_test(self.code_of(node.operand)), "bool")
            case InTable():
                if self.in_table is None:
                    raise AppUnsupportedError(node.at, "`in` a table is not supported here")
                return self.in_table(node, self.scope)

    def _operation(self, node: Operation) -> Code:
        if node.operator in ("and", "or"):
            return self._logical(node)
        if node.operator in ("==", "!="):
            return self._equality(node)
        return self._comparison(node) if node.operator in _COMPARISONS else self._arithmetic(node)

    def condition_of(self, node: Expression) -> str:
        """Source of a condition, where null is false. Raises AppTextError if it is no condition."""
        code = self.code_of(node)
        if code.type != "bool":
            raise AppTextError(node.at, f"a condition is expected here, and this is {code.type}")
        return f"({code.source} is True)" if isinstance(node, Attribute | FunctionCall) else code.source

    def _call(self, node: FunctionCall) -> Code:
        aggregated = self.aggregate(node)
        if aggregated is not None:
            return aggregated
        name = node.full_name
        if node.own is not None:
            return own_code(node, node.own, [self.code_of(argument) for argument in node.arguments])
        if name not in FUNCTIONS:
            raise _no_function(node.at, name)
        return FUNCTIONS[name](node, [self.code_of(argument) for argument in node.arguments])

    def _logical(self, node: Operation) -> Code:
        return Code(f"({self.condition_of(node.left)} {node.operator} {self.condition_of(node.right)})", "bool")

    def _equality(self, node: Operation) -> Code:
        left, right = self.code_of(node.left), self.code_of(node.right)
        numbers = left.type in NUMERIC and right.type in NUMERIC
        if not numbers and left.type != right.type and "object" not in (left.type, right.type):
            raise AppTextError(node.at, f"{left.type} cannot be compared with {right.type}")
        # Java's engine compares a long with a float exactly here, and by size as floats
        sides = (left, right) if "long" in (left.type, right.type) else _as_compared(left, right)
        is_null, a, b = self._bound(*sides)
        if node.operator == "==":
            return Code(f"(not ({is_null}) and {a} == {b})", "bool")
        return Code(f"({is_null} or {a} != {b})", "bool")

    def _comparison(self, node: Operation) -> Code:
        left, right = self.code_of(node.left), self.code_of(node.right)
        if left.type not in NUMERIC or right.type not in NUMERIC:
            raise AppTextError(node.at, f"{node.operator} compares numbers, and these are {left.type} and {right.type}")
        is_null, a, b = self._bound(*_as_compared(left, right))
        return Code(f"(not ({is_null}) and {a} {node.operator} {b})", "bool")

    def _arithmetic(self, node: Operation) -> Code:
        left, right = self.code_of(node.left), self.code_of(node.right)
        type_ = wider(left.type, right.type) if left.type in NUMERIC and right.type in NUMERIC else None
        if type_ is None:
            raise AppTextError(node.at, f"{node.operator} cannot be applied to {left.type} and {right.type}")
        is_null, a, b = self._bound(*(_as_compared(left, right) if type_ == "float" else (left, right)))
        value = {"/": f"quotient({a}, {b})", "%": f"remainder({a}, {b})"}.get(node.operator, f"{a} {node.operator} {b}")
        if type_ in _ROUNDED and node.operator not in ("/", "%"):
            value = f"{_ROUNDED[type_]}({value})"
        elif type_ == "float":
            value = f"converted({value}, 'float')"
        return Code(f"(None if {is_null} else {value})", type_)

    def _negative(self, node: Negative) -> Code:
        code = self.code_of(node.operand)
        if code.type not in NUMERIC:
            raise AppTextError(node.at, f"a number is expected here, and this is {code.type}")
        name = self._name()
        negative = f"-{name}" if code.type not in ("int", "long") else f"{_ROUNDED[code.type]}(-{name})"
        return Code(f"(None if ({name} := {code.source}) is None else {negative})", code.type)

    def _bound(self, left: Code, right: Code) -> tuple[str, str, str]:
        """Whether one of both is null, and both if they are used then: each is computed once."""
        tests, values = [], []
        for code in (left, right):
            name = code.source if code.is_constant else self._name()
            values.append(name)
            if not code.is_constant:
                tests.append(f"({name} := {code.source}) is None")
        return " or ".join(tests) or "False", values[0], values[1]

    def _name(self) -> str:
        self._temporary += 1
        return f"v{self._temporary}"


def _as_compared(left: Code, right: Code) -> tuple[Code, Code]:
    """As Java compares and computes with a float: a whole number beside it is rounded to 32 bits first."""
    return _beside(left, right), _beside(right, left)


def _beside(code: Code, other: Code) -> Code:
    if other.type != "float" or code.type not in ("int", "long"):
        return code
    if code.is_constant:
        rounded = as_float(cast(int, code.constant))
        return Code(repr(rounded), "float", rounded)
    return Code(f"converted({code.source}, 'float')", "float")


def _constant(node: Constant | Duration) -> Code:
    if isinstance(node, Duration):
        return Code(repr(node.milliseconds), "long", node.milliseconds)
    value = as_float(node.value) if node.type == "float" and isinstance(node.value, float) else node.value
    if isinstance(value, float) and not math.isfinite(value):
        raise AppTextError(node.at, f"this number is too large for {node.type}")
    return Code(repr(value), node.type, value)


def _no_function(at: Place, name: str) -> AppTextError:
    problem = f"there is no function {name}()"
    if name.lower() in _ELSEWHERE:
        return AppTextError(at, f"{problem}: {_ELSEWHERE[name.lower()]}")
    in_namespaces = [known for known in FUNCTIONS if known.rpartition(":")[2].lower() == name.lower()]
    if in_namespaces:
        return AppTextError(at, f"{problem}; did you mean {in_namespaces[0]!r}?")
    return unknown(at, problem, name, list(FUNCTIONS))


def function_of(source: str, parameters: str, environment: Environment) -> Callable[..., object]:
    """Return a Python function of generated source. The source is made of our own words, positions and literals alone:
    no name or text of an app is in it but as a literal.

    Raises NestedTooDeepError.
    """
    try:
        made: Callable[..., object] = eval(f"lambda {parameters}: {source}", dict(environment.names))  # noqa: S307
    except (SyntaxError, MemoryError, RecursionError):
        # Python's own parser takes about two hundred parentheses
        raise NestedTooDeepError from None
    return made


def function_made(source: str, name: str, environment: Environment) -> Callable[..., object]:
    """Return the function `name` of generated statements, of whose text is true what `function_of` says.

    Raises NestedTooDeepError.
    """
    return functions_made(source, (name,), environment)[0]


def functions_made(source: str, wanted: Sequence[str], environment: Environment) -> list[Callable[..., object]]:
    """As `function_made`, of several. Raises NestedTooDeepError."""
    names = dict(environment.names)
    try:
        exec(source, names)  # noqa: S102
    except (SyntaxError, MemoryError, RecursionError):
        raise NestedTooDeepError from None
    return [cast(Callable[..., object], names[name]) for name in wanted]


def row_function(sources: Sequence[str], parameters: str, environment: Environment) -> Callable[..., Row]:
    """As `function_of`, of the tuple of these values. Raises NestedTooDeepError."""
    return cast(Callable[..., Row], function_of(tuple_source(sources), parameters, environment))


def tuple_source(sources: Sequence[str]) -> str:
    return f"({''.join(f'{one}, ' for one in sources)})"


@contextmanager
def placed(at: Place) -> Iterator[None]:
    """Say of what is nested too deep that it is a mistake at that place. Raises AppTextError."""
    try:
        yield
    except NestedTooDeepError as error:
        raise AppTextError(at, f"here {error}") from None


def bound_columns(conditions: Sequence[str]) -> tuple[list[str], Callable[[str], str]]:
    """Return the statements that give the columns of the conditions names, and what makes the Python of a value of the
    same row use these. Nothing is changed of what cannot be read, or has names of its own."""
    found = [tree for one in conditions if (tree := _tree(one)) is not None]
    if len(found) < len(conditions):
        return [], lambda source: source
    columns = sorted({number for one in found for number in _columns(one)})
    if not columns:
        return [], lambda source: source
    return [f"{_name(number)} = row[{number}]" for number in columns], lambda source: _renamed(source, set(columns))


def _renamed(source: str, columns: set[int]) -> str:
    tree = _tree(source)
    try:
        return source if tree is None else ast.unparse(_Renaming(columns).visit(tree))
    except RecursionError:
        # as it is it can be read, perhaps
        return source


def _tree(source: str) -> ast.expr | None:
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):
        return None
    return None if any(isinstance(one, _SCOPES) for one in ast.walk(tree)) else tree


def _columns(tree: ast.expr) -> Iterator[int]:
    for one in ast.walk(tree):
        number = _column(one)
        if number is not None:
            yield number


def _column(node: ast.AST) -> int | None:
    match node:
        case ast.Subscript(value=ast.Name(id="row"), slice=ast.Constant(value=int(number))):
            return number
    return None


def _name(number: int) -> str:
    return f"c{number}"


class _Renaming(ast.NodeTransformer):
    def __init__(self, columns: set[int]) -> None:
        self._columns = columns
        self._names: dict[str, str] = {}
        """What stands for a name that a value was given within the expression."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._named(node) or self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        named = self._named(node.value)
        if named is None:
            return self.generic_visit(node)
        self._names[node.target.id] = named.id
        return named

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id))

    def _named(self, node: ast.AST) -> ast.Name | None:
        number = _column(node)
        return ast.Name(_name(number)) if number is not None and number in self._columns else None
