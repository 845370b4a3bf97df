"""A backtest comes to what the bots themselves come to, on the same quotes and opportunities."""

from pathlib import Path
from random import Random

import pytest

from backtest.outcome import TradingOutcome
from backtest.trading import trade
from market.arbitrages import Arbitrage
from market.markets import Market
from market.opportunities import Opportunity
from market.quotes import Quote
from market.settings import Settings
from tests.backtest.live_desks import LiveDesks
from tests.backtest.trading_samples import (
    MARKETS,
    SECOND,
    START,
    Book,
    offered,
    parameters_of,
    tape_with,
    tick,
)
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, settings_of

QUOTES = 120
SETTINGS = settings_of(cool_down_ms=400, max_quote_age_ms=2_000, max_currency_drift=10_000_000)


class Recording:
    """Two books that move at random, and opportunities where the one is cheap."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.rows: list[dict[str, object]] = []
        self.quotes: list[Quote] = []
        self.opportunities: list[Opportunity] = []
        time, asks, bids = START, _asks(random), _bids(random)
        for number in range(QUOTES):
            time += random.randrange(1, SECOND // 5)
            if number % 2:
                asks = _asks(random)
                self._show(USD_MARKET, time, (("5000", "1"), ("4990", "1")), asks)
            else:
                bids = _bids(random)
                self._show(EUR_MARKET, time, bids, (("7000", "1"), ("7010", "1")))
            if number > 1 and random.random() < 0.6:
                self.opportunities.append(offered(time, f"{seed}-{number}", asks, bids))

    def _show(self, market: Market, time: int, bids: Book, asks: Book) -> None:
        self.rows.append(tick(market, time, bids, asks))
        self.quotes.append(
            Quote(
                kind="quote",
                exchange=market.exchange,
                region=market.region,
                symbol=market.symbol,
                base=market.base,
                quote_currency=market.quote_currency,
                bids=levels(*bids),
                asks=levels(*asks),
                exchange_time=None,
                received_time=time,
                sequence=time,
            )
        )


def _asks(random: Random) -> Book:
    """Of about 6,000 USD; sometimes far from it, so that what was seen is gone once the order arrives."""
    best = 6_000 + random.choice((0, 0, 1, 2, 60))
    return (str(best), _amount(random)), (str(best + 3), _amount(random))


def _bids(random: Random) -> Book:
    best = 5_618 - random.choice((0, 0, 1, 2, 60))
    return (str(best), _amount(random)), (str(best - 3), _amount(random))


def _amount(random: Random) -> str:
    return random.choice(("0.02", "0.05", "0.1", "0.5"))


def _story(arbitrage: Arbitrage) -> tuple[object, ...]:
    """All but who did it, and what it was decided on."""
    legs = tuple(
        (leg.role, leg.exchange, leg.state, leg.amount, leg.limit_price, leg.held, _filled(leg.fills))
        for leg in sorted(arbitrage.legs, key=lambda leg: leg.role)
    )
    return arbitrage.arbitrage_id, arbitrage.state, arbitrage.reason, arbitrage.amount, arbitrage.profit, legs


def _filled(fills: tuple[object, ...]) -> tuple[tuple[object, ...], ...]:
    names = ("side", "price", "amount", "cost", "fee", "fee_currency", "filled_at")
    return tuple(tuple(getattr(fill, name) for name in names) for fill in fills)


def _backtest(recording: Recording, settings: Settings) -> TradingOutcome:
    parameters = parameters_of(settings, decision_ms=0.0)
    return trade(recording.opportunities, tape_with(recording.rows), MARKETS, parameters)


@pytest.mark.parametrize("policy", ["complete", "reverse", "hold"])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_the_bots_come_to_the_same(tmp_path: Path, seed: int, policy: str) -> None:
    settings = settings_of(**SETTINGS.model_dump() | {"single_leg_policy": policy})
    recording = Recording(seed)
    outcome = _backtest(recording, settings)
    refusals = {reason: refused.count for reason, refused in outcome.refusals.items()}
    live = LiveDesks(tmp_path, settings, latency_ms=50.0)
    await live.trade(recording.quotes, recording.opportunities, sum(refusals.values()))
    for mine, theirs in zip(outcome.arbitrages, await live.store.session_arbitrages(), strict=True):
        assert _story(mine) == _story(theirs)
    assert await live.store.refusal_counts() == refusals
    assert outcome.trades > 3
    assert outcome.is_balanced
