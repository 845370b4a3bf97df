"""What a request says of an order, by its own bytes, and whether that is what was ordered. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from exchanges.ports.order_terms import OrderDocument
from market.instruments.orders import LimitOrder
from market.money import decimal_of


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A signed request as it leaves, headers apart."""

    method: str
    url: str
    body: str | None

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.url).path)


def order_fault(
    document: OrderDocument, request: SentRequest, order: LimitOrder, market_id: str | None = None
) -> str | None:
    """How the request differs from `order` in the words of the exchange's documents; None if it does not.

    `market_id`: the exchange's own name of the market; None: not compared.
    """
    if request.method != "POST" or not _is_path_of(document, request.path, order, market_id):
        return f"sends {request.method} {request.path}, which is not the request of a new order"
    fields = _fields(request)
    return (
        _id_fault(document, fields, document.sent_id(order.client_order_id))
        or _immediate_fault(document, fields)
        or _terms_fault(document, fields, order, market_id)
        or _unknown_fault(document, fields)
    )


def _is_path_of(document: OrderDocument, path: str, order: LimitOrder, market_id: str | None) -> bool:
    symbol = "[^/]+" if market_id is None else re.escape(market_id)
    return any(
        re.search(re.escape(one).replace(r"\{side\}", order.side).replace(r"\{symbol\}", symbol) + "$", path)
        for one in document.paths
    )


def _id_fault(document: OrderDocument, fields: Mapping[str, str], ours: str) -> str | None:
    name = document.client_id
    if name is None:
        return None
    sent = fields.get(name)
    if sent is None:
        return f"sends no {name}, where our order id must stand"
    if sent != ours:
        return f'sends {name} "{sent}" where our order id {ours} must stand'
    return None if re.fullmatch(document.ids, sent) else f"sends {name} {sent}, which the exchange does not take"


def _immediate_fault(document: OrderDocument, fields: Mapping[str, str]) -> str | None:
    name, word = document.immediate
    if word is None:
        said, is_said = name, any(one.startswith(f"{name}.") for one in fields)
    else:
        said, is_said = f"{name}={word}", fields.get(name) == word
    return None if is_said else f"does not say {said}, so that the order would rest in the book"


def _terms_fault(
    document: OrderDocument, fields: Mapping[str, str], order: LimitOrder, market_id: str | None
) -> str | None:
    wanted = dict(document.words)
    if document.side is not None:
        name, *words = document.side
        wanted[name] = words[order.side == "sell"]
    if document.symbol is not None and market_id is not None:
        wanted[document.symbol] = market_id
    for name, word in wanted.items():
        if fields.get(name) != word:
            return f"sends {name}={fields.get(name)} instead of {word}"
    for name, number in ((document.amount, order.amount), (document.price, order.price)):
        if not _is_number(fields.get(name), number):
            return f"sends {name}={fields.get(name)} for {number}"
    return None


def _is_number(text: str | None, number: object) -> bool:
    """Whether the digits are that number, without an exponent."""
    try:
        return text is not None and "e" not in text.lower() and decimal_of(text) == number
    except ValueError:
        return False


def _unknown_fault(document: OrderDocument, fields: Mapping[str, str]) -> str | None:
    """Return a field that the exchange does not know is not heeded there, or not as it was meant."""
    side = () if document.side is None else document.side[:1]
    known = {document.client_id, document.symbol, document.amount, document.price, document.immediate[0], *side}
    unknown = fields.keys() - known - document.words.keys() - document.others
    return f"sends {min(unknown)}, which the exchange's documents do not have" if unknown else None


def _fields(request: SentRequest) -> dict[str, str]:
    """By name, of the query and of the body, which is JSON or a form; numbers with their own digits."""
    query = parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
    body = request.body or ""
    if body.lstrip()[:1] in ("{", "["):
        return dict(query) | dict(_flat("", json.loads(body, parse_float=str, parse_int=str)))
    return dict(query) | dict(parse_qsl(body, keep_blank_values=True))


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), one)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _flat(f"{name}.{index}" if name else str(index), one)
    else:
        yield name, str(value)
