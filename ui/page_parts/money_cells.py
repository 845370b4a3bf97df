"""Money, prices and amounts as cells: by the currency, or by the market's own tick and lot; all digits in the title."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from market.instruments.markets import Market, codes_in
from market.money import decimal_of, text_of
from ui.page_parts.dom_tables import Cell
from wording.number_format import UNKNOWN, amount, money, money_step, number, price, tone


@dataclass(frozen=True, slots=True)
class Steps:
    """Amounts of unknown markets (of an earlier session) are shown with all their digits."""

    ticks: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    """(exchange, symbol) → tick."""
    lots: dict[str, Decimal] = field(default_factory=dict)
    """Base → the finest lot of all its markets, so that one column has one number of digits."""
    pairs: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(exchange, symbol) → base and quote currency."""

    def base_of(self, exchange: str, symbol: str) -> str:
        return self._pair_of(exchange, symbol)[0]

    def quote_of(self, exchange: str, symbol: str) -> str:
        return self._pair_of(exchange, symbol)[1]

    def price(self, exchange: str, symbol: str, value: Decimal | str | None) -> Cell | str:
        if value is None:
            return UNKNOWN
        known, currency = decimal_of(value), self.quote_of(exchange, symbol)
        tick = self.ticks.get((exchange, symbol))
        text = f"{text_of(known)} {currency}" if tick is None else price(known, tick, currency)
        return Cell(text, exact=f"{text_of(known)} {currency}")

    def amount(self, base: str, value: Decimal | str) -> Cell:
        known, lot = decimal_of(value), self.lots.get(base)
        exact = text_of(known)
        return Cell(exact if lot is None else amount(known, lot), exact=f"{exact} {base}")

    def sum(self, currency: str, value: Decimal | str) -> Cell:
        """Return the cell of an amount in any currency that was paid, received, or taken as a fee. It shows the code,
        since a column holds sums of several currencies."""
        known, exact = decimal_of(value), f"{text_of(decimal_of(value))} {currency}"
        lot = self.lots.get(currency)
        return Cell(f"{number(known, money_step(currency) if lot is None else lot)} {currency}", exact=exact)

    def _pair_of(self, exchange: str, symbol: str) -> tuple[str, str]:
        return self.pairs.get((exchange, symbol)) or codes_in(symbol)


def money_cell(value: Decimal, currency: str, *, is_toned: bool = True) -> Cell:
    """Return a profit or loss as a cell."""
    return Cell(money(value, currency), tone(value, currency) if is_toned else "", f"{text_of(value)} {currency}")


def steps_of(markets: Iterable[Market]) -> Steps:
    ticks: dict[tuple[str, str], Decimal] = {}
    lots: dict[str, Decimal] = {}
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    for market in markets:
        pairs[market.exchange, market.symbol] = market.base, market.quote_currency
        ticks[market.exchange, market.symbol] = market.tick_size
        if not market.is_fx:
            lots[market.base] = min(market.lot_step, lots.get(market.base, market.lot_step))
    return Steps(ticks, lots, pairs)
