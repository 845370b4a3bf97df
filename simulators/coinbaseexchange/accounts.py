"""Coinbase Exchange's private REST calls for accounts: one for each currency, its ledger and transfers, and fees."""

from aiohttp import web

from simulators.coinbaseexchange.pages import is_between, page_reply
from simulators.coinbaseexchange.rows import account_id, account_row, ledger_rows, transfer_row
from simulators.matching.account_ledger import LedgerChange, ledger_of
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import json_reply


class CoinbaseExchangeAccounts:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._customer = exchange.customer

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/accounts", self._accounts),
            web.get("/accounts/{id}", self._account),
            web.get("/accounts/{id}/ledger", self._ledger),
            web.get("/accounts/{id}/transfers", self._transfers),
            web.get("/transfers", self._transfers),
            web.get("/fees", self._fees),
        ]

    async def _accounts(self, _request: web.Request) -> web.Response:
        return json_reply([self._row(name) for name in self._customer.balances])

    async def _account(self, request: web.Request) -> web.Response:
        return json_reply(self._row(self._currency(request)))

    async def _fees(self, _request: web.Request) -> web.Response:
        tier = self._exchange.tier
        return json_reply(
            {
                "maker_fee_rate": format(tier.maker, "f"),
                "taker_fee_rate": format(tier.taker, "f"),
                "usd_volume": format(self._exchange.volume_30d, "f"),
            }
        )

    async def _ledger(self, request: web.Request) -> web.Response:
        """Return the ledger; a match and its fee are two rows."""
        currency = self._currency(request)
        own = [row for row in self._booked() if row.currency == currency]
        rows = [
            (2 * row.number + part, details)
            for row in own
            if is_between(row.at, request.query)
            for part, details in enumerate(ledger_rows(row, self._exchange.listings))
        ]
        return page_reply(request, reversed(rows), lambda row: row[0], lambda row: {"id": str(row[0]), **row[1]})

    async def _transfers(self, request: web.Request) -> web.Response:
        """Return the transfers: what the account was funded with; nothing else is ever transferred."""
        currency = self._currency(request) if "id" in request.match_info else None
        deposits = [
            row
            for row in reversed(self._booked())
            if row.fill is None
            and currency in (None, row.currency)
            and request.query.get("type", "deposit") == "deposit"
        ]
        return page_reply(request, deposits, lambda row: row.number, transfer_row)

    def _booked(self) -> list[LedgerChange]:
        return ledger_of(self._customer, self._exchange.listings)

    def _row(self, currency: str) -> dict[str, object]:
        return account_row(currency, self._customer.balances[currency], self._customer.held()[currency])

    def _currency(self, request: web.Request) -> str:
        """Return the currency whose account has the id in the path. Raises RequestRejectedError."""
        wanted = request.match_info["id"]
        for currency in self._customer.balances:
            if account_id(currency) == wanted:
                return currency
        raise RequestRejectedError("unknown_order", wanted)
