"""Bitstamp's changes around a snapshot by REST: which snapshot counts, which change is in it, which is late."""

import json

import pytest

from exchanges.bitstamp.book import parse_rest_book
from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, FetchSnapshot, Heartbeat
from exchanges.books.snapshots import MAX_FETCHES, MAX_WAITING, RETRY_AFTER
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    bitstamp_book,
    bitstamp_change,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "bitstamp"
FETCH = FetchSnapshot("/api/v2/order_book/btceur/")


def ready(micros: int = 1_000) -> Conversation:
    """With a book of that time."""
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(bitstamp_change(micros, [], []), NOW) == [FETCH]
    assert conversation.take_snapshot(bitstamp_book(micros), NOW) == [BookTop(levels(*BIDS), levels(*ASKS), micros)]
    return conversation


def test_it_subscribes_to_changes() -> None:
    assert sent(conversation_of(EXCHANGE)) == [
        {"event": "bts:subscribe", "data": {"channel": "diff_order_book_btceur"}}
    ]


def test_changes_wait_for_the_snapshot_and_those_within_it_are_left_out() -> None:
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(bitstamp_change(100, [("1", "1")], []), NOW) == [FETCH]
    assert conversation.take_frame(bitstamp_change(200, [("2", "1")], []), NOW) == []
    assert conversation.take_frame(bitstamp_change(300, [("60000.15", "1")], []), NOW) == []
    top = BookTop(levels(("60000.15", "1"), *BIDS), levels(*ASKS), 300)
    assert conversation.take_snapshot(bitstamp_book(200), NOW) == [top]
    late = bitstamp_change(400, [("60000.15", "0")], [("60000.18", "7")])
    assert top_of_frames(conversation, late) == BookTop(levels(*BIDS), levels(("60000.18", "7"), *ASKS), 400)


def test_a_change_in_flight_that_the_snapshot_has_already_changes_nothing() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(bitstamp_change(100, [], []), NOW)
    conversation.take_snapshot(bitstamp_book(500), NOW)
    assert top_of_frames(conversation, bitstamp_change(400, [("60000.15", "1")], [])).bids == levels(*BIDS)
    assert top_of_frames(conversation, bitstamp_change(501, [("60000.15", "1")], [])).bids[0].amount == 1


def test_a_snapshot_older_than_the_first_change_is_fetched_again_after_a_while() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(bitstamp_change(100, [], []), NOW)
    assert conversation.take_snapshot(bitstamp_book(99), NOW) == []
    assert conversation.take_frame(bitstamp_change(101, [], []), NOW + RETRY_AFTER - 1) == []
    heartbeat = '{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}'
    assert conversation.take_frame(heartbeat, NOW + RETRY_AFTER) == [Heartbeat(), FETCH]
    assert len(conversation.take_snapshot(bitstamp_book(100), NOW + RETRY_AFTER)) == 1


def test_it_is_not_fetched_for_ever() -> None:
    conversation = conversation_of(EXCHANGE)
    now = NOW
    for number in range(MAX_FETCHES - 1):
        assert conversation.take_frame(bitstamp_change(100 + number, [], []), now) == [FETCH]
        assert conversation.take_snapshot(bitstamp_book(99), now) == []
        now += RETRY_AFTER
    assert conversation.take_frame(bitstamp_change(500, [], []), now) == [FETCH]
    with pytest.raises(FrameRejectedError) as caught:
        conversation.take_snapshot(bitstamp_book(99), now)
    assert caught.value.kind == "sequence_gap"


def test_changes_do_not_wait_for_ever() -> None:
    conversation = conversation_of(EXCHANGE)
    frame = bitstamp_change(100, [], [])
    for _ in range(MAX_WAITING):
        conversation.take_frame(frame, NOW)
    with pytest.raises(FeedDroppedError):
        conversation.take_frame(frame, NOW)


def test_time_that_goes_back_is_a_gap_and_a_repetition_is_none() -> None:
    conversation = ready()
    change = bitstamp_change(2_000, [("60000.15", "1")], [])
    assert top_of_frames(conversation, change) == top_of_frames(conversation, change)
    assert rejection_of(conversation, bitstamp_change(1_999, [], [])) == "sequence_gap"


def test_a_second_snapshot_is_left_alone() -> None:
    assert ready().take_snapshot(bitstamp_book(9_000, [], []), NOW) == []


@pytest.mark.parametrize("event", ["bts:subscription_succeeded", "bts:unsubscription_succeeded", "trade"])
def test_other_events_are_received_without_effect(event: str) -> None:
    frame = json.dumps({"event": event, "channel": "diff_order_book_btceur", "data": {}})
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ('{"event":"bts:request_reconnect","channel":"","data":""}', FeedDroppedError),
        (
            '{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}',
            FeedRejectedError,
        ),
        (
            '{"event":"bts:error","channel":"","data":{"code":4009,"message":"Connection is unauthorized."}}',
            FeedRejectedError,
        ),
        ('{"event":"bts:error","channel":"","data":{"code":null,"message":"Too many requests"}}', FeedDroppedError),
    ],
)
def test_what_the_exchange_says_no_to(frame: str, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(frame, NOW)
    assert type(caught.value) is expected


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"event":"dat"}',
        '{"event":"bts:error"}',
        bitstamp_change(2_000, [], [], pair="btcusd"),
        bitstamp_change(-1, [], []),
        bitstamp_change(2_000, [("x", "1")], []),
        bitstamp_change(2_000, [("1", "-1")], []),
        '{"event":"data","channel":"diff_order_book_btceur","data":{"microtimestamp":"2000","bids":[]}}',
        '{"event":"data","channel":"diff_order_book_btceur","data":[]}',
    ],
)
def test_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<html>Bad gateway</html>", FrameRejectedError),
        (b'{"bids":[],"asks":[]}', FrameRejectedError),
        (b'{"status":"error","reason":"Too many requests","code":"400.002"}', FeedDroppedError),
        (b'{"status":"error","reason":{"__all__":["Invalid market symbol: btcxyz."]}}', FeedRejectedError),
    ],
)
def test_answers_that_are_no_book(body: bytes, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        parse_rest_book(body)
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(bitstamp_change(100, [], []), NOW)
    with pytest.raises(expected):
        conversation.take_snapshot(body, NOW)


def test_the_book_by_rest() -> None:
    assert parse_rest_book(bitstamp_book(77)) == BookTop(levels(*BIDS), levels(*ASKS), 77)
