"""Wrong frames by the thousand: each reader goes on or rejects by name, and no book that comes out is impossible."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from zlib import crc32

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, FetchSnapshot, Heartbeat, Send
from exchanges.catalogue import wire_of
from exchanges.kraken.book import level_digits
from market.prices.book_top import BookTop
from market.prices.quotes import MAX_LEVELS
from tests.exchanges.books.kraken_v1 import book_message
from tests.exchanges.books.mutations import mutated
from tests.exchanges.books.recordings import received_frames
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    advanced_book,
    advanced_heartbeat,
    advanced_message,
    binance_book,
    binance_change,
    bitflyer_board,
    bitstamp_book,
    bitstamp_change,
    bybit_book,
    coinbase_heartbeat,
    coinbase_snapshot,
    coinbase_update,
    conversation_of,
    kraken_book,
    levels,
    okx_book,
)

QUICK = 1_000
SOAK = 100_000
SEED = 20_231_114
STEP = 100_000
"""Microseconds between two frames."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Right frames of one exchange: those that begin a conversation, and those that are made wrong."""

    opening: list[str]
    frames: list[str]
    body: bytes = b""
    """What is fetched by REST."""


def coinbase() -> Corpus:
    snapshot = coinbase_snapshot()
    updates = [coinbase_update(("buy", f"{59990 + n}.5", f"{n % 3}"), ("sell", "60002", "1")) for n in range(9)]
    error = '{"type":"error","message":"Failed to subscribe","reason":"FOO-BAR is not a valid product"}'
    acknowledgement = '{"type":"subscriptions","channels":[{"name":"level2","product_ids":["BTC-USD"]}]}'
    return Corpus([snapshot], [snapshot, *updates, coinbase_heartbeat(90, 20), acknowledgement, error])


def advanced() -> Corpus:
    snapshot = advanced_book("snapshot", 0)
    changes = [advanced_book("update", 1 + n, [(f"{59990 + n}.5", f"{n % 3}")], [("60002", "1")]) for n in range(9)]
    confirmed = advanced_message("subscriptions", 11, {"subscriptions": {"level2": ["BTC-USD"]}})
    error = '{"type":"error","message":"invalid product_ids"}'
    return Corpus([snapshot], [snapshot, *changes, advanced_heartbeat(10), confirmed, error])


def bitstamp() -> Corpus:
    changes = [bitstamp_change(2_000 + n, [(f"{59990 + n}", f"{n % 3}")], [("60002", "1")]) for n in range(9)]
    others = [
        '{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}',
        '{"event":"bts:subscription_succeeded","channel":"diff_order_book_btceur","data":{}}',
        '{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}',
        '{"event":"bts:request_reconnect","channel":"","data":""}',
    ]
    return Corpus([bitstamp_change(1_000, [], [])], [*changes, *others], bitstamp_book(1_000))


def bitflyer() -> Corpus:
    whole = bitflyer_board(BIDS, ASKS, is_snapshot=True)
    changes = [bitflyer_board([(f"{59990 + n}.0", f"{n % 3}.0")], [("60002.0", "1e-08")]) for n in range(9)]
    others = [
        '{"jsonrpc":"2.0","id":1,"result":true}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}',
    ]
    return Corpus([whole], [whole, *changes, *others])


def kraken() -> Corpus:
    def checked(kind: str, bids: list[tuple[str, str]], asks: list[tuple[str, str]]) -> str:
        new_bids = sorted(levels(*BIDS, *bids) if kind == "update" else levels(*BIDS), reverse=True)
        digits = "".join(map(level_digits, (*levels(*ASKS), *new_bids)))
        return kraken_book(kind, bids, asks, crc32(digits.encode()), time="2023-11-14T22:13:20.000001Z")

    snapshot = checked("snapshot", BIDS, ASKS)
    others = [
        '{"channel":"heartbeat"}',
        '{"channel":"status","type":"update","data":[{"system":"online"}]}',
        '{"method":"subscribe","success":false,"error":"Currency pair not supported FOO/BAR"}',
        '{"method":"subscribe","success":true,"result":{"channel":"book"}}',
    ]
    updates = [checked("update", [(f"{59990 + n}.50", "1.00000000")], []) for n in range(9)]
    return Corpus([snapshot], [snapshot, snapshot, *updates, *others])


def binance() -> Corpus:
    changes = [binance_change(11 + n, 11 + n, [(f"{59990 + n}", f"{n % 3}")], [("60002", "1")]) for n in range(9)]
    others = [
        '{"result":null,"id":1}',
        '{"error":{"code":2,"msg":"Invalid request"},"id":1}',
        '{"stream":"btcusdt@depth@100ms","data":' + changes[0] + "}",
    ]
    return Corpus([binance_change(8, 10, [], [])], [*changes, *others], binance_book(9))


def bybit() -> Corpus:
    snapshot = bybit_book("snapshot", 10, BIDS, ASKS)
    changes = [bybit_book("delta", 11 + n, [(f"{59990 + n}", f"{n % 3}")], [("60002", "1")]) for n in range(9)]
    others = [
        '{"success":true,"ret_msg":"subscribe","conn_id":"1","op":"subscribe"}',
        '{"success":false,"ret_msg":"error:Invalid symbol :[orderbook.50.FOOBAR]","conn_id":"1","op":"subscribe"}',
    ]
    return Corpus([snapshot], [snapshot, *changes, *others])


def okx() -> Corpus:
    snapshot = okx_book("snapshot", -1, 10, BIDS, ASKS)
    changes = [okx_book("update", 10 + n, 11 + n, [(f"{59990 + n}", f"{n % 3}")], [("60002", "1")]) for n in range(9)]
    others = [
        '{"event":"subscribe","arg":{"channel":"books","instId":"BTC-USDT"},"connId":"1"}',
        '{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:X doesn\'t exist.","connId":"1"}',
    ]
    return Corpus([snapshot], [snapshot, *changes, *others])


CORPORA: dict[str, Callable[[], Corpus]] = {
    "coinbaseexchange": coinbase,
    "bitstamp": bitstamp,
    "bitflyer": bitflyer,
    "kraken": kraken,
    "binance": binance,
    "bybit": bybit,
    "okx": okx,
    "coinbase": advanced,
}


class Fuzzer:
    """Hears wrong frames in one conversation after the other, and counts how each ended."""

    def __init__(self, exchange: str, corpus: Corpus) -> None:
        self.outcomes: Counter[str] = Counter()
        self._exchange = exchange
        self._corpus = corpus
        self._random = Random(SEED)
        self._now = NOW
        self._conversation = self._opened()

    def run(self, frames: int) -> None:
        for _ in range(frames):
            self._now += STEP
            try:
                self._receive(mutated(self._random, self._corpus.frames))
            except FrameRejectedError as error:
                self._note(error.kind)
            except (FeedDroppedError, FeedRejectedError) as error:
                self._note(type(error).__name__)

    def _receive(self, frame: str | bytes) -> None:
        if self._corpus.body and self._random.random() < 0.1:
            self._conversation = self._waiting()
            body = mutated(self._random, [self._corpus.body.decode()])
            self._judge(self._conversation.take_snapshot(_bytes_of(body), self._now))
        self._judge(self._conversation.take_frame(frame, self._now))

    def _judge(self, heard: Sequence[object]) -> None:
        self.outcomes["nothing"] += not heard
        for each in heard:
            assert isinstance(each, Send | FetchSnapshot | Heartbeat | BookTop)
            self.outcomes[type(each).__name__] += 1
            if isinstance(each, BookTop):
                assert_possible(each)

    def _note(self, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self._conversation = self._opened()

    def _waiting(self) -> Conversation:
        conversation = conversation_of(self._exchange)
        for frame in self._corpus.opening:
            conversation.take_frame(frame, self._now)
        return conversation

    def _opened(self) -> Conversation:
        conversation = self._waiting()
        if self._corpus.body:
            conversation.take_snapshot(self._corpus.body, self._now)
        return conversation


def _bytes_of(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def assert_possible(top: BookTop) -> None:
    """Sorted strictly, best first, and nothing but finite positive numbers that print in a line."""
    assert all(before.price > after.price for before, after in pairwise(top.bids))
    assert all(before.price < after.price for before, after in pairwise(top.asks))
    for level in (*top.bids, *top.asks):
        assert level.price.is_finite()
        assert level.amount.is_finite()
        assert level.price > 0
        assert level.amount > 0
        assert len(format(level.price, "f")) + len(format(level.amount, "f")) < 160
    assert max(len(top.bids), len(top.asks)) <= MAX_LEVELS
    assert top.exchange_time is None or isinstance(top.exchange_time, int)


@pytest.mark.parametrize("exchange", CORPORA)
def test_thousands_of_wrong_frames(exchange: str) -> None:
    fuzzer = Fuzzer(exchange, CORPORA[exchange]())
    fuzzer.run(QUICK)
    # Not all went one way: books came out, and frames were rejected.
    assert fuzzer.outcomes["BookTop"] > QUICK / 25
    assert fuzzer.outcomes["malformed"] > QUICK / 5
    assert fuzzer.outcomes["FeedRejectedError"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("exchange", CORPORA)
def test_a_hundred_thousand_wrong_frames(exchange: str) -> None:
    fuzzer = Fuzzer(exchange, CORPORA[exchange]())
    fuzzer.run(SOAK)
    assert fuzzer.outcomes["BookTop"] > SOAK / 20


@pytest.mark.parametrize("frames", [QUICK, pytest.param(SOAK, marks=pytest.mark.soak)])
def test_wrong_frames_of_krakens_older_messages(frames: int) -> None:
    recorded = [frame for _, frame in received_frames("KRAKEN.ws.50.0") if len(frame) < 2_000]
    random, outcomes = Random(SEED), Counter[str]()
    for _ in range(frames):
        try:
            outcomes["book" if book_message(mutated(random, recorded)) else "other"] += 1
        except FrameRejectedError as error:
            outcomes[error.kind] += 1
    assert min(outcomes["book"], outcomes["malformed"]) > frames / 20


@pytest.mark.parametrize("exchange", CORPORA)
def test_wrong_answers_by_rest(exchange: str) -> None:
    wire, random = wire_of(exchange), Random(SEED)
    rows = '"bids":[["1.5","2",3]],"asks":[["2.5","1",4]]'
    board = '{"bids":[{"price":1.5,"size":2}],"asks":[{"price":2.5,"size":1e-08}]}'
    answers = {
        "coinbaseexchange": f'{{"sequence":1,"time":"2023-11-14T22:13:20Z",{rows}}}',
        "bitstamp": f'{{"microtimestamp":"7",{rows}}}',
        "bitflyer": board,
        "kraken": f'{{"error":[],"result":{{"XXBTZUSD":{{{rows}}}}}}}',
        "binance": f'{{"lastUpdateId":7,{rows}}}',
        "okx": '{"code":"0","msg":"","data":[{"bids":[["1.5","2","0","1"]],"asks":[["2.5","1","0","1"]],"ts":"1"}]}',
        "coinbase": '{"pricebook":{"product_id":"BTC-USD","bids":[{"price":"1.5","size":"2"}],'
        '"asks":[{"price":"2.5","size":"1"}],"time":"2023-11-14T22:13:20.662782Z"}}',
        "bybit": '{"retCode":0,"result":{"s":"BTCUSDT","b":[["1.5","2"]],"a":[["2.5","1"]],"u":7},"time":1}',
    }
    times = [
        '{"iso":"2023-11-14T22:13:20Z"}',
        '{"error":[],"result":{"unixtime":1}}',
        '{"serverTime":1}',
        '{"retCode":0,"time":1}',
        '{"code":"0","msg":"","data":[{"ts":"1"}]}',
        '{"iso":"2023-11-14T22:13:20Z","epochSeconds":"1700000000","epochMillis":"1700000000123"}',
    ]
    outcomes = Counter[str]()
    for _ in range(QUICK):
        try:
            assert_possible(wire.parse_rest_book(_bytes_of(mutated(random, [answers[exchange]]))))
            outcomes["book"] += 1
            if wire.server_time is not None:
                wire.server_time.parse(_bytes_of(mutated(random, times)))
        except (FeedDroppedError, FeedRejectedError) as error:
            outcomes[type(error).__name__] += 1
    assert min(outcomes["book"], outcomes["FrameRejectedError"]) > QUICK / 20
