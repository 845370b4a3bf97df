"""Binance's signed endpoints that move money: withdrawals, deposits, and what ccxt asks of currencies.

https://developers.binance.com/docs/wallet/capital, read in November 2026. A history lists times of withdrawals as text.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from market.money import ZERO, text_of
from market.time_units import MICROSECONDS
from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    eight_decimals,
    integer_field,
    limit_field,
    time_field,
    timestamp,
    until_field,
)
from simulators.binance.rejections import MisusedError
from simulators.matching.funding import WithdrawalRejectedError
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.transfer_records import SimulatedWithdrawal
from simulators.web.exchange_gateway import decimal_field

_LISTED = frozenset(("coin", "status", "offset", "limit", "startTime", "endTime"))
_OF_A_WITHDRAWAL = frozenset(
    (
        "coin",
        "amount",
        "address",
        "addressTag",
        "network",
        "withdrawOrderId",
        "name",
        "walletType",
        "transactionFeeFlag",
    )
)
_FIAT = frozenset(("transactionType", "beginTime", "endTime", "page", "rows"))
_NAMES = {"BTC": "Bitcoin", "USDT": "TetherUS"}
_STATUSES = {"pending": 4, "done": 6, "failed": 5}
"""Processing, completed, failed."""
_CREDITED = 1
_REJECTIONS: Mapping[str, tuple[int, str] | tuple[int, str, int]] = {
    "no_right": (-2015, "Invalid API-key, IP, or permissions for action.", 401),
    "closed": (-4019, "Current asset is not open for withdrawal."),
    "unknown_address": (-4033, "Illegal address."),
    "too_little": (-4022, "Not less than the minimum pick-up quantity."),
    "too_much": (-4026, "You have insufficient balance."),
    # its number is in no document that was found
    "id_used": (-4000, "Withdraw order id is used."),
}
_FOREVER = 1 << 62
_LONGEST_LIST = 1_000
_Balances = Callable[[], Mapping[str, tuple[str, str]]]


class BinanceFunding:
    """`balance_rows`: currency → free and locked."""

    def __init__(self, exchange: SimulatedExchange, balance_rows: _Balances) -> None:
        self._exchange = exchange
        self._balance_rows = balance_rows

    def endpoints(self) -> list[Endpoint]:
        capital = "/sapi/v1/capital"
        return [
            Endpoint("GET", f"{capital}/config/getall", 10, self._currencies),
            Endpoint("GET", "/sapi/v1/asset/assetDetail", 1, self._details, frozenset(("asset",))),
            Endpoint("POST", f"{capital}/withdraw/apply", 1, self._withdraw, _OF_A_WITHDRAWAL, of_the_account=600),
            Endpoint(
                "GET",
                f"{capital}/withdraw/history",
                1,
                self._withdrawals,
                _LISTED | {"withdrawOrderId"},
                of_the_account=18_000,
            ),
            Endpoint("GET", f"{capital}/deposit/hisrec", 1, self._deposits, _LISTED | {"includeSource", "txId"}),
            # no fiat account is there beside
            Endpoint("GET", "/sapi/v1/fiat/orders", 1, lambda _: {"code": "000000", "data": [], "total": 0}, _FIAT),
        ]

    def _withdraw(self, fields: Fields) -> object:
        for name in ("coin", "address"):
            if not fields.get(name):
                raise RequestRejectedError("invalid_request", name)
        amount, client_id = decimal_field(fields, "amount", "amount_invalid"), fields.get("withdrawOrderId")
        try:
            made = self._exchange.funding.withdraw(
                fields["coin"], amount, fields["address"], lambda number, at: f"{at:016x}{number:016x}", client_id
            )
        except WithdrawalRejectedError as rejected:
            raise MisusedError(*_REJECTIONS[rejected.why]) from None
        return {"id": made.withdrawal_id}

    def _withdrawals(self, fields: Fields) -> object:
        since, until = time_field(fields, "startTime", 0), until_field(fields, "endTime", _FOREVER)
        wanted = fields.get("withdrawOrderId")
        rows = [
            _withdrawal_row(one)
            for one in reversed(list(self._exchange.funding.withdrawals))
            if since <= one.asked_at <= until
            and fields.get("coin", one.currency) == one.currency
            and wanted in (None, one.client_id)
        ]
        return _page(rows, fields)

    def _deposits(self, fields: Fields) -> object:
        """Return what arrived, newest first, and what the account was funded with."""
        customer = self._exchange.customer
        opened = customer.opened_at
        rows = [
            (
                one.at,
                one.currency,
                _deposit_row(str(one.number), one.currency, text_of(one.amount), one.at, one.network_id),
            )
            for one in reversed(list(self._exchange.funding.deposits))
        ]
        rows += [
            (opened, name, _deposit_row(str(number), name, text_of(amount), opened, f"opening deposit {number}"))
            for number, (name, amount) in enumerate(customer.opening.items(), 1)
        ]
        since, until = time_field(fields, "startTime", 0), until_field(fields, "endTime", _FOREVER)
        found = [row for at, name, row in rows if since <= at <= until and fields.get("coin", name) == name]
        return _page([row for row in found if fields.get("txId", row["txId"]) == row["txId"]], fields)

    def _details(self, fields: Fields) -> object:
        """Return the terms by which a currency is withdrawn."""
        return {name: self._detail(name) for name in self._balance_rows() if fields.get("asset", name) == name}

    def _detail(self, currency: str) -> dict[str, object]:
        terms = self._exchange.funding.terms_of(currency)
        return {
            "minWithdrawAmount": eight_decimals(ZERO if terms is None else terms.minimum),
            "depositStatus": True,
            "withdrawFee": 0 if terms is None else text_of(terms.fee),
            "withdrawStatus": terms is not None,
        }

    def _currencies(self, _: Fields) -> object:
        """Return the currencies, each on one network of its own name, if it can be withdrawn."""
        return [
            {
                "coin": name,
                "name": _NAMES.get(name, name),
                "free": free,
                "locked": locked,
                "freeze": "0",
                "withdrawing": "0",
                "ipoing": "0",
                "ipoable": "0",
                "storage": "0",
                "depositAllEnable": True,
                "withdrawAllEnable": self._exchange.funding.terms_of(name) is not None,
                "trading": True,
                "isLegalMoney": False,
                "networkList": self._networks(name),
            }
            for name, (free, locked) in self._balance_rows().items()
        ]

    def _networks(self, currency: str) -> list[dict[str, object]]:
        terms = self._exchange.funding.terms_of(currency)
        if terms is None:
            return []
        return [
            {
                "network": currency,
                "coin": currency,
                "name": _NAMES.get(currency, currency),
                "isDefault": True,
                "depositEnable": True,
                "withdrawEnable": True,
                "withdrawFee": text_of(terms.fee),
                "withdrawMin": text_of(terms.minimum),
                "withdrawIntegerMultiple": text_of(terms.step),
            }
        ]


def _page(rows: list[dict[str, object]], fields: Fields) -> list[dict[str, object]]:
    """Return those of a status, if one is asked for, from `offset` on."""
    status, offset = integer_field(fields, "status", -1), integer_field(fields, "offset", 0)
    found = [row for row in rows if status in (-1, row["status"])]
    return found[offset : offset + limit_field(fields, _LONGEST_LIST)]


def _withdrawal_row(one: SimulatedWithdrawal) -> dict[str, object]:
    applied = datetime.fromtimestamp(one.asked_at // MICROSECONDS, UTC)
    row: dict[str, object] = {
        "id": one.withdrawal_id,
        "amount": text_of(one.amount - one.fee),
        "transactionFee": text_of(one.fee),
        "coin": one.currency,
        "status": _STATUSES[one.state],
        "address": one.address,
        "txId": one.network_id,
        "applyTime": applied.strftime("%Y-%m-%d %H:%M:%S"),
        "network": one.currency,
        "transferType": 0,
        "walletType": 0,
    }
    # left out if the client gave none
    return row | ({} if one.client_id is None else {"withdrawOrderId": one.client_id})


def _deposit_row(name: str, currency: str, amount: str, at: int, network_id: str) -> dict[str, object]:
    return {
        "id": name,
        "amount": amount,
        "coin": currency,
        "network": currency,
        "status": _CREDITED,
        "address": "",
        "addressTag": "",
        "txId": network_id,
        "insertTime": timestamp(at),
        "completeTime": timestamp(at),
        "transferType": 0,
        "confirmTimes": "1/1",
        "walletType": 0,
    }
