"""Real streams of five exchanges: every message is understood and the books are those of a simple second way."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal

import pytest

from exchanges.books.errors import FrameRejectedError
from exchanges.catalogue import wire_of
from exchanges.kraken.book import CheckedBook
from market.prices.book_top import BookTop
from market.prices.quotes import MAX_LEVELS, Level
from tests.exchanges.books.kraken_v1 import BookMessage, book_message, take
from tests.exchanges.books.recordings import Listener, fetched_bodies, is_crossed, market_of, received_frames

Side = dict[Decimal, Decimal]


class NaiveBook:
    """A dictionary a side, sorted whole each time it is looked at."""

    def __init__(self) -> None:
        self.bids: Side = {}
        self.asks: Side = {}

    def change(self, side: Side, rows: Iterable[tuple[str | Decimal, str | Decimal]]) -> None:
        for price, amount in rows:
            side[Decimal(price)] = Decimal(amount)

    def top(self) -> tuple[list[tuple[Decimal, Decimal]], list[tuple[Decimal, Decimal]]]:
        bids = sorted(((price, amount) for price, amount in self.bids.items() if amount), reverse=True)
        return bids[:MAX_LEVELS], sorted((price, amount) for price, amount in self.asks.items() if amount)[:MAX_LEVELS]


def levels_of(top: BookTop) -> tuple[list[tuple[Decimal, Decimal]], list[tuple[Decimal, Decimal]]]:
    return [(price, amount) for price, amount in top.bids], [(price, amount) for price, amount in top.asks]


def test_coinbase() -> None:
    listeners: dict[str, Listener] = {}
    books: dict[str, NaiveBook] = defaultdict(NaiveBook)
    for now, frame in received_frames("COINBASE.ws.28.0"):
        message = json.loads(frame)
        product = message.get("product_id")
        if product is None:
            continue
        if product not in listeners:
            listeners[product] = Listener(
                wire_of("coinbaseexchange").conversation(market_of(*product.split("-")), None)
            )
        listeners[product].take_frame(frame, now)
        book = books[product]
        if message["type"] == "snapshot":
            book.change(book.bids, message["bids"])
            book.change(book.asks, message["asks"])
        for side, price, amount in message.get("changes", ()):
            book.change(book.bids if side == "buy" else book.asks, [(price, amount)])
    assert sum(len(listener.tops) for listener in listeners.values()) == 9_719 + 10
    assert not any(is_crossed(top) for listener in listeners.values() for top in listener.tops)
    for product, listener in listeners.items():
        assert levels_of(listener.tops[-1]) == books[product].top()


def bitflyer_boards() -> Iterator[tuple[int, str, str, bool, dict[str, list[dict[str, Decimal]]]]]:
    """Microseconds, frame, product, whether it is a whole board, and the board."""
    for now, frame in received_frames("BITFLYER.ws.1.0"):
        parameters = json.loads(frame, parse_float=Decimal)["params"]
        _, is_board, name = parameters["channel"].partition("lightning_board_")
        product = name.removeprefix("snapshot_")
        # Futures are named without an underscore between base and quote.
        if is_board and "_" in product:
            yield now, frame, product, product != name, parameters["message"]


def test_bitflyer() -> None:
    listeners: dict[str, Listener] = {}
    books: dict[str, NaiveBook] = {}
    for now, frame, product, is_complete, board in bitflyer_boards():
        if product not in listeners:
            listeners[product] = Listener(wire_of("bitflyer").conversation(market_of(*product.rsplit("_", 1)), None))
        listeners[product].take_frame(frame, now)
        if is_complete:
            books[product] = NaiveBook()
        if product in books:
            book = books[product]
            book.change(book.bids, [(row["price"], row["size"]) for row in board["bids"]])
            book.change(book.asks, [(row["price"], row["size"]) for row in board["asks"]])
    assert set(listeners) >= {"BTC_USD", "BTC_EUR", "FX_BTC_JPY", "ETH_JPY", "XRP_JPY"}
    assert sum(len(listener.tops) for listener in listeners.values()) == 731
    assert not any(is_crossed(top) for listener in listeners.values() for top in listener.tops)
    for product, listener in listeners.items():
        assert levels_of(listener.tops[-1]) == books[product].top()


def test_bitstamp() -> None:
    snapshots = {
        f"{address.removeprefix('https://www.bitstamp.net')}/": body
        for address, body in fetched_bodies("BITSTAMP.http.0.0")
    }
    pairs = {path.split("/")[-2] for path in snapshots}
    listeners = {
        pair: Listener(
            wire_of("bitstamp").conversation(market_of(pair[:-3].upper(), pair[-3:].upper()), None), snapshots
        )
        for pair in pairs
    }
    changes: dict[str, list[dict[str, list[list[str]]]]] = defaultdict(list)
    for now, frame in received_frames("BITSTAMP.ws.1.0"):
        message = json.loads(frame)
        kind, _, pair = message["channel"].rpartition("_")
        listeners[pair].take_frame(frame, now)
        if kind == "diff_order_book" and message["event"] == "data":
            changes[pair].append(message["data"])
    assert sum(len(listener.tops) for listener in listeners.values()) == 717
    for pair, listener in listeners.items():
        path = f"/api/v2/order_book/{pair}/"
        # A pair whose book did not change in these 30 s has nothing to compare a snapshot with.
        assert listener.fetched == ([path] if changes[pair] else [])
        if not changes[pair]:
            continue
        assert not any(map(is_crossed, listener.tops))
        snapshot, book = json.loads(snapshots[path]), NaiveBook()
        newer = [change for change in changes[pair] if _micros(change) > _micros(snapshot)]
        for part in (snapshot, *newer):
            book.change(book.bids, part["bids"])
            book.change(book.asks, part["asks"])
        assert levels_of(listener.tops[-1]) == book.top()


def _micros(part: dict[str, list[list[str]]]) -> int:
    return int(str(part["microtimestamp"]))


def binance_recording() -> tuple[dict[str, bytes], list[tuple[int, str, dict[str, object]]]]:
    """Snapshots by their path, and the frames with their symbol's data."""
    snapshots = {
        address.removeprefix("https://api.binance.com"): body for address, body in fetched_bodies("BINANCE.http.0.0")
    }
    frames = [(now, frame, json.loads(frame)["data"]) for now, frame in received_frames("BINANCE.ws.1.0")]
    return snapshots, frames


def test_binance() -> None:
    snapshots, frames = binance_recording()
    symbols = {str(data["s"]) for _, _, data in frames}
    listeners = {
        name: Listener(wire_of("binance").conversation(market_of(name, ""), None), snapshots) for name in symbols
    }
    for now, frame, data in frames:
        listeners[str(data["s"])].take_frame(frame, now)
    assert len(symbols) == 4
    assert sum(len(listener.tops) for listener in listeners.values()) == 176
    for name, listener in listeners.items():
        assert not any(map(is_crossed, listener.tops))
        snapshot, book = json.loads(snapshots[f"/api/v3/depth?symbol={name}&limit=1000"]), NaiveBook()
        book.change(book.bids, snapshot["bids"])
        book.change(book.asks, snapshot["asks"])
        for _, frame, _ in frames:
            data = json.loads(frame)["data"]
            if data["s"] == name and data.get("u", 0) > snapshot["lastUpdateId"] and "U" in data:
                book.change(book.bids, data["b"])
                book.change(book.asks, data["a"])
        assert levels_of(listener.tops[-1]) == book.top()


@pytest.mark.parametrize("missing", [3, 40, 100])
def test_binance_with_one_message_missing_is_a_gap(missing: int) -> None:
    snapshots, frames = binance_recording()
    depths = [(now, frame) for now, frame, data in frames if data.get("e") == "depthUpdate" and data["s"] == "NKNUSDT"]
    assert len(depths) == 150
    listener = Listener(wire_of("binance").conversation(market_of("NKN", "USDT"), None), snapshots)
    for now, frame in depths[:missing]:
        listener.take_frame(frame, now)
    now, frame = depths[missing + 1]
    with pytest.raises(FrameRejectedError) as caught:
        listener.take_frame(frame, now)
    assert caught.value.kind == "sequence_gap"


def kraken_messages() -> list[BookMessage]:
    messages = (book_message(frame) for _, frame in received_frames("KRAKEN.ws.50.0"))
    return [message for message in messages if message is not None]


def test_kraken_matches_every_checksum() -> None:
    books: dict[str, CheckedBook] = defaultdict(lambda: CheckedBook(1_000))
    matched = 0
    for message in kraken_messages():
        take(books[message.pair], message)
        assert not is_crossed(books[message.pair].top())
        matched += message.checksum is not None
    assert (len(books), matched) == (10, 4_269)


def test_kraken_with_one_message_missing_fails_its_checksum() -> None:
    messages = [message for message in kraken_messages() if message.pair == "ETH/CHF"]
    book = CheckedBook(1_000)
    for message in messages[:20]:
        take(book, message)
    seen = book.top()
    lost = next(number for number, message in enumerate(messages[20:], 20) if changes_best(seen, message))
    for message in messages[20:lost]:
        take(book, message)
    with pytest.raises(FrameRejectedError) as caught:
        take(book, messages[lost + 1])
    assert caught.value.kind == "checksum"


def changes_best(top: BookTop, message: BookMessage) -> bool:
    return any(level.price >= top.bids[4].price for level in message.bids) or any(
        Level(*level).price <= top.asks[4].price for level in message.asks
    )
