"""Cycles found row by row are those of the search of the set; a state that was saved goes on as if nothing had been."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from backtest.detect.cycle_search import cycle_sightings
from backtest.verify.cycles import cycle_messages
from cep.detection.cycle_detection import CycleDetection
from market.decide.settings import Settings
from market.instruments.cycles import CycleTerms, watched_cycles
from market.prices.cycle_opportunities import CycleOpportunity
from market.prices.opportunities import LogMarker
from streams.cycle_messages import cycle_opportunity_of
from streams.message_format import marker_row, row_of, settings_row
from tests.backtest.cycle_sets import BEGIN, MARKETS, SECOND, SETTINGS, Row, cycle_set, random_rows
from tests.backtest.cycle_sets import row_of as set_row

EVERYWHERE = CycleTerms(5, frozenset({"alpha", "beta"}), frozenset({"alpha", "beta"}))
CYCLES = watched_cycles(MARKETS, EVERYWHERE, "USD", SETTINGS.taker_fees).cycles
TRIANGLE = (
    set_row("BTC/USD", BEGIN, "40000", "40001", ("1", "2")),
    set_row("ETH/BTC", BEGIN, "0.0499", "0.05"),
    set_row("ETH/USD", BEGIN, "2020", "2021"),
)


def begun(settings: Settings = SETTINGS) -> CycleDetection:
    detection = CycleDetection(CYCLES)
    detection.apply_opening(settings_row(settings, BEGIN, ("BTC", "ETH")).decode())
    return detection


def log_row(row: Row, number: int) -> Row:
    currency = next(one.quote_currency for one in MARKETS if one.symbol == row["symbol"])
    return {**row, "sequence": number, "quote_currency": currency}


def found(detection: CycleDetection, rows: Sequence[Row], first: int = 1) -> Iterator[CycleOpportunity]:
    for number, row in enumerate(rows, first):
        for _, message in detection.take(number, log_row(row, number)):
            one = cycle_opportunity_of(row_of(message), 0)
            assert isinstance(one, CycleOpportunity)
            yield one


@pytest.mark.parametrize("seed", range(4))
def test_row_by_row_it_finds_what_the_search_of_the_set_finds(tmp_path: Path, seed: int) -> None:
    tick_set = cycle_set(tmp_path / "set", random_rows(seed, 400))
    expected = [
        (
            one.sighting_id, one.time, one.cycle.cycle_id, one.net_bps, one.quotes,
            tuple(one.levels(number) for number in range(len(one.cycle.legs))),
        )
        for one in cycle_sightings(tick_set, CYCLES, SETTINGS)
    ]  # fmt: skip
    read = [cycle_opportunity_of(row_of(text), 0) for _, text in cycle_messages(tick_set, begun(), "received_time")]
    assert len(expected) > 50
    assert [
        (
            one.opportunity_id, one.event_time, one.cycle_id, one.net_bps,
            tuple(leg.quote.quote_id for leg in one.legs), tuple(leg.quote.levels for leg in one.legs),
        )
        for one in read
        if isinstance(one, CycleOpportunity)
    ] == expected  # fmt: skip


@pytest.mark.parametrize("cut", [1, 57, 200, 399])
def test_a_saved_state_goes_on_as_if_nothing_had_been(cut: int) -> None:
    rows = random_rows(5, 400)
    whole = list(found(begun(), rows))
    first, second = begun(), CycleDetection(CYCLES)
    before = list(found(first, rows[:cut]))
    second.restore(first.saved())
    assert before + list(found(second, rows[cut:], cut + 1)) == whole
    assert len(whole) > 50


@pytest.mark.parametrize("state", [b"", b"{}", b'{"quotes": [[{"exchange": "no", "symbol": "no"}, 1]]}'])
def test_a_state_that_is_none_is_an_error(state: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        CycleDetection(CYCLES).restore(state)


def test_a_leg_shows_the_side_that_its_order_meets_and_how_old_it_is() -> None:
    alive = set_row("BTC/USD", BEGIN + SECOND, "", "", kind="alive")
    again = set_row("ETH/USD", BEGIN + 3 * SECOND, "2021", "2022")
    (_, one) = found(begun(), [*TRIANGLE, alive, again])
    assert one.cycle_id == "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell"
    legs = [(leg.side, leg.quote.symbol, str(leg.quote.price), leg.quote.age) for leg in one.legs]
    assert legs == [
        ("buy", "BTC/USD", "40001", 2 * SECOND),
        ("buy", "ETH/BTC", "0.05", 3 * SECOND),
        ("sell", "ETH/USD", "2021", 0),
    ]
    assert [len(leg.quote.levels) for leg in one.legs] == [2, 1, 1]
    assert (one.offset, one.expires_at - one.event_time) == (5, SETTINGS.opportunity_lifetime_ms * 1_000)


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        ({}, 2),
        ({"enabled_exchanges": ("beta",)}, 1),
        ({"emit_net_bps": 1_000.0}, 1),
        ({"taker_fees": {"alpha": Decimal("0.02"), "beta": Decimal(0)}}, 1),
        ({"taker_fees": {"beta": Decimal(0)}}, 1),
        ({"max_quote_age_ms": 500}, 1),
    ],
)
def test_settings_hold_from_their_row_on_also_for_quotes_before_it(changed: dict[str, object], number: int) -> None:
    detection = begun()
    seen = list(found(detection, TRIANGLE))
    later = SETTINGS.model_copy(update={"version": 2, **changed})
    assert detection.take(4, row_of(settings_row(later, BEGIN + SECOND, ("BTC", "ETH")))) == []
    seen += found(detection, [set_row("ETH/USD", BEGIN + SECOND, "2021", "2022")], 5)
    assert [one.settings_version for one in seen] == [SETTINGS.version, 2][:number]


def test_without_settings_nothing_pays() -> None:
    assert list(found(CycleDetection(CYCLES), TRIANGLE)) == []


def test_markers_pass_and_other_rows_do_not() -> None:
    ((key, message),) = begun().take(7, row_of(marker_row("end", "BTC", "abc", BEGIN)))
    assert (key, cycle_opportunity_of(row_of(message), 0)) == ("BTC", LogMarker("end", "BTC", "abc", 7))
    other = {**log_row(TRIANGLE[0], 1), "exchange": "gamma"}
    assert begun().take(8, other) == []
    assert begun().take(8, {**log_row(TRIANGLE[0], 1), "kind": "repeated"}) == []
