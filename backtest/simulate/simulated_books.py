"""The books of a backtest: the opening balances, the ledger of fills, and what the accounts say."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from backtest.parameters import Balances
from backtest.simulate.event_queue import run_to_end
from backtest.simulate.simulated_account import SimulatedAccount
from market.instruments.orders import Fill, changes_of
from market.money import ZERO
from market.trade.reservation_state import BalanceRow
from market.trade.unwinding import Markets


def balances_of(accounts: dict[str, SimulatedAccount]) -> Balances:
    """Return the balances by the accounts' own books."""
    return {exchange: run_to_end(account.balances()) for exchange, account in accounts.items()}


def is_balanced(
    before: Balances,
    fills: Iterable[Fill],
    after: Balances,
    rows: Iterable[BalanceRow],
    markets: Markets,
    transferred: Mapping[tuple[str, str], Decimal],
) -> bool:
    """Return whether before + fills − fees + transfers = after, and nothing is held any more, to the last digit."""
    computed = {exchange: dict(balances) for exchange, balances in before.items()}
    for fill in fills:
        market = markets[fill.exchange, fill.symbol]
        for currency, amount in changes_of(fill, market.base, market.quote_currency):
            known = computed[fill.exchange]
            known[currency] = known.get(currency, ZERO) + amount
    for (exchange, currency), amount in transferred.items():
        computed[exchange][currency] = computed[exchange].get(currency, ZERO) + amount
    is_booked = all(row.held == 0 and row.free == after[row.exchange].get(row.currency, ZERO) for row in rows)
    return is_booked and _without_zeros(computed) == _without_zeros(after)


def _without_zeros(balances: Balances) -> Balances:
    return {
        exchange: {currency: amount for currency, amount in amounts.items() if amount != 0}
        for exchange, amounts in balances.items()
    }
