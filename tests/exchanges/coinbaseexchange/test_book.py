"""Coinbase's level2 and heartbeat: the book, the signature, what is rejected and what is passed over."""

import base64
import hashlib
import hmac
import json

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.frames import REST_LEVELS
from exchanges.books.port import Heartbeat
from exchanges.coinbaseexchange.book import parse_rest_book, parse_server_time
from exchanges.credentials import Credentials
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    coinbase_heartbeat,
    coinbase_snapshot,
    coinbase_update,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "coinbaseexchange"
SECRET = base64.b64encode(b"secret").decode()


def test_the_subscription_is_signed_where_there_are_keys() -> None:
    keys = Credentials("key", SECRET, "pass")
    [request] = sent(conversation_of(EXCHANGE, keys))
    signed = hmac.digest(b"secret", b"1700000000GET/users/self/verify", hashlib.sha256)
    assert request == {
        "type": "subscribe",
        "product_ids": ["BTC-USD"],
        "channels": ["level2", "heartbeat"],
        "timestamp": 1_700_000_000,
        "key": "key",
        "passphrase": "pass",
        "signature": base64.b64encode(signed).decode(),
    }


def test_without_keys_it_asks_for_the_channel_that_needs_none() -> None:
    [request] = sent(conversation_of(EXCHANGE))
    assert request == {"type": "subscribe", "product_ids": ["BTC-USD"], "channels": ["level2_batch", "heartbeat"]}


def test_an_unusable_secret_is_rejected_and_not_shown() -> None:
    with pytest.raises(FeedRejectedError) as caught:
        conversation_of(EXCHANGE, Credentials("key", "s3cr=t!", "pass")).open(NOW)
    assert "s3cr" not in str(caught.value)


def test_a_book_is_a_snapshot_and_its_changes() -> None:
    conversation = conversation_of(EXCHANGE)
    assert top_of_frames(conversation, coinbase_snapshot()) == BookTop(levels(*BIDS), levels(*ASKS))
    update = coinbase_update(("buy", "60000.10000000", "0"), ("sell", "60000.15", "3"), ("sell", "60001", "0.5"))
    assert top_of_frames(conversation, update) == BookTop(
        levels(BIDS[1]), levels(("60000.15", "3"), ASKS[0], ("60001", "0.5")), 1_700_000_000_000_001
    )
    assert top_of_frames(conversation, coinbase_snapshot()) == BookTop(levels(*BIDS), levels(*ASKS))


def test_a_change_before_the_snapshot_is_a_gap() -> None:
    assert rejection_of(conversation_of(EXCHANGE), coinbase_update(("buy", "1", "1"))) == "sequence_gap"


def test_a_time_that_goes_back_is_a_gap_and_one_that_stands_is_none() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(coinbase_snapshot(), NOW)
    assert rejection_of(conversation, coinbase_update(("buy", "1", "1"))) is None
    assert rejection_of(conversation, coinbase_update(("buy", "1", "1"))) is None
    back = coinbase_update(("buy", "1", "1"), time="2023-11-14T22:13:20.000000Z")
    assert rejection_of(conversation, back) == "sequence_gap"


@pytest.mark.parametrize(
    ("then", "kind"), [((90, 20), None), ((91, 21), None), ((89, 20), "sequence_gap"), ((95, 19), "sequence_gap")]
)
def test_heartbeats_count_up(then: tuple[int, int], kind: str | None) -> None:
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(coinbase_heartbeat(90, 20), NOW) == [Heartbeat()]
    assert rejection_of(conversation, coinbase_heartbeat(*then)) == kind


@pytest.mark.parametrize(
    "frame",
    [
        '{"type":"subscriptions","channels":[{"name":"level2","product_ids":["BTC-USD"]}]}',
        '{"type":"ticker","product_id":"ETH-USD","price":"1"}',
        '{"type":"match","product_id":"BTC-USD","price":"1"}',
    ],
)
def test_other_messages_are_received_without_effect(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"type":5}',
        '{"type":"l2updAte"}',
        coinbase_snapshot(product="ETH-USD"),
        coinbase_snapshot(bids=[("-1", "1")]),
        coinbase_snapshot(bids=[("1", "NaN")]),
        '{"type":"snapshot","product_id":"BTC-USD","bids":[]}',
        coinbase_update(("hold", "1", "1")),
        coinbase_update(("buy", "0", "1")),
        coinbase_update(("buy", "1", "1e400")),
        coinbase_update(("buy", "1", "1"), time="soon"),
        '{"type":"l2update","product_id":"BTC-USD","changes":[["buy","1","1"]]}',
        '{"type":"l2update","product_id":"BTC-USD","changes":{},"time":"2023-11-14T22:13:20Z"}',
        '{"type":"heartbeat","product_id":"BTC-USD","sequence":-4,"last_trade_id":2}',
    ],
)
def test_malformed(frame: str) -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(coinbase_snapshot(), NOW)
    assert rejection_of(conversation, frame) == "malformed"


@pytest.mark.parametrize(
    ("message", "reason", "expected"),
    [
        ("Authentication Failed", '{"message":"Invalid API Key"}', FeedRejectedError),
        ("Authentication Failed", '{"message":"invalid signature"}', FeedRejectedError),
        ("Failed to subscribe", "FOO-BAR is not a valid product", FeedRejectedError),
        ("Authentication Failed", '{"message":"request timestamp expired"}', FeedDroppedError),
        ("Too many requests", "rate limit exceeded", FeedDroppedError),
        ("Service unavailable", None, FeedDroppedError),
    ],
)
def test_what_the_exchange_rejects(message: str, reason: str | None, expected: type[Exception]) -> None:
    frame = json.dumps({"type": "error", "message": message, "reason": reason})
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(frame, NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest_has_a_third_column() -> None:
    body = {"sequence": 1, "time": "2023-11-14T22:13:20.000002Z", "bids": [["1", "2", 3]], "asks": [["2", "1", 9]]}
    top = parse_rest_book(json.dumps(body).encode())
    assert top == BookTop(levels(("1", "2")), levels(("2", "1")), 1_700_000_000_000_002)
    with pytest.raises(FeedRejectedError):
        parse_rest_book(b'{"message":"NotFound"}')
    with pytest.raises(FrameRejectedError):
        parse_rest_book(b"<html>")


def test_of_a_huge_book_by_rest_the_best_levels_are_read() -> None:
    bids = [[str(100_000 - number), "1", 1] for number in range(REST_LEVELS)] + [["no level"]] * 50_000
    top = parse_rest_book(json.dumps({"bids": bids, "asks": [["100001", "1", 1]]}).encode())
    assert [int(level.price) for level in top.bids] == list(range(100_000, 99_990, -1))


def test_server_time() -> None:
    assert parse_server_time(b'{"iso":"2023-11-14T22:13:20.5Z","epoch":1700000000.5}') == 1_700_000_000_500_000
    with pytest.raises(FrameRejectedError):
        parse_server_time(b'{"epoch":1}')
