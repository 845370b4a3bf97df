"""NautilusTrader, live on Binance: quotes come, an order is placed, seen among the open ones and cancelled. On Kraken
quotes come; with the word `orders` it is started to trade there too."""

import json
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from nautilus_trader.adapters.binance.common.enums import BinanceAccountType
from nautilus_trader.adapters.binance.config import BinanceDataClientConfig, BinanceExecClientConfig
from nautilus_trader.adapters.binance.factories import BinanceLiveDataClientFactory, BinanceLiveExecClientFactory
from nautilus_trader.adapters.kraken.config import KrakenDataClientConfig, KrakenExecClientConfig
from nautilus_trader.adapters.kraken.factories import KrakenLiveDataClientFactory, KrakenLiveExecClientFactory
from nautilus_trader.config import InstrumentProviderConfig, LiveExecEngineConfig, LoggingConfig, TradingNodeConfig
from nautilus_trader.live.node import TradingNode
from nautilus_trader.model.enums import OrderSide
from nautilus_trader.model.identifiers import InstrumentId, TraderId
from nautilus_trader.trading.strategy import Strategy

EXCHANGE = sys.argv[2]
TRADES = EXCHANGE == "binance" or "orders" in sys.argv
account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())[EXCHANGE]
api = account["urls"]["api"]
MARKET = InstrumentId.from_str("BTCUSDT.BINANCE" if EXCHANGE == "binance" else "BTC/USD.KRAKEN")
SECONDS = 60
said: dict[str, Any] = {"quotes": 0, "before": [], "after": None, "states": []}


class Placing(Strategy):  # type: ignore[misc]
    def on_start(self) -> None:
        self.subscribe_quote_ticks(MARKET)
        self.clock.set_time_alert("too late", self.clock.utc_now() + timedelta(seconds=SECONDS), self.end)

    def on_quote_tick(self, tick: Any) -> None:
        said["quotes"] += 1
        if said["quotes"] != 3:
            return
        if not TRADES:
            self.end(tick)
            return
        instrument = self.cache.instrument(MARKET)
        price = instrument.make_price(tick.bid_price.as_decimal() / 2)
        quantity = instrument.make_qty(Decimal("0.01"))
        self.submit_order(self.order_factory.limit(MARKET, OrderSide.BUY, quantity, price))

    def on_order_accepted(self, event: Any) -> None:
        said["placed"] = str(event.venue_order_id)
        said["before"] = [str(order.venue_order_id) for order in self.cache.orders_open()]
        self.cancel_order(self.cache.order(event.client_order_id))

    def on_order_event(self, event: Any) -> None:
        said["states"].append(type(event).__name__)

    def on_order_canceled(self, event: Any) -> None:
        said["after"] = [str(order.venue_order_id) for order in self.cache.orders_open()]
        self.end(event)

    def end(self, _: Any) -> None:
        self.shutdown_system("done")


def configs() -> tuple[Any, Any, Any, Any]:
    """Return the configurations of data and execution, with their factories."""
    provider = InstrumentProviderConfig(load_ids=frozenset([MARKET]))
    if EXCHANGE == "kraken":
        keys = {"api_key": account["apiKey"], "api_secret": account["secret"]}
        places = {"base_url_http_spot": api["public"], "base_url_ws_spot": api["ws"]["publicV2"]}
        shared = {**keys, **places, "instrument_provider": provider}
        data, execution = KrakenDataClientConfig(**shared), KrakenExecClientConfig(**shared)
        return data, execution, KrakenLiveDataClientFactory, KrakenLiveExecClientFactory
    keys = account["signing_keys"]["ed25519"]
    shared = {
        "api_key": keys["apiKey"],
        "api_secret": keys["secret"],
        "account_type": BinanceAccountType.SPOT,
        "base_url_http": api["public"].removesuffix("/api/v3"),
        "instrument_provider": provider,
    }
    stream, calls = api["ws"]["spot"].removesuffix("/ws"), api["ws"]["ws-api"]["spot"]
    data = BinanceDataClientConfig(**shared, base_url_ws=stream)
    execution = BinanceExecClientConfig(**shared, base_url_ws=calls, base_url_ws_stream=stream)
    return data, execution, BinanceLiveDataClientFactory, BinanceLiveExecClientFactory


def main() -> None:
    data, execution, data_factory, execution_factory = configs()
    name = EXCHANGE.upper()
    node = TradingNode(
        TradingNodeConfig(
            trader_id=TraderId("TESTER-001"),
            logging=LoggingConfig(log_level="INFO", use_pyo3=False),
            exec_engine=LiveExecEngineConfig(reconciliation=True),
            data_clients={name: data},
            exec_clients={name: execution} if TRADES else {},
            timeout_connection=10.0,
            timeout_disconnection=5.0,
            timeout_post_stop=2.0,
        )
    )
    node.trader.add_strategy(Placing())
    node.add_data_client_factory(name, data_factory)
    if TRADES:
        node.add_exec_client_factory(name, execution_factory)
    node.build()
    try:
        node.run()
    finally:
        node.dispose()
    print(json.dumps(said))


main()
