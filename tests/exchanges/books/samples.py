"""Frames as the exchanges write them, made by hand for tests, and short ways to hear them."""

import json
from typing import Literal

import orjson

from exchanges.books.errors import FrameRejectedError
from exchanges.books.port import Conversation, Send
from exchanges.catalogue import wire_of
from exchanges.credentials import Credentials
from market.prices.book_top import BookTop
from market.prices.quotes import Level
from tests.exchanges.books.recordings import market_of
from tests.pricefeeds.samples import level

NOW = 1_700_000_000_000_000
BIDS = [("60000.10", "0.50000000"), ("59999.90", "1.00000000")]
ASKS = [("60000.20", "0.25000000"), ("60001.00", "2.00000000")]
Rows = list[tuple[str, str]]


def conversation_of(exchange: str, keys: Credentials | None = None) -> Conversation:
    others = {"bitstamp": "EUR", "bitflyer": "JPY", **dict.fromkeys(("binance", "bybit", "okx"), "USDT")}
    quote_currency = others.get(exchange, "USD")
    return wire_of(exchange).conversation(market_of("BTC", quote_currency), keys)


def sent(conversation: Conversation, now: int = NOW) -> list[dict[str, object]]:
    """Return what it sends on opening."""
    heard = conversation.open(now)
    assert all(isinstance(each, Send) for each in heard)
    return [orjson.loads(each.text) for each in heard if isinstance(each, Send)]


def top_of_frames(conversation: Conversation, *frames: str) -> BookTop:
    """Return the book after the last of `frames`."""
    heard = [each for frame in frames for each in conversation.take_frame(frame, NOW)]
    assert isinstance(heard[-1], BookTop)
    return heard[-1]


def levels(*rows: tuple[str, str]) -> tuple[Level, ...]:
    return tuple(level(price, amount) for price, amount in rows)


def rejection_of(conversation: Conversation, frame: str) -> Literal["malformed", "sequence_gap", "checksum"] | None:
    """How a frame is rejected; None if it is taken."""
    try:
        conversation.take_frame(frame, NOW)
    except FrameRejectedError as error:
        return error.kind
    return None


# -- Coinbase Exchange


def coinbase_snapshot(bids: Rows = BIDS, asks: Rows = ASKS, product: str = "BTC-USD") -> str:
    return json.dumps({"type": "snapshot", "product_id": product, "bids": bids, "asks": asks})


def coinbase_update(*changes: tuple[str, str, str], time: str = "2023-11-14T22:13:20.000001Z") -> str:
    return json.dumps({"type": "l2update", "product_id": "BTC-USD", "changes": changes, "time": time})


def coinbase_heartbeat(sequence: int, last_trade_id: int) -> str:
    fields = {"type": "heartbeat", "product_id": "BTC-USD", "time": "2023-11-14T22:13:20.000000Z"}
    return json.dumps({**fields, "sequence": sequence, "last_trade_id": last_trade_id})


# -- Coinbase Advanced


def advanced_message(channel: str, number: int, *events: dict[str, object]) -> str:
    head = {"channel": channel, "client_id": "", "timestamp": "2023-11-14T22:13:20.714964855Z", "sequence_num": number}
    return json.dumps({**head, "events": events})


def advanced_book(kind: str, number: int, bids: Rows = BIDS, asks: Rows = ASKS, product: str = "BTC-USD") -> str:
    updates = [
        {"side": side, "event_time": "1970-01-01T00:00:00Z", "price_level": price, "new_quantity": amount}
        for side, rows in (("bid", bids), ("offer", asks))
        for price, amount in rows
    ]
    return advanced_message("l2_data", number, {"type": kind, "product_id": product, "updates": updates})


def advanced_heartbeat(number: int) -> str:
    time = "2023-11-14 22:13:20.121961769 +0000 UTC m=+91717.525857105"
    return advanced_message("heartbeats", number, {"current_time": time, "heartbeat_counter": 3049})


# -- Bitstamp


def bitstamp_book(micros: int, bids: Rows = BIDS, asks: Rows = ASKS) -> bytes:
    stamps = {"timestamp": str(micros // 1_000_000), "microtimestamp": str(micros)}
    return json.dumps({**stamps, "bids": bids, "asks": asks}).encode()


def bitstamp_change(micros: int, bids: Rows, asks: Rows, pair: str = "btceur") -> str:
    data = json.loads(bitstamp_book(micros, bids, asks))
    return json.dumps({"event": "data", "channel": f"diff_order_book_{pair}", "data": data})


# -- bitFlyer


def bitflyer_board(bids: Rows, asks: Rows, *, is_snapshot: bool = False, product: str = "BTC_JPY") -> str:
    channel = f"lightning_board_{'snapshot_' if is_snapshot else ''}{product}"
    sides = {
        name: "[" + ",".join(f'{{"price":{price},"size":{size}}}' for price, size in rows) + "]"
        for name, rows in (("bids", bids), ("asks", asks))
    }
    message = f'{{"mid_price":0,"bids":{sides["bids"]},"asks":{sides["asks"]}}}'
    head = '{"jsonrpc":"2.0","method":"channelMessage","params":'
    return f'{head}{{"channel":"{channel}","message":{message}}}}}'


# -- Kraken


def kraken_book(
    kind: str, bids: Rows, asks: Rows, checksum: int, symbol: str = "BTC/USD", time: str | None = None
) -> str:
    sides = {
        name: "[" + ",".join(f'{{"price":{price},"qty":{amount}}}' for price, amount in rows) + "]"
        for name, rows in (("bids", bids), ("asks", asks))
    }
    stamp = "" if time is None else f',"timestamp":"{time}"'
    row = f'{{"symbol":"{symbol}","bids":{sides["bids"]},"asks":{sides["asks"]},"checksum":{checksum}{stamp}}}'
    return f'{{"channel":"book","type":"{kind}","data":[{row}]}}'


# -- Binance


def binance_change(first: int, last: int, bids: Rows, asks: Rows, symbol: str = "BTCUSDT") -> str:
    fields = {"e": "depthUpdate", "E": 1_700_000_000_123, "s": symbol, "U": first, "u": last}
    return json.dumps({**fields, "b": bids, "a": asks})


def binance_book(last: int, bids: Rows = BIDS, asks: Rows = ASKS) -> bytes:
    return json.dumps({"lastUpdateId": last, "bids": bids, "asks": asks}).encode()


# -- Bybit


def bybit_book(kind: str, update_id: int, bids: Rows, asks: Rows, symbol: str = "BTCUSDT") -> str:
    data = {"s": symbol, "b": bids, "a": asks, "u": update_id, "seq": 7961638724}
    times = {"ts": 1_700_000_000_124, "cts": 1_700_000_000_123}
    return json.dumps({"topic": f"orderbook.50.{symbol}", "type": kind, "data": data, **times})


# -- OKX


def okx_book(action: str, before: int, number: int, bids: Rows, asks: Rows, instrument: str = "BTC-USDT") -> str:
    sides = {"asks": [[*row, "0", "1"] for row in asks], "bids": [[*row, "0", "1"] for row in bids]}
    row = {**sides, "ts": "1700000000123", "checksum": 0, "seqId": number, "prevSeqId": before}
    return json.dumps({"arg": {"channel": "books", "instId": instrument}, "action": action, "data": [row]})
