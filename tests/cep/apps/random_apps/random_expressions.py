"""Random expressions of a wanted type over the attributes of streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.cep.apps.random_apps.random_rows import TEXTS, Shape

NUMBERS = ("int", "long", "float", "double")
LITERALS = {
    "int": ["1", "2", "3", "7", "-4", "0"],
    "long": ["1L", "5L", "9L", "0L"],
    "float": ["0.5f", "2.0f", "1.25f", "0.1f", "1.1f", "55.6f"],
    "double": ["1.5", "100.0", "0.25", "-2.0"],
    "bool": ["true", "false"],
    "string": ["'ada'", "'btc'", "'zzz'", '"it\'s"'],
}
FLOATS = ("0.1f", "1.1f", "55.6f", "1.1", "0.1")
"""None of them is exactly a float's value, except those that end with f."""
ABOVE_ZERO = {"int": "3", "long": "5L", "float": "1.25f", "double": "1.5"}
CLASSES = ["String", "Integer", "Long", "Float", "Double", "Boolean"]


@dataclass(frozen=True)
class Names:
    """What an expression may name: attributes with their types."""

    attributes: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, shape: Shape, prefix: str = "") -> "Names":
        return cls(tuple((prefix + name, type_) for name, type_ in shape.columns))

    def __add__(self, other: "Names") -> "Names":
        return Names(self.attributes + other.attributes)

    def of_types(self, types: Sequence[str]) -> list[str]:
        return [name for name, type_ in self.attributes if type_ in types]


def expression(rng: Random, names: Names, type_: str, depth: int = 2) -> str:
    """Return a random text whose value has the type."""
    if depth == 0 or rng.random() < 0.25:
        return _leaf(rng, names, type_)
    if rng.random() < 0.3:
        return _call(rng, names, type_, depth - 1)
    if type_ == "bool":
        return condition(rng, names, depth)
    if type_ == "string":
        return _leaf(rng, names, type_)
    return _arithmetic(rng, names, type_, depth - 1)


def _leaf(rng: Random, names: Names, type_: str) -> str:
    own = names.of_types([type_])
    return rng.choice(own) if own and rng.random() < 0.8 else rng.choice(LITERALS[type_])


def _arithmetic(rng: Random, names: Names, type_: str, depth: int) -> str:
    place = NUMBERS.index(type_)
    sides = [type_, rng.choice(NUMBERS[: place + 1])]
    rng.shuffle(sides)
    left, right = (expression(rng, names, side, depth) for side in sides)
    return f"({left} {rng.choice('++--**/%')} {right})"


def _call(rng: Random, names: Names, type_: str, depth: int) -> str:
    one, other = expression(rng, names, type_, depth), expression(rng, names, type_, depth)
    calls = [
        f"ifThenElse({condition(rng, names, depth)}, {one}, {other})",
        f"coalesce({one}, {other}, {rng.choice(LITERALS[type_])})",
        f"default({_leaf(rng, names, type_)}, {rng.choice(LITERALS[type_])})",
    ]
    if type_ in NUMBERS:
        literal, above = rng.choice(LITERALS[type_]), ABOVE_ZERO[type_]
        calls += [f"maximum({one}, {above})", f"minimum({literal}, {other})", f"convert({one}, '{type_}')"]
    if type_ == "long":
        calls += ["eventTimestamp()", "currentTimeMillis()", f"convert({expression(rng, names, 'int', depth)}, 'long')"]
    if type_ == "int":
        calls += [f"sizeOfSet(createSet({expression(rng, names, 'string', 0)}))"]
    if type_ == "string":
        given = rng.choice(["int", "long", "bool", "float"])
        calls += [f"convert({expression(rng, names, given, 0)}, 'string')"]
    if type_ == "bool":
        value = expression(rng, names, rng.choice(["int", "string", "double"]), 0)
        calls += [f"instanceOf{rng.choice(CLASSES)}({value})"]
        given = rng.choice(["int", "long", "double", "float", "string", "bool"])
        calls += [f"convert({expression(rng, names, given, 0)}, 'bool')"]
    return rng.choice(calls)


def condition(rng: Random, names: Names, depth: int = 2) -> str:
    """Return a random condition; of one comparison if `depth` is 0."""
    if depth > 0 and rng.random() < 0.5:
        left, right = condition(rng, names, depth - 1), condition(rng, names, depth - 1)
        return rng.choice([f"({left} and {right})", f"({left} or {right})", f"not ({left})"])
    kinds = [_number_comparison]
    if names.of_types(["string"]):
        kinds.append(_text_comparison)
    if names.of_types(["bool"]):
        kinds.append(_truth)
    if rng.random() < 0.2 and names.attributes:
        name = rng.choice(names.attributes)[0]
        return rng.choice([f"{name} is null", f"not ({name} is null)"])
    return rng.choice(kinds)(rng, names)


def _number_comparison(rng: Random, names: Names) -> str:
    own = names.of_types(NUMBERS)
    left = rng.choice(own) if own else "1"
    comparison = rng.choice(["<", ">", "<=", ">=", "==", "!="])
    constants = [str(rng.randint(0, 12)), f"{rng.randint(360, 440) / 4}", rng.choice(FLOATS), "3L", "16777217"]
    right = rng.choice([*constants, *own])
    return f"{left} {comparison} {right}"


def _text_comparison(rng: Random, names: Names) -> str:
    left = rng.choice(names.of_types(["string"]))
    known = TEXTS.get(left.split(".")[-1], ["ada", "btc"])
    return f"{left} {rng.choice(['==', '!='])} '{rng.choice(known)}'"


def _truth(rng: Random, names: Names) -> str:
    name = rng.choice(names.of_types(["bool"]))
    return rng.choice([name, f"not {name}", f"{name} == true", f"{name} != true"])
