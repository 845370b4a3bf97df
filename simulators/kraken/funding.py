"""Kraken's private calls that move money: withdrawals, what became of them, and deposits.

https://docs.kraken.com/api-reference/funding, read in November 2026. A withdrawal goes to an address that was set up
under a name, its `key`: here the address of an account is its own name.
"""

from collections.abc import Iterable
from decimal import Decimal

from exchanges.kraken.symbols import kraken_asset
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.kraken.public import assets_in, moment_field
from simulators.kraken.rows import deposit_name, ledger_text, transaction_name
from simulators.matching.funding import WithdrawalRejectedError
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal
from simulators.web.exchange_gateway import Call, Fields, decimal_field, known, text_field

_STATES = {"pending": "Pending", "done": "Success", "failed": "Failure"}


class KrakenFunding:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._customer = exchange.customer

    def calls(self) -> dict[str, Call]:
        listed = known("nonce", "asset", "aclass", "method", "start", "end", "cursor", "limit")
        return {
            "DepositStatus": Call(self._deposits, listed),
            "WithdrawStatus": Call(self._withdrawals, listed),
            "WithdrawInfo": Call(self._terms, known("nonce", "asset", "key", "amount")),
            "Withdraw": Call(self._withdraw, known("nonce", "asset", "aclass", "key", "address", "amount", "max_fee")),
        }

    def _withdraw(self, fields: Fields) -> object:
        currency, address = self._currency(fields), text_field(fields, "key")
        made = self._exchange.funding.withdraw(
            currency,
            decimal_field(fields, "amount", "amount_invalid"),
            address,
            lambda number, at: transaction_name("A", number, at),
        )
        return {"refid": made.withdrawal_id}

    def _terms(self, fields: Fields) -> object:
        """Return what of an amount would arrive; the limit is what is there."""
        currency, amount = self._currency(fields), decimal_field(fields, "amount", "amount_invalid")
        terms = self._exchange.funding.terms_of(currency)
        if terms is None:
            raise WithdrawalRejectedError("closed", currency)
        return {
            "method": currency,
            "limit": ledger_text(currency, self._customer.available(currency)),
            "amount": ledger_text(currency, max(ZERO, amount - terms.fee)),
            "fee": ledger_text(currency, terms.fee),
        }

    def _withdrawals(self, fields: Fields) -> object:
        made = [(one.asked_at, one.currency, _withdrawal_row(one)) for one in self._exchange.funding.withdrawals]
        return self._asked(fields, made)[::-1]

    def _deposits(self, fields: Fields) -> object:
        """Return what arrived, newest first, and what the account was funded with."""
        opened = self._customer.opened_at
        opening = [
            (opened, name, _deposit_row("Opening deposit", name, amount, opened, deposit_name(number, opened)))
            for number, (name, amount) in enumerate(self._customer.opening.items())
        ]
        arrived = [(one.at, one.currency, _arrived_row(one)) for one in self._exchange.funding.deposits]
        return [*reversed(self._asked(fields, arrived)), *self._asked(fields, opening)]

    def _asked(self, fields: Fields, rows: Iterable[tuple[int, str, object]]) -> list[object]:
        """Return those of the time and the asset that the fields name."""
        start = moment_field(fields, "start") * MICROSECONDS if fields.get("start") else Decimal(0)
        end = moment_field(fields, "end") * MICROSECONDS if fields.get("end") else Decimal("Infinity")
        assets = assets_in(fields)
        return [row for at, name, row in rows if start < at <= end and (not assets or kraken_asset(name) in assets)]

    def _currency(self, fields: Fields) -> str:
        """Return the currency by our code. Raises RequestRejectedError."""
        text_field(fields, "asset")
        wanted = assets_in(fields)
        found = [name for name in self._customer.balances if [kraken_asset(name)] == wanted]
        if not found:
            raise RequestRejectedError("invalid_request", "asset")
        return found[0]


def _withdrawal_row(one: SimulatedWithdrawal) -> dict[str, object]:
    return {
        "method": one.currency,
        "aclass": "currency",
        "asset": kraken_asset(one.currency),
        "refid": one.withdrawal_id,
        "txid": one.network_id or None,
        "info": one.address,
        "amount": ledger_text(one.currency, one.amount - one.fee),
        "fee": ledger_text(one.currency, one.fee),
        "time": one.asked_at // MICROSECONDS,
        "status": _STATES[one.state],
        "key": one.address,
        "network": one.currency,
    }


def _arrived_row(one: SimulatedDeposit) -> dict[str, object]:
    name = deposit_name(one.number, one.at)
    return _deposit_row(one.currency, one.currency, one.amount, one.at, name, one.network_id)


def _deposit_row(
    method: str, currency: str, amount: Decimal, at: int, name: str, network_id: str = ""
) -> dict[str, object]:
    return {
        "method": method,
        "aclass": "currency",
        "asset": kraken_asset(currency),
        "refid": name,
        "txid": network_id or name,
        "info": "",
        "amount": ledger_text(currency, amount),
        "fee": ledger_text(currency, ZERO),
        "time": at // MICROSECONDS,
        "status": "Success",
    }
