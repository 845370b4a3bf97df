"""Which faults are on: by count and by seconds, at their places, the same again from the same seed."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.faults.fault_kinds import FAULT_KINDS, Fault, FaultKind, FaultRejectedError, Faults
from simulators.faults.requests import fault_from, fault_row
from simulators.faults.skewed_clock import SkewedClock
from tests.exchanges.stepped_clock import SteppedClock

SYMBOLS = {"kraken": ("BTC/USD", "EUR/USD"), "binance": ("BTC/USDT",)}


def faults_at(clock: SteppedClock | None = None, seed: int = 1) -> Faults:
    return Faults(clock or SteppedClock(), SYMBOLS, seed)


def test_a_count_strikes_so_often_and_elsewhere_never() -> None:
    faults = faults_at()
    faults.switch_on(Fault("kraken", "dropped_message", count=2))
    assert [faults.of("kraken").inject("dropped_message") is not None for _ in range(4)] == [True, True, False, False]
    assert faults.of("binance").inject("dropped_message") is None
    assert faults.of("kraken").is_quiet
    assert faults.injected_counts() == {"kraken": {"dropped_message": 2}}


def test_seconds_last_so_long() -> None:
    clock = SteppedClock()
    faults = faults_at(clock)
    faults.switch_on(Fault("kraken", "ban", seconds=2))
    of_kraken = faults.of("kraken")
    assert of_kraken.inject("ban") is not None
    clock.advance(1.9)
    assert of_kraken.inject("ban") is not None
    clock.advance(0.1)
    assert of_kraken.inject("ban") is None
    assert of_kraken.is_quiet


def test_with_both_the_first_that_is_over_ends_it() -> None:
    clock = SteppedClock()
    faults = faults_at(clock)
    faults.switch_on(Fault("kraken", "ban", count=1, seconds=5))
    faults.switch_on(Fault("kraken", "http_429", count=5, seconds=1))
    assert faults.of("kraken").inject("ban") is not None
    clock.advance(1)
    assert faults.active() == []


@pytest.mark.parametrize(
    ("fault", "symbol", "channel", "strikes"),
    [
        (Fault("kraken", "dropped_message", count=1), None, "book:BTC/USD", True),
        (Fault("kraken", "dropped_message", count=1, symbol="BTC/USD"), "BTC/USD", "book:BTC/USD", True),
        (Fault("kraken", "dropped_message", count=1, symbol="BTC/USD"), "EUR/USD", "book:EUR/USD", False),
        (Fault("kraken", "dropped_message", count=1, symbol="BTC/USD"), None, "executions", False),
        (Fault("kraken", "dropped_message", count=1, channel="book"), "BTC/USD", "book:BTC/USD", True),
        (Fault("kraken", "dropped_message", count=1, channel="trade"), "BTC/USD", "book:BTC/USD", False),
        (Fault("kraken", "http_429", count=1, channel="/0/private"), None, "/0/private/AddOrder", True),
        (Fault("kraken", "http_429", count=1, channel="/0/private"), None, "/0/public/Depth", False),
    ],
)
def test_a_fault_strikes_where_it_is_meant(
    fault: Fault, symbol: str | None, channel: str | None, strikes: bool
) -> None:
    faults = faults_at()
    faults.switch_on(fault)
    assert (faults.of("kraken").inject(fault.kind, symbol, channel) is not None) is strikes


@given(seed=st.integers(), probability=st.floats(0.01, 0.99))
def test_the_same_seed_strikes_the_same(seed: int, probability: float) -> None:
    def struck() -> list[bool]:
        faults = faults_at(seed=seed)
        faults.switch_on(Fault("kraken", "dropped_message", seconds=60, probability=probability))
        return [faults.of("kraken").inject("dropped_message") is not None for _ in range(50)]

    assert struck() == struck()


def test_probability_is_how_often_it_strikes() -> None:
    faults = faults_at()
    faults.switch_on(Fault("kraken", "dropped_message", seconds=60, probability=0.25))
    struck = sum(faults.of("kraken").inject("dropped_message") is not None for _ in range(4_000))
    assert 900 < struck < 1_100


@pytest.mark.parametrize(
    ("exchange", "kind", "left"),
    [
        (None, None, set()),
        ("kraken", None, {("binance", "ban")}),
        (None, "ban", {("kraken", "latency")}),
        ("kraken", "ban", {("kraken", "latency"), ("binance", "ban")}),
    ],
)
def test_faults_are_cleared(exchange: str | None, kind: FaultKind | None, left: set[tuple[str, FaultKind]]) -> None:
    faults = faults_at()
    for fault in (Fault("kraken", "ban", 9), Fault("kraken", "latency", 9), Fault("binance", "ban", 9)):
        faults.switch_on(fault)
    faults.clear(exchange, kind)
    assert {(active.fault.exchange, active.fault.kind) for active in faults.active()} == left


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "A fault is a JSON object such as"),
        ({"kind": "ban"}, "exchange is missing"),
        ({"exchange": "kraken"}, "kind is missing"),
        ({"exchange": "kraken", "kind": "ban", "cuont": 1}, "no field 'cuont'"),
        ({"exchange": "kraken", "kind": "meteor", "count": 1}, "no fault 'meteor'"),
        ({"exchange": "kraken", "kind": ["ban"], "count": 1}, "no fault ['ban']"),
        ({"exchange": "mtgox", "kind": "ban", "count": 1}, "no exchange 'mtgox'"),
        ({"exchange": "kraken", "kind": "ban"}, "needs a count or a number of seconds"),
        ({"exchange": "kraken", "kind": "ban", "count": "1"}, "count"),
        ({"exchange": "kraken", "kind": "ban", "count": True}, "count"),
        ({"exchange": "kraken", "kind": "ban", "count": 0}, "at least 1"),
        ({"exchange": "kraken", "kind": "ban", "seconds": -1}, "seconds must be between"),
        ({"exchange": "kraken", "kind": "ban", "count": 1, "probability": 0}, "probability must be between"),
        ({"exchange": "kraken", "kind": "dropped_message", "count": 1, "symbol": "BTC/EUR"}, "does not list BTC/EUR"),
        ({"exchange": "kraken", "kind": "ban", "count": 1, "symbol": "BTC/USD"}, "ban takes no symbol"),
        ({"exchange": "kraken", "kind": "ban", "count": 1, "share": 0.5}, "ban takes no share"),
        ({"exchange": "kraken", "kind": "no_pongs", "count": 1, "channel": "book"}, "no_pongs takes no channel"),
        ({"exchange": "kraken", "kind": "http_5xx", "count": 1, "status": 200}, "status must be between"),
        ({"exchange": "kraken", "kind": "clock_skew", "count": 1}, "give it seconds"),
        ({"exchange": "kraken", "kind": "lost_acknowledgement", "count": 1, "manner": "slowly"}, "manner"),
    ],
)
def test_what_makes_no_sense_is_rejected_in_one_sentence(body: object, sentence: str) -> None:
    with pytest.raises(FaultRejectedError) as rejected:
        faults_at().switch_on(fault_from(body))
    assert sentence in str(rejected.value)
    assert "\n" not in str(rejected.value)


def test_what_is_no_number_is_in_no_range() -> None:
    with pytest.raises(FaultRejectedError, match="seconds must be between"):
        faults_at().switch_on(Fault("kraken", "ban", seconds=math.nan))


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_can_be_had(kind: FaultKind) -> None:
    faults = faults_at()
    body: dict[str, Any] = {"exchange": "kraken", "kind": kind, "seconds": 3}
    active = faults.switch_on(fault_from(body))
    row = fault_row(active, active.started_at)
    assert row == {**body, "number": 1, "probability": 1.0, "seconds_left": 3.0, "struck": 0}


def test_a_skewed_clock_is_off_for_its_time_and_right_again() -> None:
    clock = SteppedClock()
    faults = faults_at(clock)
    skewed = SkewedClock(clock, faults.of("kraken"))
    faults.switch_on(Fault("kraken", "clock_skew", seconds=10, skew_seconds=-3_600))
    assert skewed.now() == clock.now() - 3_600_000_000
    clock.advance(10)
    assert skewed.now() == clock.now()
