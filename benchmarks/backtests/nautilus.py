"""NautilusTrader's BacktestEngine: five venues of fifty instruments, a strategy that looks at each quote tick.

It also matches orders on every tick, though there are none here. Making its objects from columns is not counted.
`python -m benchmarks.backtests.nautilus FILE ROWS`
"""

import sys
import warnings
from decimal import Decimal
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow.parquet as pq
from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.config import LoggingConfig, RiskEngineConfig
from nautilus_trader.model.currencies import USD
from nautilus_trader.model.data import QuoteTick
from nautilus_trader.model.enums import AccountType, CurrencyType, OmsType
from nautilus_trader.model.identifiers import InstrumentId, Symbol, Venue
from nautilus_trader.model.instruments import CurrencyPair
from nautilus_trader.model.objects import Currency, Money, Price, Quantity
from nautilus_trader.persistence.wranglers import QuoteTickDataWrangler
from nautilus_trader.trading.strategy import Strategy

from benchmarks.backtests.definition import (
    ASSETS,
    EXCHANGES,
    FEE_RATES,
    MAX_AGE,
    PRICE_DECIMALS,
    Found,
    answer,
    found,
)

NANOSECONDS = 1_000


class CrossSpreads(Strategy):  # type: ignore[misc]  # typed only if it is installed
    """Remembers the newest quote of every exchange and asset, as plain numbers."""

    def __init__(self, instruments: dict[InstrumentId, tuple[int, int]]) -> None:
        super().__init__()
        self._places = instruments
        """Asset and exchange."""
        self._latest: list[list[tuple[int, float, float] | None]] = [[None] * len(EXCHANGES) for _ in ASSETS]
        self.times: list[int] = []
        self.nets_bps: list[float] = []

    def on_start(self) -> None:
        for instrument in self._places:
            self.subscribe_quote_ticks(instrument)

    def on_quote_tick(self, tick: QuoteTick) -> None:
        asset, mine = self._places[tick.instrument_id]
        now, bid, ask = tick.ts_event // NANOSECONDS, tick.bid_price.as_double(), tick.ask_price.as_double()
        latest, own_fee = self._latest[asset], FEE_RATES[mine]
        latest[mine] = (now, bid, ask)
        for other, quote in enumerate(latest):
            if other == mine or quote is None or now - quote[0] > MAX_AGE:
                continue
            fee = FEE_RATES[other]
            for net_bps in (net(quote[2], bid, fee, own_fee), net(ask, quote[1], own_fee, fee)):
                if net_bps >= 0:
                    self.times.append(now)
                    self.nets_bps.append(net_bps)


def net(buy: float, sell: float, buy_fee: float, sell_fee: float) -> float:
    gross = (sell - buy) * 10000.0 / buy
    return gross - (buy * buy_fee + sell * sell_fee) * 10000.0 / buy


def one_pass(path: Path, rows: int) -> Found:
    began = perf_counter()
    engine = BacktestEngine(
        BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True), risk_engine=RiskEngineConfig(bypass=True))
    )
    for exchange in EXCHANGES:
        engine.add_venue(
            venue=Venue(exchange.upper()),
            oms_type=OmsType.NETTING,
            account_type=AccountType.CASH,
            starting_balances=[Money(1_000_000, USD)],
        )
    places = fill(engine, path, rows)
    strategy = CrossSpreads(places)
    engine.add_strategy(strategy)
    prepared, used = perf_counter(), process_time()
    engine.run()
    seconds = {"prepared": prepared - began, "run": perf_counter() - prepared, "run_cpu": process_time() - used}
    answered = found(rows, np.array(strategy.times, np.int64), np.array(strategy.nets_bps), seconds)
    engine.dispose()
    return answered


def fill(engine: BacktestEngine, path: Path, rows: int) -> dict[InstrumentId, tuple[int, int]]:
    """Add instruments and their ticks; return instrument → asset and exchange of its quotes."""
    # its wrangler uses functions that pandas has deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    frame = next(pq.ParquetFile(path).iter_batches(batch_size=rows)).to_pandas()
    places: dict[InstrumentId, tuple[int, int]] = {}
    for _, quotes in frame.groupby(["asset", "exchange"]):
        asset, exchange = int(quotes["asset"].iloc[0]), int(quotes["exchange"].iloc[0])
        instrument = instrument_of(ASSETS[asset], EXCHANGES[exchange])
        places[instrument.id] = (asset, exchange)
        engine.add_instrument(instrument)
        prices = quotes.rename(columns={"bid": "bid_price", "ask": "ask_price"})[["bid_price", "ask_price"]]
        prices.index = quotes["time"].astype("datetime64[us, UTC]")
        engine.add_data(QuoteTickDataWrangler(instrument).process(prices, default_volume=1.0), sort=False)
    engine.sort_data()
    return places


def instrument_of(asset: str, exchange: str) -> CurrencyPair:
    base = Currency(asset, 8, 0, asset, CurrencyType.CRYPTO)
    return CurrencyPair(
        instrument_id=InstrumentId(Symbol(f"{asset}/USD"), Venue(exchange.upper())),
        raw_symbol=Symbol(f"{asset}USD"),
        base_currency=base,
        quote_currency=USD,
        price_precision=PRICE_DECIMALS,
        size_precision=3,
        price_increment=Price(0.01, PRICE_DECIMALS),
        size_increment=Quantity(0.001, 3),
        ts_event=0,
        ts_init=0,
        taker_fee=Decimal(str(FEE_RATES[EXCHANGES.index(exchange)])),
    )


if __name__ == "__main__":
    path, wanted = Path(sys.argv[1]), int(sys.argv[2])
    answer(lambda: one_pass(path, wanted))
