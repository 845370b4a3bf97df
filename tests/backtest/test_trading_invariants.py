"""Invariants of every backtest: books balance, depth is used once, the future changes nothing, a seed repeats it."""

from collections import defaultdict
from decimal import Decimal
from random import Random

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backtest.parameters import Latency, Parameters
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.trade_simulation import trade, trading_order
from market.instruments.orders import Fill
from market.trade.arbitrages import FINAL_STATES
from tests.backtest.made_recording import Recording
from tests.backtest.trading_samples import (
    MARKETS,
    MILLISECOND,
    SECOND,
    START,
    alpha,
    beta,
    offered,
    parameters_of,
    tape_with,
)
from tests.market.samples import settings_of

QUOTES = 40
SEEDS = st.integers(0, 2**32)


def _settings(policy: str = "complete") -> dict[str, object]:
    # the exchanges' balances are the only limit to amounts
    return {
        "cool_down_ms": 100,
        "breaker_failures": 0,
        "max_currency_drift": 10_000_000,
        "max_exposure": 10_000_000,
        "max_daily_loss": 10_000_000,
        "single_leg_policy": policy,
    }


@st.composite
def parameters(draw: st.DrawFn) -> Parameters:
    samples = tuple(draw(st.lists(st.floats(0, 800), max_size=3)))
    return parameters_of(
        settings_of(**_settings(draw(st.sampled_from(("complete", "reverse", "hold"))))),
        latency={"alpha": Latency(draw(st.floats(0, 500))), "beta": Latency(samples_ms=samples)},
        decision_ms=draw(st.floats(0, 50)),
        failed_share=draw(st.sampled_from((0.0, 0.2))),
        seed=draw(SEEDS),
    )


def _outcome(recording: Recording, given_parameters: Parameters) -> TradingOutcome:
    return trade(recording.opportunities, tape_with(recording.rows, cut=17), MARKETS, given_parameters)


@hypothesis_settings(deadline=None, max_examples=12)
@given(seed=SEEDS, chosen=parameters())
def test_books_balance_and_nothing_stays_open(seed: int, chosen: Parameters) -> None:
    recording = Recording(seed, QUOTES)
    outcome = _outcome(recording, chosen)
    assert outcome.is_balanced
    assert all(arbitrage.state in FINAL_STATES for arbitrage in outcome.arbitrages)
    decided = len(outcome.arbitrages) + sum(rejected.count for rejected in outcome.rejections.values())
    assert outcome.opportunities == len(recording.opportunities) <= decided + _expired(outcome)
    assert _more_than_shown(recording, outcome.fills) == []
    ended = [one.profit.net for one in outcome.arbitrages if one.profit is not None]
    assert outcome.profit.net == sum(ended, Decimal(0))
    assert [point.time for point in outcome.equity] == sorted({point.time for point in outcome.equity})


def _expired(outcome: TradingOutcome) -> int:
    reported = [words for words in outcome.assumptions if "had expired" in words]
    return int(reported[0].split()[0]) if reported else 0


def _more_than_shown(recording: Recording, fills: tuple[Fill, ...]) -> list[object]:
    """Return levels of which more was taken than they showed while they stood there unchanged."""
    taken: dict[tuple[object, ...], Decimal] = defaultdict(Decimal)
    shown: dict[tuple[object, ...], Decimal] = {}
    for fill in fills:
        changes = 0
        amount: str | None = None
        for row in recording.rows:
            if row["exchange"] != fill.exchange or int(str(row["received_time"])) > fill.filled_at:
                continue
            book = dict(orjson.loads(str(row["asks" if fill.side == "buy" else "bids"])))
            changes += book.get(str(fill.price)) != amount
            amount = book.get(str(fill.price))
        key = (fill.exchange, fill.side, fill.price, changes)
        shown[key] = Decimal(amount or 0)
        taken[key] += fill.amount
    return [key for key, amount in taken.items() if amount > shown[key]]


@hypothesis_settings(deadline=None, max_examples=8)
@given(seed=SEEDS, chosen=parameters())
def test_the_same_again_whatever_the_order_of_what_is_sorted(seed: int, chosen: Parameters) -> None:
    recording = Recording(seed, QUOTES)
    outcome = _outcome(recording, chosen)
    mixed = list(recording.opportunities)
    Random(seed).shuffle(mixed)
    again = trade(sorted(mixed, key=trading_order), tape_with(recording.rows, kept=1), MARKETS, chosen)
    assert again == outcome


@hypothesis_settings(deadline=None, max_examples=12)
@given(seed=SEEDS, chosen=parameters(), pick=st.integers(0, 50), behind=SEEDS)
def test_nothing_that_lies_ahead_changes_what_was_before(seed: int, chosen: Parameters, pick: int, behind: int) -> None:
    """Everything changes from the moment of a fill on: a simulation that looks ahead would fill otherwise."""
    reported = Recording(seed, QUOTES)
    outcome = _outcome(reported, chosen)
    assume(outcome.fills)
    until = outcome.fills[pick % len(outcome.fills)].filled_at
    changed = Recording(seed, QUOTES, until, behind)
    assert _before(outcome, until) == _before(_outcome(changed, chosen), until)
    known = [one for one in reported.opportunities if one.event_time + chosen.decision_ms * MILLISECOND <= until]
    rejections = [
        trade(known, tape_with(recording.rows), MARKETS, chosen).rejections for recording in (reported, changed)
    ]
    assert rejections[0] == rejections[1]


def _before(outcome: TradingOutcome, until: int) -> list[object]:
    """Return every step, fill and profit up to then."""
    return [
        *(
            (arbitrage.arbitrage_id, step.what, step.at, step.reason)
            for arbitrage in outcome.arbitrages
            for step in arbitrage.history
            if step.at <= until
        ),
        *(fill for fill in outcome.fills if fill.filled_at <= until),
        *(point for point in outcome.equity if point.time <= until),
    ]


def test_a_cut_tape_is_one_that_was_never_recorded_further() -> None:
    recording = Recording(7, 100)
    until = START + 6 * SECOND
    known = [one for one in recording.opportunities if one.event_time < until]
    rows = [row for row in recording.rows if int(str(row["received_time"])) < until]
    cut = trade(known, tape_with(recording.rows).until(until), MARKETS, parameters_of())
    assert cut == trade(known, tape_with(rows), MARKETS, parameters_of())
    assert cut.trades > 1


@pytest.mark.parametrize("policy", ["complete", "reverse"])
def test_where_one_exchange_leads_each_millisecond_costs(policy: str) -> None:
    """Beta rises, alpha follows 300 ms later, half of the way at first: late buyers pay more, the latest too much."""
    rows, opportunities = [], []
    for number in range(20):
        time = START + number * 10 * SECOND
        rows += [
            alpha(time, (("6000", f"1.{number}"), ("6001", "9"))),
            beta(time + 1, (("5618", f"1.{number}"), ("5617", "9"))),
            alpha(time + 200 * MILLISECOND, (("6002", f"1.{number}"), ("6003", "9")), (("6000", "9"), ("5999", "9"))),
            alpha(time + 300 * MILLISECOND, (("6175", f"1.{number}"), ("6176", "9")), (("6170", "9"), ("6169", "9"))),
        ]
        asks, bids = (("6000", f"1.{number}"), ("6001", "9")), (("5618", f"1.{number}"), ("5617", "9"))
        opportunities.append(offered(time + 1, str(number), asks, bids))
    settings = settings_of(**_settings(policy), max_quote_age_ms=86_400_000)
    nets = []
    for added in (0.0, 160.0, 280.0):
        latency = {"alpha": Latency(50.0 + added), "beta": Latency(50.0 + added)}
        nets.append(trade(opportunities, tape_with(rows), MARKETS, parameters_of(settings, latency=latency)).profit)
    assert nets[0].net > nets[1].net > nets[2].net
    assert nets[0].latency_decay == 0 > nets[1].latency_decay
    assert nets[2].net < 0
