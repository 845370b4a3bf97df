"""Which quote is known when: at any moment, whatever the row groups and whatever is kept of them."""

from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backtest.simulate.quote_history import QuoteHistory, quote_history_of
from market.instruments.markets import Market
from tests.backtest.trading_samples import MARKETS, START, tape_with, tick
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.schema import SOURCE_SCHEMA
from tick_sets.sets.tick_set import open_tick_set

BIDS, ASKS = (("5990", "1"), ("5980", "2")), (("6000", "1"), ("6010", "2"))

Row = dict[str, object]


def known(tape: QuoteHistory, market: Market, time: int) -> tuple[int, int] | None:
    """Return the arrival of the quote that is shown, and when it was verified."""
    shown = tape.at(market.exchange, market.symbol, time)
    return None if shown is None else (shown.quote.received_time, shown.verified)


def quoted(time: int, market: Market = USD_MARKET) -> Row:
    return tick(market, time, BIDS, ASKS)


@pytest.mark.parametrize("cut", [1, 2, 100])
@pytest.mark.parametrize(
    ("rows", "time", "expected"),
    [
        ([quoted(10)], 9, None),
        ([quoted(10)], 10, (10, 10)),
        ([quoted(10), quoted(20)], 19, (10, 10)),
        ([quoted(10), quoted(20)], 20, (20, 20)),
        ([quoted(10), tick(USD_MARKET, 15, kind="alive"), quoted(20)], 17, (10, 15)),
        ([quoted(10), tick(USD_MARKET, 15, kind="withdrawn")], 14, (10, 10)),
        ([quoted(10), tick(USD_MARKET, 15, kind="withdrawn")], 15, None),
        ([quoted(10), tick(USD_MARKET, 15, kind="withdrawn"), tick(USD_MARKET, 16, kind="alive")], 17, None),
        ([quoted(10), tick(USD_MARKET, 15, kind="withdrawn"), quoted(20)], 25, (20, 20)),
        # another exchange's rows say nothing of this one's
        ([quoted(10), quoted(11, EUR_MARKET), tick(EUR_MARKET, 12, kind="withdrawn")], 30, (10, 10)),
        ([quoted(11, EUR_MARKET)], 30, None),
        # a row that stands behind, although it arrived before
        ([quoted(20), quoted(10, EUR_MARKET)], 12, None),
    ],
)
def test_what_is_known_at_a_moment(rows: list[Row], cut: int, time: int, expected: tuple[int, int] | None) -> None:
    assert known(tape_with(rows, cut), USD_MARKET, time) == expected


def test_a_row_of_a_later_row_group_may_have_arrived_before() -> None:
    tape = tape_with([quoted(5), quoted(20), quoted(10, EUR_MARKET), quoted(30)], cut=2)
    assert known(tape, USD_MARKET, 12) == (5, 5)
    assert known(tape, EUR_MARKET, 12) == (10, 10)


def test_a_renewal_that_no_later_opening_mentions_is_looked_for_where_it_stands() -> None:
    """The last row arrived before the second renewal: what its row group begins with knows only that one."""
    renewals = [tick(EUR_MARKET, time, kind="alive") for time in (12, 14)]
    tape = tape_with([quoted(10, EUR_MARKET), *renewals, quoted(13)], cut=1)
    assert known(tape, EUR_MARKET, 13) == (10, 12)


def test_a_market_that_is_not_there_shows_nothing() -> None:
    assert tape_with([quoted(10)]).at(JPY_MARKET.exchange, JPY_MARKET.symbol, 20) is None


def test_a_quote_without_levels_is_its_best_level_alone() -> None:
    shown = tape_with([tick(USD_MARKET, 10, (("5990", "0.5"),), (("6000", "0.25"),))]).at("alpha", "BTC/USD", 10)
    assert shown is not None
    assert [(str(level.price), str(level.amount)) for level in shown.quote.asks] == [("6000", "0.25")]
    assert [(str(level.price), str(level.amount)) for level in shown.quote.bids] == [("5990", "0.5")]


def test_a_cut_tape_knows_nothing_of_what_follows() -> None:
    tape = tape_with([quoted(10), quoted(20)]).until(20)
    assert known(tape, USD_MARKET, 30) == (10, 10)


_KINDS = st.sampled_from(("quote", "quote", "alive", "withdrawn"))


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    """Draw logs of two exchanges; each one's times never fall, the two may be out of step."""
    clocks = {market.exchange: START for market in MARKETS}
    rows = []
    for sequence in range(draw(st.integers(1, 25))):
        market = draw(st.sampled_from(MARKETS))
        clocks[market.exchange] += draw(st.integers(0, 3))
        kind = draw(_KINDS)
        bids, asks = (BIDS, ASKS) if kind == "quote" else ((), ())
        rows.append(tick(market, clocks[market.exchange], bids, asks, kind, sequence + 1))
    return rows


def _plainly(rows: list[Row], market: Market, time: int) -> tuple[int, int] | None:
    """Return the quote by a plain loop over the rows."""
    quote, verified = None, 0
    for row in rows:
        arrived = row["received_time"]
        assert isinstance(arrived, int)
        if row["exchange"] != market.exchange or arrived > time:
            continue
        verified = arrived
        if row["kind"] != "alive":
            quote = arrived if row["kind"] == "quote" else None
    return None if quote is None else (quote, verified)


@hypothesis_settings(deadline=None, max_examples=40)
@given(rows=logs(), cut=st.integers(1, 10), kept=st.sampled_from((1, 2, None)))
def test_any_cutting_shows_what_a_plain_loop_knows(rows: list[Row], cut: int, kept: int | None) -> None:
    tape = tape_with(rows, cut, kept)
    for time in range(START - 1, START + 25, 2):
        for market in MARKETS:
            assert known(tape, market, time) == _plainly(rows, market, time)
    for place in (-1, len(rows) // 2):
        later = [row.place for row in tape.between("alpha", "BTC/USD", place, START + 1_000)]
        assert later == [
            at for at, row in enumerate(rows) if at > place and row["exchange"] == "alpha" and row["kind"] == "quote"
        ]


def test_a_tick_set_over_two_days(tmp_path: Path) -> None:
    day = 86_400_000_000
    rows = [quoted(time) for time in range(day - 50_000_000, day + 50_000_000, 10_000_000)]
    numbers = count(1)
    source = [row | {"base": "BTC", "rank": 0, "offset": None, "sequence": next(numbers)} for row in rows]
    with TickSetBuilder(tmp_path / "set", ("BTC",), part_rows=1) as builder:
        builder.add(pa.Table.from_pylist(source, SOURCE_SCHEMA))
        manifest = builder.finish(Manifest("set", "set", "generated", "USD", MARKETS, (), (), len(rows)))
    assert len(manifest.partitions) == 2
    tape = quote_history_of(open_tick_set(tmp_path / "set"), kept=1)
    for time in (day + 45_000_000, day - 1, day + 5_000_000, day - 45_000_000):
        arrived = time // 10_000_000 * 10_000_000
        assert known(tape, USD_MARKET, time) == (arrived, arrived)
    assert known(tape, USD_MARKET, day - 60_000_000) is None
    assert len(list(tape.between("alpha", "BTC/USD", 2, day + 20_000_000))) == 5
    assert tape.settings_changes == ()
