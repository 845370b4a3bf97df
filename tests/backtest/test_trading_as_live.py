"""A backtest comes to what the bots themselves come to, on the same quotes and opportunities."""

from pathlib import Path

import pytest

from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.trade_simulation import trade
from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage
from tests.backtest.live_desks import LiveDesks
from tests.backtest.made_recording import Recording
from tests.backtest.trading_samples import (
    MARKETS,
    parameters_of,
    tape_with,
)
from tests.market.samples import settings_of

SETTINGS = settings_of(cool_down_ms=400, max_quote_age_ms=2_000, max_currency_drift=10_000_000)


def _story(arbitrage: Arbitrage) -> tuple[object, ...]:
    """Return all but who did it, and what it was decided on."""
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
    recording = Recording(seed, quotes=100)
    outcome = _backtest(recording, settings)
    rejections = {reason: rejected.count for reason, rejected in outcome.rejections.items()}
    live = LiveDesks(tmp_path, settings, latency_ms=50.0)
    await live.trade(recording.quotes, recording.opportunities, sum(rejections.values()))
    for mine, theirs in zip(outcome.arbitrages, await live.store.session_arbitrages(), strict=True):
        assert _story(mine) == _story(theirs)
    assert await live.store.rejection_counts() == rejections
    assert outcome.trades > 3
    assert outcome.is_balanced
