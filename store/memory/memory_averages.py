"""The moving average strategy in memory, under the contract of the MongoDB one."""

from collections.abc import Callable

from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import Moment
from market.trade.moving_average import AverageOrder, AverageState, AverageTrade, Close, after_close, with_order


class MemoryAverages:
    """`store.store_port.Averages`; every method runs without waiting, so each is one transaction."""

    def __init__(self, moment: Callable[[Actor], Moment]) -> None:
        """`moment`: the server's time, for an actor that is not fenced out."""
        self._moment = moment
        self._states: dict[tuple[str, str], AverageState] = {}
        self._trades: dict[str, AverageTrade] = {}

    async def record_close(self, close: Close, *, with_order: bool, by: Actor = UNFENCED) -> AverageTrade | None:
        key = (close.exchange, close.symbol)
        before = self._states.get(key, AverageState())
        state, trade = after_close(before, close, self._moment(by).now, with_order=with_order)
        self._states[key] = state
        if trade is not None:
            self._trades[trade.trade_id] = trade
        return trade

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor = UNFENCED) -> None:
        self._moment(by)
        trade = self._trades.get(trade_id)
        if trade is not None:
            self._trades[trade_id] = with_order(trade, order)

    async def unsettled(self, exchange: str) -> list[AverageTrade]:
        return [
            trade
            for trade in self._trades.values()
            if trade.exchange == exchange and trade.order is not None and not trade.order.is_settled
        ]

    async def trades(self) -> list[AverageTrade]:
        return list(self._trades.values())
