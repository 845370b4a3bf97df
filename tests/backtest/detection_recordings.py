"""Recordings beside the checkout as tick sets, with settings under which something is found in them."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from market.decide.settings import Settings
from tests.backtest.recorded import BINANCE_FILES, recordings_or_skip
from tests.backtest.test_known_spreads import imported, lean_set
from tick_sets.sets.tick_set import TickSet


def binance_set(folder: Path) -> TickSet:
    """Return USDT spot against USD-M, the best levels, 94,129 quotes."""
    spot, usdm, _ = recordings_or_skip(BINANCE_FILES)
    return imported(
        folder,
        "hftbacktest",
        (spot, "binance", "BTC/USDT"),
        (usdm, "binanceusdm", "BTC/USDT:USDT"),
        currency="USDT",
    )


RECORDINGS: dict[str, Callable[[Path], TickSet]] = {"binance": binance_set, "lean": lean_set}


def settings_for(tick_set: TickSet) -> Settings:
    """Return fees of 1 bps; a quote counts for two minutes, because bars come once a minute."""
    traded = dict.fromkeys(market.exchange for market in tick_set.manifest.markets if not market.is_fx)
    fees = dict.fromkeys(traded, Decimal("0.0001"))
    return Settings(
        enabled_exchanges=tuple(traded), taker_fees=fees, emit_net_bps=2.5, min_net_bps=5.0, max_quote_age_ms=120_000
    )
