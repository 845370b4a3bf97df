from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import Transition
from session.session import ReplayTime
from streams.message_format import WireError, quote_row, settings_row
from tests.cep.detection.oracle import expected_spreads
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.ui.samples import (
    FX_MARKET,
    MARKETS,
    SETTINGS,
    START,
    SteppedClock,
    arbitrage,
    mark,
    opportunity,
    quote,
    session_of,
    tick,
)
from ui.live.episodes import KEPT_EPISODES
from ui.live.state import KEPT_ARBITRAGES, KEPT_OPPORTUNITIES, LiveState
from ui.rows.episode import live_episode_row

SECOND = 1_000_000
ETH_MARKETS = (
    replace(USD_MARKET, symbol="ETH/USD", base="ETH"),
    replace(EUR_MARKET, symbol="ETH/EUR", base="ETH"),
)


def live_state_of() -> tuple[LiveState, SteppedClock]:
    clock = SteppedClock()
    live_state = LiveState(session_of(Path("unused")), clock)
    live_state.settings = SETTINGS
    return live_state, clock


def test_the_latest_quote_of_each_market_is_kept_by_sequence() -> None:
    live_state, _ = live_state_of()
    for made in (quote(USD_MARKET, "100", "101", sequence=2), quote(USD_MARKET, "90", "91", sequence=1)):
        live_state.apply_tick(tick(made))
    (top,) = live_state.snapshot().tops
    assert (top.exchange, str(top.bid), str(top.mid)) == ("alpha", "100", "100.5")


#        quote        alive            now
# ---------|------------|----------------|---->   max_quote_age 2 s
#          0           1 s         1 + age
@pytest.mark.parametrize(("age", "status"), [(2_000_000, "fresh"), (2_000_001, "stale")])
def test_a_mark_renews_the_age_of_a_quote(age: int, status: str) -> None:
    live_state, clock = live_state_of()
    live_state.apply_tick(tick(quote(USD_MARKET, "100", "101")))
    live_state.apply_tick(tick(mark("alive", USD_MARKET, START + SECOND)))
    clock.time = START + SECOND + age
    snapshot = live_state.snapshot()
    assert snapshot.tops[0].status(snapshot.now, snapshot.max_quote_age) == status


def test_a_withdrawn_quote_is_gone_until_a_new_one_comes() -> None:
    live_state, _ = live_state_of()
    live_state.apply_tick(tick(quote(USD_MARKET, "100", "101")))
    live_state.apply_tick(tick(mark("withdrawn", USD_MARKET, START)))
    live_state.apply_tick(tick(mark("alive", USD_MARKET, START)))
    assert live_state.snapshot().tops[0].is_withdrawn
    live_state.apply_tick(tick(quote(USD_MARKET, "100", "101", START + 1)))
    assert not live_state.snapshot().tops[0].is_withdrawn


def test_marks_before_any_quote_and_kinds_unknown_say_nothing() -> None:
    live_state, _ = live_state_of()
    live_state.apply_tick(tick(mark("alive", USD_MARKET, START)))
    live_state.apply_tick({"kind": "probe", "base": "BTC"})
    assert live_state.snapshot().tops == ()


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"kind": "quote"},
        {**tick(quote(USD_MARKET, "1", "2")), "bid": "much"},
        {**tick(quote(USD_MARKET, "1", "2")), "bid": "NaN"},
        {**tick(quote(USD_MARKET, "1", "2")), "ask": "-3"},
        {**tick(quote(USD_MARKET, "1", "2")), "sequence": None},
    ],
)
def test_a_row_that_is_none_is_rejected(row: dict[str, object]) -> None:
    live_state, _ = live_state_of()
    live_state.apply_tick(tick(quote(USD_MARKET, "1", "2", sequence=1)))
    with pytest.raises(WireError):
        live_state.apply_tick(row)
    assert len(live_state.snapshot().tops) == 1


@pytest.mark.parametrize(
    ("field", "reported"), [("ask_amount", "much"), ("ask_amount", "NaN"), ("bid", "0"), ("bid", "-1")]
)
def test_a_quote_that_cannot_be_shown_is_left_out(field: str, reported: str) -> None:
    live_state, _ = live_state_of()
    live_state.apply_tick({**tick(quote(USD_MARKET, "1", "2")), field: reported})
    assert live_state.snapshot().tops == ()


prices = st.decimals(min_value=1, max_value=99_999, places=2)


@settings(max_examples=50)
@given(st.tuples(prices, prices), st.tuples(prices, prices), st.decimals(min_value="0.5", max_value=2, places=5))
def test_the_spread_table_says_what_detection_says(
    usd: tuple[Decimal, Decimal], eur: tuple[Decimal, Decimal], rate: Decimal
) -> None:
    """Bit by bit, against the plain loop that CEP is checked by."""
    made = (
        quote(FX_MARKET, str(rate), str(rate)),
        quote(USD_MARKET, str(usd[0]), str(usd[1])),
        quote(EUR_MARKET, str(eur[0]), str(eur[1])),
    )
    live_state, _ = live_state_of()
    for one in made:
        live_state.apply_tick(tick(one))
    log = [quote_row(one, ("BTC",) if one.kind == "fx" else ()) for one in made]
    log.append(settings_row(SETTINGS, START, ("BTC",)))
    session = session_of(Path("unused"))
    expected = {
        (spread.buy.exchange, spread.sell.exchange): (spread.gross_bps, spread.fee_bps, spread.net_bps)
        for spread in expected_spreads(log, session)
        if spread.offset == 3
    }
    shown = {
        (cell.buy_exchange, cell.sell_exchange): (cell.gross_bps, cell.fee_bps, cell.net_bps)
        for cell in live_state.snapshot().spreads
    }
    assert len(shown) == 2
    assert shown == expected


@pytest.mark.parametrize("late", [USD_MARKET, EUR_MARKET, FX_MARKET])
def test_a_spread_is_stale_with_any_of_its_quotes(late: object) -> None:
    live_state, clock = live_state_of()
    clock.time = START + 3 * SECOND
    for market in (USD_MARKET, EUR_MARKET, FX_MARKET):
        live_state.apply_tick(tick(quote(market, "1", "2", START if market is late else clock.time)))
    assert [cell.is_fresh for cell in live_state.snapshot().spreads] == [False, False]


def test_without_a_rate_there_is_no_spread() -> None:
    live_state, _ = live_state_of()
    for market in (USD_MARKET, EUR_MARKET):
        live_state.apply_tick(tick(quote(market, "1", "2")))
    assert live_state.snapshot().spreads == ()


def test_before_the_fees_are_known_there_is_no_spread() -> None:
    live_state, _ = live_state_of()
    for market in (USD_MARKET, EUR_MARKET, FX_MARKET):
        live_state.apply_tick(tick(quote(market, "1", "2")))
    assert len(live_state.snapshot().spreads) == 2
    live_state.settings = None
    assert live_state.snapshot().spreads == ()


def two_assets() -> tuple[LiveState, SteppedClock]:
    """BTC on alpha and beta, ETH on both; at a rate of 1."""
    clock = SteppedClock()
    session = replace(session_of(Path("unused")), markets=(*MARKETS, *ETH_MARKETS))
    live_state = LiveState(session, clock)
    live_state.settings = SETTINGS
    for market, bid, ask in zip((*MARKETS, *ETH_MARKETS), (100, 110, 1, 10, 9), (101, 111, 1, 11, 12), strict=True):
        live_state.apply_tick(tick(quote(market, str(bid), str(ask))))
    return live_state, clock


def test_a_snapshot_of_one_asset_has_its_markets_and_fx_alone() -> None:
    live_state, _ = two_assets()
    window = SpreadWindow("BTC", "alpha", "beta", 0, 10 * SECOND, 1.0, 0.5, 2.0, 0.1, 7)
    for base in ("BTC", "ETH"):
        live_state.apply_window(replace(window, base=base))
        live_state.apply_opportunity(replace(opportunity(base), base=base))
    eth, whole = live_state.snapshot("ETH"), live_state.snapshot()
    assert [top.symbol for top in eth.tops] == ["ETH/USD", "ETH/EUR", "EUR/USD"]
    assert set(eth.series) == {("alpha", "ETH/USD"), ("beta", "ETH/EUR")}
    assert [(cell.base, cell.buy_exchange) for cell in eth.spreads] == [("ETH", "alpha"), ("ETH", "beta")]
    assert [one.base for one in eth.windows] == ["ETH"]
    assert ([one.newest.base for one in eth.asset_episodes], len(eth.episodes)) == (["ETH"], 2)
    assert (len(whole.tops), len(whole.series), len(whole.spreads), len(whole.windows)) == (5, 4, 4, 2)
    assert live_state.snapshot("XRP").spreads == ()


def test_a_chart_is_its_markets_assets_whatever_its_symbol_says() -> None:
    renamed = replace(USD_MARKET, symbol="MATIC/USDT:USDT", base="POL")
    live_state = LiveState(replace(session_of(Path("unused")), markets=(*MARKETS, renamed)), SteppedClock())
    assert set(live_state.snapshot("POL").series) == {("alpha", "MATIC/USDT:USDT")}
    assert live_state.snapshot("MATIC").series == {}


def test_every_asset_has_a_line_with_its_best_pair_of_fresh_markets() -> None:
    live_state, clock = two_assets()
    bitcoin, ether = live_state.lines()
    assert [(price.exchange, price.bid, price.ask, price.is_fresh) for price in bitcoin.prices] == [
        ("alpha", 100.0, 101.0, True),
        ("beta", 110.0, 111.0, True),
    ]
    best = max((one for one in live_state.snapshot().spreads if one.base == "BTC"), key=lambda one: one.net_bps)
    assert bitcoin.best == best
    assert (best.buy_exchange, best.sell_exchange) == ("alpha", "beta")
    # a loss is the best that there is
    assert ether.best is not None
    assert ether.best.net_bps < 0
    clock.time = START + 3 * SECOND
    for market in (USD_MARKET, FX_MARKET):
        live_state.apply_tick(tick(quote(market, "1", "1", clock.time)))
    assert [(line.best, [price.is_fresh for price in line.prices]) for line in live_state.lines()] == [
        (None, [True, False]),
        (None, [False, False]),
    ]


def test_an_asset_without_quotes_has_an_empty_line_and_none_has_one_before_the_fees_are_known() -> None:
    live_state, _ = live_state_of()
    (line,) = live_state.lines()
    assert (line.base, line.prices, line.best) == ("BTC", (), None)
    live_state.settings = None
    assert live_state.lines() == ()


def test_opportunities_are_kept_newest_first_each_once_in_fixed_room() -> None:
    live_state, _ = live_state_of()
    for number in range(KEPT_OPPORTUNITIES + 10):
        assert live_state.apply_opportunity(opportunity(f"id-{number}"))
    assert not live_state.apply_opportunity(opportunity("id-0"))
    snapshot = live_state.snapshot()
    assert snapshot.opportunity_count == KEPT_OPPORTUNITIES + 10
    assert len(snapshot.opportunities) == KEPT_OPPORTUNITIES
    assert snapshot.opportunities[0].opportunity_id == f"id-{KEPT_OPPORTUNITIES + 9}"


def test_opportunities_of_one_episode_are_one_with_its_newest_and_its_best() -> None:
    live_state, _ = live_state_of()
    for number, (after, promised) in enumerate(((0, 1.0), (SECOND // 2, 3.0), (SECOND, 2.0), (9 * SECOND, 1.0))):
        at = START + after
        made = replace(opportunity(f"id-{number}", 5.0 + number), event_time=at, expires_at=at + SECOND)
        live_state.apply_opportunity(replace(made, expected_profit=promised))
    later, first = live_state.snapshot().episodes
    assert (first.episode.start, first.episode.samples, first.episode.best_net_bps) == (START, 3, 7.0)
    assert (first.newest.opportunity_id, first.best.opportunity_id) == ("id-2", "id-1")
    assert (later.episode.start, later.episode.samples) == (START + 9 * SECOND, 1)
    row = live_episode_row(first, live_state.settings)
    assert (row["start"], row["end"], row["seen"], row["net_bps"]) == (START, START + SECOND, 3, 7.0)
    for number in range(KEPT_EPISODES):
        at = START + (20 + 2 * number) * SECOND
        live_state.apply_opportunity(replace(opportunity(f"far-{number}"), event_time=at, expires_at=at + SECOND))
    assert len(live_state.snapshot().episodes) == KEPT_EPISODES


@pytest.mark.parametrize(
    ("replayed", "event", "detected", "is_new"),
    [
        (False, START - 1, START + SECOND, False),
        (False, START - 1, START - 1, False),
        (False, START, START + SECOND, True),
        (True, START - 3_600 * SECOND, START + SECOND, True),
        (True, START - 3_600 * SECOND, START - 1, False),
    ],
)
def test_opportunities_of_an_earlier_session_are_none_of_ours(
    replayed: bool, event: int, detected: int, is_new: bool
) -> None:
    replay = ReplayTime(START - 3_600 * SECOND, START, 1.0) if replayed else None
    live_state = LiveState(replace(session_of(Path("unused")), started_at=START, replay=replay), SteppedClock())
    found = replace(opportunity(), event_time=event, detected_time=detected)
    assert live_state.apply_opportunity(found) is is_new
    snapshot = live_state.snapshot()
    assert (snapshot.opportunity_count, len(snapshot.opportunities)) == (is_new, is_new)


def test_the_newest_window_of_each_pair_and_length_is_kept() -> None:
    live_state, _ = live_state_of()
    window = SpreadWindow("BTC", "alpha", "beta", 0, 10 * SECOND, 1.0, 0.5, 2.0, 0.1, 7)
    newer = replace(window, start=SECOND, end=11 * SECOND, mean_bps=3.0)
    longer = replace(window, end=60 * SECOND)
    for one in (newer, window, longer):
        live_state.apply_window(one)
    assert set(live_state.snapshot().windows) == {newer, longer}


def test_arbitrages_never_turn_back_and_repeats_say_nothing() -> None:
    live_state, _ = live_state_of()
    assert live_state.apply_arbitrage(arbitrage(state="reserved"))
    assert not live_state.apply_arbitrage(arbitrage(state="reserved"))
    assert live_state.apply_arbitrage(arbitrage(state="closed"))
    assert not live_state.apply_arbitrage(arbitrage(state="single_leg"))
    assert [one.state for one in live_state.snapshot().arbitrages] == ["closed"]


def test_a_fill_after_the_end_opens_an_arbitrage_again() -> None:
    live_state, _ = live_state_of()
    steps = tuple(Transition(state, START, "unfenced", 0) for state in ("reserved", "unfilled", "single_leg"))
    ended = replace(arbitrage(state="unfilled"), history=steps[:2])
    reopened = replace(arbitrage(state="single_leg"), history=steps)
    assert live_state.apply_arbitrage(ended)
    assert live_state.apply_arbitrage(reopened)
    assert not live_state.apply_arbitrage(ended)
    assert [one.state for one in live_state.snapshot().arbitrages] == ["single_leg"]


def test_arbitrages_are_kept_newest_first_in_fixed_room() -> None:
    live_state, _ = live_state_of()
    for number in range(KEPT_ARBITRAGES + 5):
        live_state.apply_arbitrage(arbitrage(f"id-{number}"))
    kept = [one.arbitrage_id for one in live_state.snapshot().arbitrages]
    assert len(kept) == KEPT_ARBITRAGES
    assert (kept[0], kept[-1]) == (f"id-{KEPT_ARBITRAGES + 4}", "id-5")


def test_points_are_taken_once() -> None:
    live_state, _ = live_state_of()
    live_state.apply_tick(tick(quote(USD_MARKET, "1", "3")))
    assert {key: point.mid for key, point in live_state.take_points().items()} == {("alpha", "BTC/USD"): 2.0}
    assert live_state.take_points() == {}
