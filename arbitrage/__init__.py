"""Cross-exchange arbitrage from a program or a notebook: recorded data, backtests, stream apps, a running session.

    import arbitrage

    ticks = arbitrage.import_files("spring", "tardis-quotes", ["kraken.csv.gz", "bitstamp.csv.gz"])
    result = arbitrage.backtest(ticks, settings={"min_net_bps": 7.5}, latency_ms=80)
    result.trades.to_pandas()

Times are integer microseconds UTC in, `datetime64[us, UTC]` in tables; money in the settlement currency, rates in
bps. What fails raises ArbitrageError with one sentence, stream apps AppError. Names are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arbitrage.backtests import Backtest, backtest
    from arbitrage.recorded import Ticks, import_files, open_tick_set
    from arbitrage.sessions import connect
    from arbitrage.sweeps import Sweep, sweep
    from arbitrage.tables import Rows
    from arbitrage.verification import verify
    from backtest.verify.session import Verified
    from cep.apps.errors import AppError
    from cep.apps.stream_app import OutputRow, StreamApp
    from market.instruments.markets import Market
    from market.prices.quotes import Quote
    from remote.connection import Connection
    from runtime.errors import ArbitrageError, RefusedError, UnavailableError

__all__ = [
    "AppError",
    "ArbitrageError",
    "Backtest",
    "Connection",
    "Market",
    "OutputRow",
    "Quote",
    "RefusedError",
    "Rows",
    "StreamApp",
    "Sweep",
    "Ticks",
    "UnavailableError",
    "Verified",
    "backtest",
    "connect",
    "import_files",
    "open_tick_set",
    "sweep",
    "verify",
]

_MODULES = {
    "AppError": "cep.apps.errors",
    "ArbitrageError": "runtime.errors",
    "Backtest": "arbitrage.backtests",
    "Connection": "remote.connection",
    "Market": "market.instruments.markets",
    "OutputRow": "cep.apps.stream_app",
    "Quote": "market.prices.quotes",
    "RefusedError": "runtime.errors",
    "Rows": "arbitrage.tables",
    "StreamApp": "cep.apps.stream_app",
    "Sweep": "arbitrage.sweeps",
    "Ticks": "arbitrage.recorded",
    "UnavailableError": "runtime.errors",
    "Verified": "backtest.verify.session",
    "backtest": "arbitrage.backtests",
    "connect": "arbitrage.sessions",
    "import_files": "arbitrage.recorded",
    "open_tick_set": "arbitrage.recorded",
    "sweep": "arbitrage.sweeps",
    "verify": "arbitrage.verification",
}


def __getattr__(name: str) -> object:
    # Arrow and the compiled detection take a second, which a program that asks a session alone need not wait for
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
