"""Whether a request is what was ordered, in the words of the exchange's documents: by tables."""

import json
import re
from dataclasses import replace
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.ccxt.order_documents import documented_exchanges, order_document
from exchanges.ccxt.sent_orders import SentRequest, order_fault
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price
from market.trade.unwinding import client_order_id

DOCUMENTS = {name: document for name in documented_exchanges() if (document := order_document(name)) is not None}
OURS = "0a1b2c3d-4e5f-5a6b-8c7d-9e0f1a2b3c4d"
KRAKEN = {
    "nonce": "1795959012313",
    "pair": "XBTUSD",
    "type": "buy",
    "ordertype": "limit",
    "price": "64123.4",
    "volume": "0.0123",
    "timeinforce": "IOC",
    "oflags": "fciq",
    "cl_ord_id": OURS,
}


def ordered(side: Side = "buy", amount: str = "0.0123", price: str = "64123.4") -> LimitOrder:
    return LimitOrder(OURS, "somewhere", "BTC/USD", side, Amount(Decimal(amount)), Price(Decimal(price)), 0)


def on_kraken(**changes: str | None) -> SentRequest:
    fields = {name: text for name, text in (KRAKEN | changes).items() if text is not None}
    return SentRequest("POST", "https://api.kraken.com/0/private/AddOrder", urlencode(fields))


KRAKENS: dict[str, tuple[SentRequest, str]] = {
    "no id": (on_kraken(cl_ord_id=None), "sends no cl_ord_id, where our order id must stand"),
    "another id": (on_kraken(cl_ord_id="ccxt-1"), f'sends cl_ord_id "ccxt-1" where our order id {OURS} must stand'),
    "id with a prefix": (on_kraken(cl_ord_id=f"x-{OURS}"), "must stand"),
    "id cut": (on_kraken(cl_ord_id=OURS[:28]), "must stand"),
    "rests": (on_kraken(timeinforce=None), "does not say timeinforce=IOC, so that the order would rest in the book"),
    "rests by its words": (on_kraken(timeinforce="GTC"), "does not say timeinforce=IOC"),
    "ccxt's word for it": (on_kraken(timeinforce=None, timeInForce="IOC"), "does not say timeinforce=IOC"),
    "other side": (on_kraken(type="sell"), "sends type=sell instead of buy"),
    "at the market": (on_kraken(ordertype="market"), "sends ordertype=market instead of limit"),
    "other market": (on_kraken(pair="XBTEUR"), "sends pair=XBTEUR instead of XBTUSD"),
    "amount cut": (on_kraken(volume="0.012"), "sends volume=0.012 for 0.0123"),
    "amount in quote currency": (on_kraken(volume="788.71782"), "sends volume=788.71782 for 0.0123"),
    "price rounded up": (on_kraken(price="64124"), "sends price=64124 for 64123.4"),
    "no price": (on_kraken(price=None), "sends price=None for 64123.4"),
    "an exponent": (on_kraken(volume="1.23e-2"), "sends volume=1.23e-2 for 0.0123"),
    "no number": (on_kraken(price="NaN"), "sends price=NaN for 64123.4"),
    "a stop that nobody knows": (on_kraken(stopPrice="60000"), "sends stopPrice, which the exchange's documents do"),
    "another request": (
        SentRequest("POST", "https://api.kraken.com/0/private/EditOrder", urlencode(KRAKEN)),
        "sends POST /0/private/EditOrder, which is not the request of a new order",
    ),
    "a read": (
        SentRequest("GET", "https://api.kraken.com/0/private/AddOrder?" + urlencode(KRAKEN), None),
        "which is not the request of a new order",
    ),
}


@pytest.mark.parametrize(("request_", "said"), KRAKENS.values(), ids=KRAKENS)
def test_what_differs_is_said(request_: SentRequest, said: str) -> None:
    assert said in str(order_fault(DOCUMENTS["kraken"], request_, ordered(), "XBTUSD"))


EQUAL: dict[str, SentRequest] = {
    "as it is": on_kraken(),
    "zeros at the end": on_kraken(price="64123.40000"),
    "a gateway's address": replace(on_kraken(), url="https://gateway.example/kraken/0/private/AddOrder"),
    "with a deadline": on_kraken(deadline="2026-11-29T12:00:05.000Z"),
}


@pytest.mark.parametrize("request_", EQUAL.values(), ids=EQUAL)
def test_what_was_ordered(request_: SentRequest) -> None:
    assert order_fault(DOCUMENTS["kraken"], request_, ordered(), "XBTUSD") is None
    assert order_fault(DOCUMENTS["kraken"], request_, ordered()) is None


def at_coinbase(kind: str = "sor_limit_ioc", **changes: object) -> SentRequest:
    terms = {kind: {"base_size": "0.0123", "limit_price": "64123.4"}}
    body = {"client_order_id": OURS, "product_id": "BTC-USD", "side": "SELL", "order_configuration": terms} | changes
    return SentRequest("POST", "https://api.coinbase.com/api/v3/brokerage/orders", json.dumps(body))


NESTED: dict[str, tuple[SentRequest, str | None]] = {
    "as it is": (at_coinbase(), None),
    "an id of ccxt's own": (at_coinbase(client_order_id=f"ccxt-{OURS}"), "must stand"),
    "rests": (at_coinbase("limit_limit_gtc"), "does not say order_configuration.sor_limit_ioc"),
    "an unknown time in force": (at_coinbase(timeInForce="IOC"), "sends timeInForce, which"),
}


@pytest.mark.parametrize(("request_", "said"), NESTED.values(), ids=NESTED)
def test_nested_fields(request_: SentRequest, said: str | None) -> None:
    fault = order_fault(DOCUMENTS["coinbase"], request_, ordered("sell"), "BTC-USD")
    assert fault == said if said is None else said in str(fault)


PATHS: dict[str, tuple[str, bool]] = {
    "a buy": ("https://www.bitstamp.net/api/v2/buy/btcusd/", True),
    "a sell": ("https://www.bitstamp.net/api/v2/sell/btcusd/", False),
    "at the market": ("https://www.bitstamp.net/api/v2/buy/market/btcusd/", False),
    "another pair": ("https://www.bitstamp.net/api/v2/buy/btceur/", False),
}


@pytest.mark.parametrize(("url", "is_ours"), PATHS.values(), ids=PATHS)
def test_side_and_market_in_the_path(url: str, is_ours: bool) -> None:
    body = {"amount": "0.0123", "price": "64123.4", "ioc_order": "True", "client_order_id": OURS}
    fault = order_fault(DOCUMENTS["bitstamp"], SentRequest("POST", url, urlencode(body)), ordered(), "btcusd")
    assert (fault is None) is is_ours


VERSION_1, VERSION_4 = "0a1b2c3d-4e5f-1a6b-8c7d-9e0f1a2b3c4d", "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
IDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # by the pages: ids that the exchange takes, and that it does not take or does not keep
    "coinbaseexchange": (
        (VERSION_4,),
        (OURS, VERSION_1, VERSION_4.upper(), VERSION_4.replace("-", ""), VERSION_4.replace("-8c", "-cc"), "mine"),
    ),
    "bitstamp": ((VERSION_4, "any.text", "x" * 40), ("", "two words")),
    "kraken": ((VERSION_4, VERSION_4.replace("-", ""), "eighteen.chars.max"), ("nineteen.characters", f"{VERSION_4}0")),
    "binance": ((VERSION_4, "A_b-1", "x" * 36), ("", "x" * 37, "a.b", "a/b", "a:b")),
    "binanceus": ((VERSION_4, "A_b-1", "x" * 36), ("", "x" * 37, "a.b")),
    "bybit": ((VERSION_4, "A_b-1", "x" * 36), ("", "x" * 37, "a.b")),
    "okx": ((VERSION_4.replace("-", ""), "A1", "x" * 32), ("", VERSION_4, "x" * 33, "a_b")),
    "coinbase": ((VERSION_4, "any.text"), ("", "two words")),
    "cryptocom": ((VERSION_4, "x" * 36), ("", "x" * 37)),
    "kucoin": ((VERSION_4, "A_b-1", "x" * 40), ("", "x" * 41, "a.b")),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_that_an_exchange_takes(name: str) -> None:
    taken, not_taken = IDS[name]
    assert [one for one in (*taken, *not_taken) if re.fullmatch(DOCUMENTS[name].ids, one)] == list(taken)


@given(st.text(), st.integers(0, 30))
def test_the_ids_of_sessions_are_taken_by_each_exchange(arbitrage_id: str, sent_before: int) -> None:
    ours = client_order_id(arbitrage_id, "buy", sent_before)
    with_ids = {name: one.ids for name, one in DOCUMENTS.items() if one.client_id is not None}
    assert with_ids.keys() == IDS.keys()
    assert [name for name, ids in with_ids.items() if not re.fullmatch(ids, DOCUMENTS[name].sent_id(ours))] == []
    assert {DOCUMENTS[name].our_id(DOCUMENTS[name].sent_id(ours)) for name in with_ids} == {ours}


def test_an_id_that_coinbase_exchange_would_not_process_is_not_sent() -> None:
    body = {"client_oid": OURS, "product_id": "BTC-USD", "side": "buy", "type": "limit", "time_in_force": "IOC"}
    body |= {"size": "0.0123", "price": "64123.4"}
    request = SentRequest("POST", "https://api.exchange.coinbase.com/orders", json.dumps(body))
    fault = order_fault(DOCUMENTS["coinbaseexchange"], request, ordered(), "BTC-USD")
    assert fault == f"sends client_oid {OURS}, which the exchange does not take"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_row_says_where_and_when_its_words_were_read(name: str) -> None:
    document = DOCUMENTS[name]
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", document.read)
    assert all(page.startswith("https://") for page in (document.source, document.copy or document.source))
    assert document.read in document.seen
    assert (document.copy or "") in document.seen


steps = st.integers(1, 10**15).map(lambda units: Decimal(units).scaleb(-8))


@given(steps, steps, steps)
def test_no_other_number_passes(amount: Decimal, price: Decimal, sent: Decimal) -> None:
    order = ordered("buy", f"{amount:f}", f"{price:f}")
    right = on_kraken(volume=f"{amount:f}", price=f"{price:f}")
    assert order_fault(DOCUMENTS["kraken"], right, order, "XBTUSD") is None
    wrong = on_kraken(volume=f"{sent:f}", price=f"{price:f}")
    assert (order_fault(DOCUMENTS["kraken"], wrong, order, "XBTUSD") is None) is (sent == amount)
