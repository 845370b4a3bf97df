"""A book that is crossed for one message and corrected by the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from market.instruments.orders import Side
from simulators.faults.fault_kinds import ExchangeFaults
from simulators.matching.engine import MatchingBook
from simulators.matching.order_records import PublicTrade
from simulators.web.exchange_gateway import Change, Gateway, MarketStep


@dataclass(frozen=True, slots=True)
class CrossedBook:
    """A view of a book with one more bid that crosses it."""

    book: MatchingBook
    ticks: int
    lots: int

    def best(self, side: Side) -> int | None:
        return self.ticks if side == "buy" else self.book.best(side)

    def levels(self, side: Side, count: int) -> list[tuple[int, int]]:
        levels = self.book.levels(side, count)
        return [(self.ticks, self.lots), *levels][:count] if side == "buy" else levels

    def lots_at(self, side: Side, ticks: int) -> int:
        return self.lots if (side, ticks) == ("buy", self.ticks) else self.book.lots_at(side, ticks)


@dataclass(slots=True)
class Publisher:
    """Passes one exchange's steps to the gateways of its accounts, crossed while that fault is active."""

    gateways: Sequence[Gateway]
    faults: ExchangeFaults
    _crossed: dict[str, int] = field(default_factory=dict)
    """Symbol → ticks of the published bid that does not exist."""

    def publish(self, symbol: str, changes: list[Change], trades: list[PublicTrade]) -> None:
        """Publish a step; without changes do nothing."""
        exchange = self.gateways[0].exchange
        book = exchange.books[symbol]
        wrong = self._crossed.pop(symbol, None)
        if wrong is not None:
            changes = [*changes, ("buy", wrong, book.lots_at("buy", wrong))]
        crossing = None if self.faults.is_quiet else self._crossing(symbol, book)
        if crossing is None:
            if changes or trades:
                self._publish(MarketStep(symbol, changes, trades))
            return
        self._crossed[symbol] = crossing.ticks
        # gateways only read books, so none of them matches in this one
        exchange.books[symbol] = cast(MatchingBook, crossing)
        try:
            changes = [*changes, ("buy", crossing.ticks, crossing.lots)]
            self._publish(MarketStep(symbol, changes, trades))
        finally:
            exchange.books[symbol] = book

    def _publish(self, step: MarketStep) -> None:
        for gateway in self.gateways:
            gateway.publish(step)

    def _crossing(self, symbol: str, book: MatchingBook) -> CrossedBook | None:
        bid, ask = book.best("buy"), book.best("sell")
        if bid is None or ask is None or self.faults.inject("crossed_book", symbol) is None:
            return None
        return CrossedBook(book, ask + (ask - bid), book.lots_at("sell", ask))
