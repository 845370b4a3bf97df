"""A strategy for freqtrade: it buys, has a stop order at the exchange, sells, says what it did, and ends the bot."""

import json
import signal
from datetime import datetime
from typing import Any

from freqtrade.persistence import Trade
from freqtrade.strategy import IStrategy
from pandas import DataFrame


class BuyThenSell(IStrategy):  # type: ignore[misc]  # freqtrade is in an environment of its own
    INTERFACE_VERSION = 3
    timeframe = "1m"
    startup_candle_count = 0
    minimal_roi = {"0": 100}  # noqa: RUF012 – as freqtrade's own strategies
    stoploss = -0.1
    order_types = {  # noqa: RUF012
        "entry": "market",
        "exit": "market",
        "stoploss": "limit",
        "stoploss_on_exchange": True,
    }

    def populate_indicators(self, dataframe: DataFrame, metadata: dict[str, Any]) -> DataFrame:
        return dataframe

    def populate_entry_trend(self, dataframe: DataFrame, metadata: dict[str, Any]) -> DataFrame:
        return dataframe.assign(enter_long=1)

    def populate_exit_trend(self, dataframe: DataFrame, metadata: dict[str, Any]) -> DataFrame:
        return dataframe.assign(exit_long=0)

    def custom_exit(self, pair: str, trade: Trade, *_: object, **_more: object) -> str:
        return "sold at once"

    def confirm_trade_entry(self, *_: object, **_more: object) -> bool:
        return not _closed()

    def bot_loop_start(self, current_time: datetime, **_: object) -> None:
        for trade in _closed():
            orders = [
                {"id": one.order_id, "side": one.ft_order_side, "filled": one.safe_filled, "price": one.safe_price}
                for one in trade.orders
            ]
            print(json.dumps({"orders": orders, "profit": trade.close_profit_abs}), flush=True)
            signal.raise_signal(signal.SIGINT)


def _closed() -> list[Trade]:
    return list(Trade.get_trades_proxy(is_open=False))
