"""What a lying exchange says of an order: a table of lies, and how each is written into an exchange's answers.
Pure.

A lie changes the answer and never the order: the exchange's books stay true.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from market.money import decimal_of, text_of, total
from simulators.catalogue import terms_of
from simulators.exchange_terms import Names, OrderAnswers, Part

Tell = Callable[[object], object]


Claim = tuple[Part, str, Tell]
"""One field by part and meaning, and the lie in place of its true value."""
Lie = tuple[Claim, ...]
"""Lies that go together, in every row of an answer."""


@dataclass(frozen=True, slots=True)
class _Row:
    part: Part
    fields: dict[str, Any]
    names: Names


def _is(value: object) -> Tell:
    return lambda _true: value


def _times(factor: str) -> Tell:
    """Return a lie that multiplies a number, as text or as a number, whichever it was; anything else stays."""

    def tell(true: object) -> object:
        try:
            said = decimal_of(str(true)) * decimal_of(factor)
        except ValueError:
            return true
        return text_of(said) if isinstance(true, str) else float(said)

    return tell


def _half(true: object) -> object:
    """Return half, to the digits of the true value."""
    try:
        number = decimal_of(str(true))
    except ValueError:
        return true
    said = (number / 2).quantize(number)
    return text_of(said) if isinstance(true, str) else float(said)


_OPPOSITES: Mapping[object, object] = {
    "buy": "sell",
    "sell": "buy",
    "BUY": "SELL",
    "SELL": "BUY",
    "Buy": "Sell",
    "Sell": "Buy",
    "0": "1",
    "1": "0",
    True: False,
    False: True,
}


def _opposite(true: object) -> object:
    return _OPPOSITES.get(true, true)


def _one(part: Part, field: str, tell: Tell) -> Lie:
    return ((part, field, tell),)


def _amounts(tell: Tell) -> Lie:
    """Return lies about everything that was filled, so that the parts agree."""
    return ("order", "filled", tell), ("fill", "amount", tell), ("fill", "cost", tell)


def _prices(factor: str) -> Lie:
    tell = _times(factor)
    return ("order", "average", tell), ("fill", "price", tell), ("fill", "cost", tell)


_OTHER_ID = "7d9f5a3e-0000-4000-8000-000000000000"
_HALF = _amounts(_half)

LIES: Mapping[str, Lie] = MappingProxyType(
    {
        "ack id: an object": _one("ack", "id", _is({})),
        "ack id: a list": _one("ack", "id", _is([])),
        "ack id: nothing": _one("ack", "id", _is(None)),
        "ack id: true": _one("ack", "id", _is(True)),
        "ack id: another": _one("ack", "id", _is("0")),
        "order id: an object": _one("order", "id", _is({})),
        "order id: nothing": _one("order", "id", _is(None)),
        "order id: another": _one("order", "id", _is("0")),
        "client id: another": _one("order", "client_id", _is(_OTHER_ID)),
        "order symbol: another": _one("order", "symbol", _is("XYZ-ABC")),
        "order side: opposite": _one("order", "side", _opposite),
        "order side: no side": _one("order", "side", _is("hold")),
        "order amount: double": _one("order", "amount", _times("2")),
        "order price: tenfold": _one("order", "price", _times("10")),
        "order status: unknown word": _one("order", "status", _is("SETTLING")),
        "filled: double": _one("order", "filled", _times("2")),
        "filled: half": _one("order", "filled", _half),
        "filled: negative": _one("order", "filled", _times("-1")),
        "filled: too large to be a number": _one("order", "filled", _is("1e300")),
        "filled: nothing": _one("order", "filled", _is(None)),
        "average: tenfold": _one("order", "average", _times("10")),
        "fill id: an object": _one("fill", "id", _is({})),
        "fill order: another": _one("fill", "order", _is("0")),
        "fill symbol: another": _one("fill", "symbol", _is("XYZ-ABC")),
        "fill side: opposite": _one("fill", "side", _opposite),
        "fill amount: double": _one("fill", "amount", _times("2")),
        "fill amount: negative": _one("fill", "amount", _times("-1")),
        "fill amount: zero": _one("fill", "amount", _times("0")),
        "fill price: tenfold": _one("fill", "price", _times("10")),
        "fill price: a tenth": _one("fill", "price", _times("0.1")),
        "fill price: negative": _one("fill", "price", _times("-1")),
        "fill price: zero": _one("fill", "price", _times("0")),
        "fill cost: double": _one("fill", "cost", _times("2")),
        "fill cost: negative": _one("fill", "cost", _times("-1")),
        "fill fee: negative": _one("fill", "fee", _times("-1")),
        "fill fee: a hundredfold": _one("fill", "fee", _times("100")),
        "fill fee: nothing": _one("fill", "fee", _is(None)),
        "fee currency: unknown": _one("fill", "fee_currency", _is("XYZ")),
        "fee currency: an object": _one("fill", "fee_currency", _is({})),
        "fill time: nothing": _one("fill", "time", _is(None)),
        "all amounts: double": _amounts(_times("2")),
        "all amounts: negative": _amounts(_times("-1")),
        "all amounts: off the step": _amounts(_times("0.99999999973")),
        "all prices: tenfold": _prices("10"),
        "all prices: a tenth": _prices("0.1"),
        "all sides: opposite": (("order", "side", _opposite), ("fill", "side", _opposite)),
        "another order: by its client id": (("order", "client_id", _is(_OTHER_ID)), *_HALF),
        "another order: by its market": (("order", "symbol", _is("XYZ-ABC")), *_HALF),
        "another order: by its amount": (("order", "amount", _half), *_HALF),
        "another order: by its fills": (("fill", "order", _is("0")), *_HALF),
    }
)
"""The lies by name; one has no effect at an exchange that does not answer such a field."""


def lies_of(exchange: str) -> tuple[str, ...]:
    """Return the names of those that the exchange's answers can tell."""
    answers = terms_of(exchange).answers
    return tuple(name for name, lie in LIES.items() if lie[0][1] in _names_of(answers, lie[0][0]))


def write_lie(exchange: str, name: str, method: str, path: str, answer: Any) -> bool:
    """Write the lie of that `name` into an answer; False if there is nothing in it that it is about."""
    answers = terms_of(exchange).answers
    rows = list(_rows(answers, method, path, answer))
    changes = [
        _change(row, meaning, tell, says_remaining=answers.says_remaining)
        for row in rows
        for part, meaning, tell in LIES[name]
        if part == row.part and meaning in row.names
    ]
    return any(changes)


def _change(row: _Row, meaning: str, tell: Tell, *, says_remaining: bool) -> bool:
    *way, last = row.names[meaning].split(".")
    fields: Any = row.fields
    for step in way:
        fields = fields.get(step) if isinstance(fields, dict) else None
    key: Any = int(last) if isinstance(fields, list) else last
    is_there = (isinstance(fields, list) and fields) or (isinstance(fields, dict) and key in fields)
    if not is_there:
        return False
    true = fields[key]
    fields[key] = _rest(row, true, tell) if says_remaining and meaning == "filled" else tell(true)
    return bool(fields[key] != true)


def _rest(row: _Row, remaining: object, tell: Tell) -> object:
    """Return the remaining amount, from which the lie about the filled one follows."""
    filled = total(decimal_of(str(fill[row.names["base"]])) for fill in row.fields["transactions"])
    said = tell(text_of(filled))
    try:
        return text_of(decimal_of(str(remaining)) + filled - decimal_of(str(said)))
    except ValueError:
        return said


def _rows(answers: OrderAnswers, method: str, path: str, answer: Any) -> Iterator[_Row]:
    """Return orders before their fills."""
    for wanted, prefix, part, place in answers.places:
        if method == wanted and path.startswith(prefix):
            names = _names_of(answers, part, answer)
            for row in _at(answer, place.split(".") if place else []):
                yield _Row(part, row, names)


def _names_of(answers: OrderAnswers, part: Part, answer: Any = None) -> Names:
    """Return the fields' names."""
    names = answers.fields.get(part, {})
    if not answers.names_currencies or part == "ack":
        return names
    market = str(answer.get("market")) if isinstance(answer, dict) else "BTC/USD"
    base, _, quote = market.lower().partition("/")
    return {**names, "base": base} if part == "order" else {**names, "amount": base, "cost": quote}


def _at(answer: Any, way: list[str]) -> list[dict[str, Any]]:
    if way and way[0] == "*":
        return [row for row in answer.values() if isinstance(row, dict)] if isinstance(answer, dict) else []
    if way:
        return _at(answer.get(way[0]), way[1:]) if isinstance(answer, dict) else []
    rows = answer if isinstance(answer, list) else [answer]
    return [row for row in rows if isinstance(row, dict)]
