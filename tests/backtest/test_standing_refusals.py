"""What is refused without being decided is refused as the bots would have: a backtest that decides each opportunity
anew comes to the same."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backtest.detect.sightings import Sighting, SightingSource, sighting_of
from backtest.parameters import Parameters
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.standing_refusals import StandingRefusals
from backtest.simulate.trade_simulation import trade_sightings, trade_windows
from bots.decide.order_decision import settings_rejection
from bots.decide.state_cache import StateCache
from market.prices.episodes import TradeBounds
from market.prices.opportunities import Opportunity
from market.prices.shown_sides import ShownSide
from market.trade.unwinding import markets_by_symbol
from tests.backtest.trading_samples import MILLISECOND, SECOND, START, Book, parameters_of, tape_with, tick, window_of
from tests.market.samples import USD_MARKET, levels, opportunity_of, settings_of

THRESHOLDS = st.sampled_from([0.4, 3.0, 20.0])
OWN_THRESHOLDS = st.fixed_dictionaries(
    {
        "asset_thresholds": st.dictionaries(st.sampled_from(["BTC", "ETH"]), THRESHOLDS),
        "pair_thresholds": st.dictionaries(st.sampled_from(["alpha/beta", "alpha>beta", "beta>alpha"]), THRESHOLDS),
    }
)
BETA = replace(USD_MARKET, exchange="beta")
MARKETS = (USD_MARKET, BETA)


class Unsure(SightingSource):
    """Sightings of which nothing is certain, so that the bots decide on each; counts those that were made whole."""

    def __init__(self, source: SightingSource, *, is_unsure: bool) -> None:
        self._source = source
        self._is_unsure = is_unsure
        self.whole = 0

    def opportunity(self, number: int) -> Opportunity:
        self.whole += 1
        return self._source.opportunity(number)

    def asks(self, number: int) -> ShownSide:
        return self._told(self._source.asks(number))

    def bids(self, number: int) -> ShownSide:
        return self._told(self._source.bids(number))

    def quote_ids(self, number: int) -> tuple[str, str]:
        return self._source.quote_ids(number)

    def has_rates(self, number: int) -> bool:
        return self._source.has_rates(number)

    def _told(self, side: ShownSide) -> ShownSide:
        return side._replace(is_sound=side.is_sound and not self._is_unsure)


class Dollars:
    """Two books in dollars that move at random, one of them cheap most of the time, and what was found in them."""

    def __init__(self, seed: int, quotes: int, *, is_shallow: bool = False) -> None:
        """`is_shallow`: some books have their best level alone."""
        random = Random(seed)
        self.rows: list[dict[str, object]] = []
        self.opportunities: list[Opportunity] = []
        time, middle = START, 600_000
        asks, bids = _book(random, middle, 1), _book(random, middle + 3_000, -1)
        for number in range(quotes):
            time += random.choice((1, 1, 7, 40, 300)) * MILLISECOND
            middle += random.randrange(-300, 301)
            depth = random.choice((1, 2)) if is_shallow else 2
            if number % 2:
                asks = _book(random, middle, 1)[:depth]
                self.rows.append(tick(USD_MARKET, time, (("5000", "1"), ("4990", "1")), asks))
            else:
                bids = _book(random, middle + random.choice((400, 3_000, 3_000)), -1)[:depth]
                self.rows.append(tick(BETA, time, bids, (("7000", "1"), ("7010", "1"))))
            if number > 1:
                self.opportunities.append(self._found(random, f"{seed}-{number}", time, asks, bids))

    def _found(self, random: Random, identity: str, time: int, asks: Book, bids: Book) -> Opportunity:
        known = opportunity_of(
            (USD_MARKET, levels(*asks)), (BETA, levels(*bids)), identity, event_time=time, sequence=time
        )
        gap = (known.sell.price - known.buy.price) * min(known.buy.amount, known.sell.amount)
        return replace(
            known,
            net_bps=random.choice((0.5, 6.0, 30.0, 30.0, 30.0, 400.0)),
            expected_profit=float(gap) * random.choice((0.4, 0.5)),
            buy=replace(known.buy, age=random.choice((0, 0, 0, 2_500_000, -600_000))),
            expires_at=time + random.choice((1, 4, 200)) * MILLISECOND,
        )


def _book(random: Random, cents: int, sign: int) -> Book:
    amounts = ("0.00005", "0.002", "0.02", "0.5")
    second = cents + sign * random.choice((0, 1, 200)) if random.random() < 0.05 else cents + sign * 150
    return tuple((str(Decimal(price) / 100), random.choice(amounts)) for price in (cents, second))


@st.composite
def some_parameters(draw: st.DrawFn) -> Parameters:
    settings = settings_of(
        min_net_bps=draw(st.sampled_from([1.0, 10.0])),
        **draw(OWN_THRESHOLDS),
        cool_down_ms=draw(st.sampled_from([0, 100, 1_000])),
        max_notional=draw(st.sampled_from([Decimal(5), Decimal(60), Decimal(300)])),
        max_open_arbitrages=draw(st.sampled_from([1, 4])),
        max_exposure=draw(st.sampled_from([Decimal(40), Decimal(5_000)])),
        max_total_notional=draw(st.sampled_from([Decimal(100), Decimal(10_000)])),
        single_leg_policy=draw(st.sampled_from(["complete", "reverse", "hold"])),
        breaker_failures=draw(st.sampled_from([0, 2])),
        breaker_pause_ms=500,
        quarantine_floor_bps=draw(st.sampled_from([20.0, 150.0])),
    )
    dollars, coins = draw(st.sampled_from([("400", "0.1"), ("100", "5"), ("100000", "0.03"), ("100000", "90")]))
    return parameters_of(
        settings,
        balances={"alpha": {"USD": Decimal(dollars)}, "beta": {"BTC": Decimal(coins)}},
        failed_share=draw(st.sampled_from([0.0, 0.2])),
        seed=draw(st.integers(0, 3)),
    )


def outcome_of(recording: Dollars, chosen: Parameters, *, is_unsure: bool) -> tuple[TradingOutcome, int]:
    """Return the outcome, and how many opportunities were made whole."""
    sightings = [sighting_of(one) for one in recording.opportunities]
    sources = [Unsure(one.source, is_unsure=is_unsure) for one in sightings]
    told: list[Sighting] = [replace(one, source=source) for one, source in zip(sightings, sources, strict=True)]
    outcome = trade_sightings(told, tape_with(recording.rows, markets=MARKETS), MARKETS, chosen)
    return outcome, sum(source.whole for source in sources)


def outcome_by_windows(recording: Dollars, chosen: Parameters, cut: int) -> TradingOutcome:
    """Return the outcome of the same as columns, so many sightings at once."""
    sightings = [sighting_of(one) for one in recording.opportunities]
    windows = [window_of(sightings[start : start + cut]) for start in range(0, len(sightings), cut)]
    return trade_windows(windows, tape_with(recording.rows, markets=MARKETS), MARKETS, chosen)


HIGHER_OF_ITS_OWN = parameters_of(
    settings_of(min_net_bps=1.0, pair_thresholds={"alpha>beta": 20.0}, cool_down_ms=1_000),
    balances={"alpha": {"USD": Decimal(100_000)}, "beta": {"BTC": Decimal(90)}},
)


@hypothesis_settings(deadline=None, max_examples=25)
@example(seed=2, chosen=HIGHER_OF_ITS_OWN)
@given(seed=st.integers(0, 10_000), chosen=some_parameters())
def test_deciding_each_anew_comes_to_the_same(seed: int, chosen: Parameters) -> None:
    recording = Dollars(seed, 120)
    quick, _ = outcome_of(recording, chosen, is_unsure=False)
    slow, _ = outcome_of(recording, chosen, is_unsure=True)
    assert quick == slow


@hypothesis_settings(deadline=None, max_examples=20)
@example(seed=2, chosen=HIGHER_OF_ITS_OWN, cut=70, is_dry=False, is_shallow=False, below=0.0)
@given(
    seed=st.integers(0, 10_000),
    chosen=some_parameters(),
    cut=st.sampled_from([1, 7, 50, 300]),
    is_dry=st.booleans(),
    is_shallow=st.booleans(),
    below=st.sampled_from([0.0, 8.0]),
)
def test_whole_runs_come_to_the_same(
    seed: int, chosen: Parameters, cut: int, is_dry: bool, is_shallow: bool, below: float
) -> None:
    recording = Dollars(seed, 120, is_shallow=is_shallow)
    chosen = replace(chosen, settings=chosen.settings.model_copy(update={"rebalancing_bps": below}))
    if is_dry:
        chosen = replace(chosen, balances={"alpha": {"USD": Decimal(20)}, "beta": {"BTC": Decimal(90)}})
    slow, _ = outcome_of(recording, chosen, is_unsure=True)
    assert outcome_by_windows(recording, chosen, cut) == slow


@pytest.mark.parametrize(("cool_down_ms", "dollars", "share"), [(3_600_000, "3000000", 0.4), (0, "3000", 1.0)])
def test_what_is_refused_is_passed_over_by_runs(cool_down_ms: int, dollars: str, share: float) -> None:
    recording, whole = Dollars(3, 1_200, is_shallow=True), list[int]()
    # nearly all alike: what ends a run is what happens, and spreads that only the lower threshold may let through
    recording.opportunities = [
        replace(
            one,
            net_bps=-3.0 if number % 300 == 299 else 30.0,
            buy=replace(one.buy, age=0),
            expires_at=one.event_time + SECOND,
        )
        for number, one in enumerate(recording.opportunities)
    ]
    settings = settings_of(cool_down_ms=cool_down_ms, max_exposure=Decimal(1_000_000), rebalancing_bps=8.0)
    chosen = parameters_of(settings, balances={"alpha": {"USD": Decimal(dollars)}, "beta": {"BTC": Decimal(90)}})
    window = window_of([sighting_of(one) for one in recording.opportunities])
    shown = window.sighting

    def counted(place: int) -> Sighting:
        whole.append(place)
        return shown(place)

    window.sighting = counted
    outcome = trade_windows([window], tape_with(recording.rows, markets=MARKETS), MARKETS, chosen)
    assert outcome == outcome_of(recording, chosen, is_unsure=True)[0]
    assert sum(one.count for one in outcome.rejections.values()) > 600
    assert len(set(whole)) < share * outcome.opportunities


@given(chosen=st.lists(some_parameters(), min_size=2, max_size=2), net_bps=st.sampled_from([0.5, 4.0, 7.0, 30.0]))
def test_a_spread_is_too_narrow_for_the_threshold_in_force(chosen: list[Parameters], net_bps: float) -> None:
    opportunity = replace(Dollars(1, 3).opportunities[0], net_bps=net_bps)
    markets, cache = markets_by_symbol(MARKETS), StateCache(chosen[0].settings)
    refusals = StandingRefusals(cache, markets, lambda _: TradeBounds(notional=Decimal(1_000)))
    one = sighting_of(opportunity)
    for parameters in chosen:
        cache.settings = parameters.settings
        assert refusals.reason(one, one.event_time) is None
        refusals.let_through(one.pair)
        assert refusals.reason(one, one.event_time) == settings_rejection(opportunity, markets, cache.settings)


@pytest.mark.parametrize(
    ("changes", "dollars", "reason"),
    [
        ({}, "3000", "insufficient_balance"),
        ({"cool_down_ms": 3_600_000}, "3000000", "cooling_down"),
        ({"min_net_bps": 9_000.0}, "3000000", "below_threshold"),
    ],
)
def test_few_of_those_that_are_refused_are_made_whole(changes: dict[str, object], dollars: str, reason: str) -> None:
    recording = Dollars(3, 1_200)
    balances = {"alpha": {"USD": Decimal(dollars)}, "beta": {"BTC": Decimal(90)}}
    settings = settings_of(**{"cool_down_ms": 0, "max_exposure": Decimal(1_000_000)} | changes)
    outcome, whole = outcome_of(recording, parameters_of(settings, balances=balances), is_unsure=False)
    refused = outcome.rejections[reason].count
    assert refused > 100
    assert whole < outcome.opportunities - refused / 2
