"""Which symbol a message is about, and how requests of many symbols become few."""

import json

import pytest

from exchanges.books.port import Send, WireExchange
from exchanges.books.stream_sharing import merged_requests
from exchanges.catalogue import wire_of
from exchanges.credentials import Credentials
from tests.exchanges.books.recordings import market_of
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    advanced_book,
    advanced_heartbeat,
    advanced_message,
    binance_change,
    bitflyer_board,
    bitstamp_change,
    bybit_book,
    coinbase_heartbeat,
    coinbase_snapshot,
    coinbase_update,
    kraken_book,
    okx_book,
)

KEYS = Credentials("key", "c2VjcmV0", "word")
QUOTE_CURRENCIES = {
    **{"bitstamp": "EUR", "bitflyer": "JPY", "kraken": "USD", "coinbaseexchange": "USD", "coinbase": "USD"},
    **{"binance": "USDT", "bybit": "USDT", "okx": "USDT"},
}
# what an exchange says: whether it is about bitcoin
MESSAGES: list[tuple[str, str, bool]] = [
    ("coinbaseexchange", coinbase_snapshot(), True),
    ("coinbaseexchange", coinbase_update(("buy", "1", "1")), True),
    ("coinbaseexchange", coinbase_heartbeat(1, 1), True),
    ("coinbaseexchange", '{"type":"subscriptions","channels":[{"name":"level2","product_ids":["BTC-USD"]}]}', False),
    ("coinbaseexchange", '{"type":"error","message":"Failed to subscribe","reason":"X is not a product"}', False),
    ("bitstamp", bitstamp_change(NOW, BIDS, ASKS), True),
    ("bitstamp", '{"event":"bts:subscription_succeeded","channel":"diff_order_book_btceur","data":{}}', True),
    ("bitstamp", '{"event":"bts:request_reconnect","channel":"","data":""}', False),
    ("bitflyer", bitflyer_board(BIDS, ASKS), True),
    ("bitflyer", bitflyer_board(BIDS, ASKS, is_snapshot=True), True),
    ("bitflyer", '{"jsonrpc":"2.0","id":1,"result":true}', False),
    ("kraken", kraken_book("update", BIDS, ASKS, 1), True),
    ("kraken", '{"method":"subscribe","success":true,"result":{"channel":"book","symbol":"BTC/USD"}}', True),
    ("kraken", '{"channel":"status","data":[{"system":"online"}]}', False),
    ("kraken", '{"channel":"heartbeat"}', False),
    ("binance", binance_change(1, 2, BIDS, ASKS), True),
    ("binance", '{"result":null,"id":1}', False),
    ("binance", "\ufffd\x00\x1f{]", False),
    ("bybit", bybit_book("snapshot", 1, BIDS, ASKS), True),
    ("bybit", bybit_book("delta", 2, BIDS, ASKS), True),
    ("bybit", '{"success":true,"ret_msg":"subscribe","conn_id":"1","op":"subscribe"}', False),
    ("okx", okx_book("snapshot", -1, 1, BIDS, ASKS), True),
    ("okx", okx_book("update", 1, 2, BIDS, ASKS), True),
    ("okx", '{"event":"subscribe","arg":{"channel":"books","instId":"BTC-USDT"},"connId":"1"}', True),
    ("coinbase", advanced_book("snapshot", 1), True),
    ("coinbase", advanced_book("update", 2), True),
    ("coinbase", advanced_heartbeat(3), False),
    ("coinbase", advanced_message("subscriptions", 0, {"subscriptions": {"level2": ["BTC-USD"]}}), False),
    ("coinbase", '{"type":"error","message":"invalid product_ids"}', False),
    ("okx", '{"event":"notice","code":"64008","msg":"The connection will soon be closed.","connId":"1"}', False),
]


@pytest.mark.parametrize(("exchange", "message", "is_named"), MESSAGES)
def test_a_message_names_its_stream(exchange: str, message: str, is_named: bool) -> None:
    sharing = wire_of(exchange).sharing
    assert sharing is not None
    market = market_of("BTC", QUOTE_CURRENCIES[exchange])
    assert sharing.stream_in(message.encode()) == (sharing.stream_name(market) if is_named else None)


@pytest.mark.parametrize("keys", [KEYS, None])
@pytest.mark.parametrize("exchange", QUOTE_CURRENCIES)
def test_leaving_ends_what_was_subscribed_to(exchange: str, keys: Credentials | None) -> None:
    wire, market = wire_of(exchange), market_of("BTC", QUOTE_CURRENCIES[exchange])
    assert wire.sharing is not None
    left = [_subjects(text) for text in wire.sharing.leave(market, keys)]
    # heartbeats of Coinbase Advanced are of the connection
    opened = [text for text in _opened(wire, "BTC", keys) if '"heartbeats"' not in text]
    assert left == [_subjects(text) for text in opened]
    assert all("nsubscribe" in text.lower() for text in wire.sharing.leave(market, keys))


@pytest.mark.parametrize(
    ("exchange", "messages"),
    [
        ("coinbaseexchange", 1),
        ("kraken", 1),
        ("binance", 1),
        ("bybit", 1),
        ("okx", 1),
        ("coinbase", 2),
        ("bitstamp", 3),
        ("bitflyer", 6),
    ],
)
def test_symbols_subscribe_together_where_a_request_takes_many(exchange: str, messages: int) -> None:
    wire, bases = wire_of(exchange), ("BTC", "ETH", "SOL")
    assert wire.sharing is not None
    requests = [text for base in bases for text in _opened(wire, base, KEYS)]
    merged = merged_requests(requests, wire.sharing.symbols_field)
    assert len(merged) == messages
    assert all(base in "".join(merged).upper() for base in bases)


def test_requests_of_two_kinds_stay_two() -> None:
    requests = ['{"do":"begin","of":["a"]}', '{"do":"end","of":["b"]}', '{"do":"begin","of":["c"]}']
    assert merged_requests(requests, ("of",)) == ['{"do":"begin","of":["a","c"]}', '{"do":"end","of":["b"]}']


def _opened(wire: WireExchange, base: str, keys: Credentials | None) -> list[str]:
    requests = wire.conversation(market_of(base, QUOTE_CURRENCIES[wire.name]), keys).open(NOW)
    return [request.text for request in requests if isinstance(request, Send)]


def _subjects(request: str) -> object:
    """Return what a request is about: its symbols and channels."""
    fields = json.loads(request)
    parameters = fields.get("params", fields.get("data", fields))
    if isinstance(parameters, list):
        return parameters
    return {name: parameters.get(name) for name in ("channel", "channels", "product_ids", "symbol", "depth", "args")}
