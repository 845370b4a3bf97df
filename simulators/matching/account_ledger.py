"""The test account's ledger: each change of a balance, from the opening deposits on."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO
from simulators.matching.funded_account import FundedAccount
from simulators.matching.listings import Listing
from simulators.matching.order_records import SimulatedFill


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """One change: an opening deposit, or one currency of a `fill`. `number` counts from 1, `at` in microseconds."""

    number: int
    at: int
    currency: str
    amount: Decimal
    """With its sign, and without the fee."""
    fee: Decimal
    balance: Decimal
    """The balance after it."""
    fill: SimulatedFill | None = None


def ledger_of(account: FundedAccount, listings: Mapping[str, Listing]) -> list[LedgerChange]:
    """Return the changes, oldest first. A row keeps its number."""
    balances, rows = dict.fromkeys(account.balances, ZERO), list[LedgerChange]()

    def book(at: int, currency: str, amount: Decimal, fill: SimulatedFill | None) -> None:
        fee = fill.fee if fill is not None and fill.fee_currency == currency else ZERO
        balances[currency] = balances.get(currency, ZERO) + amount - fee
        rows.append(LedgerChange(len(rows) + 1, at, currency, amount, fee, balances[currency], fill))

    for currency, amount in account.opening.items():
        book(account.opened_at, currency, amount, None)
    for fill in account.orders.oldest_fills():
        market, sign = listings[fill.symbol].market, 1 if fill.side == "buy" else -1
        book(fill.filled_at, market.base, sign * fill.amount, fill)
        book(fill.filled_at, market.quote_currency, -sign * fill.cost, fill)
    return rows
