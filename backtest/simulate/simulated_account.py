"""The account of one exchange in a backtest: its own books, and fills against what is shown when an order arrives."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from backtest.parameters import Latency
from backtest.simulate.history_piece import LevelText
from backtest.simulate.order_latency import is_rejected, latency_microseconds
from backtest.simulate.quote_history import QuoteHistory
from exchanges.errors import OrderRejectedError
from exchanges.paper.journal import JournalRow
from exchanges.paper.ledger import PaperLedger
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.decide.settings import Settings
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport, Side
from market.money import ZERO
from market.prices.quotes import Level, Quote
from market.time_units import MICROSECONDS
from market.trade.unwinding import Markets
from runtime.clock import Clock
from streams.message_format import levels_text


@dataclass(frozen=True, slots=True)
class Conditions:
    """What all accounts of one backtest have in common."""

    markets: Markets
    history: QuoteHistory
    clock: Clock
    settings: Callable[[], Settings]
    seed: int
    failed_share: float


class SimulatedAccount:
    """Implements `exchanges.ports.account.TradingAccount`; its answers are final, and it can always be reached."""

    def __init__(self, exchange: str, opening: Mapping[str, Decimal], latency: Latency, conditions: Conditions) -> None:
        self._exchange = exchange
        self._latency = latency
        self._conditions = conditions
        self._ledger = PaperLedger(exchange, conditions.markets)
        self._ledger.apply(JournalRow(opening=dict(opening)))
        self._seen: dict[str, int] = {}
        """Symbol → place in its base's log up to which its quotes were compared with the taken amounts."""
        self.matched_on_depth = 0
        self.matched_on_best = 0
        """Orders matched against a quote with more than one level on the side they met, and with one alone."""

    @property
    def exchange(self) -> str:
        return self._exchange

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        """Match the order. Raises OrderRejectedError, NotPostedError."""
        conditions = self._conditions
        permit.check()
        if is_rejected(conditions.failed_share, conditions.seed, order.client_order_id):
            raise OrderRejectedError(f"{self._exchange}: drawn to fail")
        self._accept(order)
        await conditions.clock.sleep(
            latency_microseconds(self._latency, conditions.seed, order.client_order_id) / MICROSECONDS
        )
        return self._match(order)

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        return self._ledger.report_of(order.client_order_id)

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        """Do nothing, because nothing is left of an order: each is matched once."""

    async def balances(self) -> dict[str, Decimal]:
        return self._ledger.balances

    def move(self, currency: str, amount: Decimal) -> None:
        """Add what a transfer brings; take what it takes, if it is negative."""
        held = self._ledger.balances
        self._ledger.apply(JournalRow(opening={**held, currency: held.get(currency, ZERO) + amount}))

    async def open_orders(self) -> list[OpenOrder]:
        """Return none, because none rests: each is matched once."""
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return [one.fill for one in self._ledger.fills if one.booked_at >= since]

    async def close(self) -> None:
        """Do nothing, because nothing is kept open."""

    def _accept(self, order: LimitOrder) -> None:
        market = self._conditions.markets[order.exchange, order.symbol]
        fee_rate = self._conditions.settings().taker_fees[self._exchange]
        now = self._conditions.clock.now()
        self._ledger.apply(JournalRow(accepted=self._ledger.accepted(order, market, fee_rate, now, now)))

    def _match(self, order: LimitOrder) -> OrderReport:
        """Match against what is known now, less what was taken of it; against nothing if that is withdrawn or
        too old."""
        now = self._conditions.clock.now()
        accepted = self._ledger.open_order(order.client_order_id)
        if accepted is None:
            raise RuntimeError(f"{self._exchange} has lost order {order.client_order_id}")
        quote = self._quote(order.symbol, now)
        ended = self._ledger.ended(accepted, quote, now, now)
        self._ledger.apply(JournalRow(ended=ended))
        if quote is not None:
            has_depth = len(quote.asks if order.side == "buy" else quote.bids) > 1
            self.matched_on_depth += has_depth
            self.matched_on_best += not has_depth
        return ended.report

    def _quote(self, symbol: str, now: int) -> Quote | None:
        self._see_quotes(symbol, now)
        shown = self._conditions.history.at(self._exchange, symbol, now)
        if shown is None or now - shown.verified > self._conditions.settings().max_quote_age_ms * 1_000:
            return None
        self._seen[symbol] = shown.place
        return shown.quote

    def _see_quotes(self, symbol: str, now: int) -> None:
        """See the quotes since the last order, for as long as one of them may give back what was taken."""
        depth, history = self._ledger.depth, self._conditions.history
        texts = _texts(depth.taken(symbol))
        if not texts:
            return
        for row in history.between(self._exchange, symbol, self._seen[symbol], now):
            if row.leaves(texts):
                continue
            depth.update(row.quote)
            texts = _texts(depth.taken(symbol))
            if not texts:
                return


def _texts(levels: Mapping[Side, tuple[Level, ...]]) -> dict[Side, list[LevelText]]:
    """Return each level as it stands in the log."""
    return {
        side: [LevelText(levels_text([level])[1:-1], float(level.price)) for level in shown]
        for side, shown in levels.items()
    }
