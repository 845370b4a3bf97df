"""Kraken's private `balances` channel: what the account owns, and each entry that changes it."""

from collections.abc import Mapping
from decimal import Decimal

from market.money import ZERO
from simulators.kraken.kraken_readers import KrakenReaders, Row
from simulators.kraken.kraken_rows import transaction_name
from simulators.matching.funded_account import movements
from simulators.matching.order_records import SimulatedAccountEvent, SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.api_calls import known
from simulators.web.exchange_gateway import iso_text
from simulators.web.json_digits import plain
from simulators.web.subscribers import SubscriberConnection


class KrakenBalances:
    known = known("channel", "token", "snapshot")

    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self.readers = KrakenReaders("balances")
        # When a fill is published, the account may have booked the next one already: balances after each are kept here.
        self._balances = dict(exchange.customer.balances)
        self._newest: tuple[int, list[Row]] = (0, [])
        exchange.listen(self._publish_event)

    def result(self, parameters: Mapping[str, object]) -> Row:
        return {"channel": "balances", "snapshot": parameters.get("snapshot", True) is not False}

    def start(self, connection: SubscriberConnection, parameters: Mapping[str, object]) -> None:
        self.readers.join(connection)
        if self.result(parameters)["snapshot"]:
            self.readers.show(connection, [_whole(name, owned) for name, owned in self._balances.items()])

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        if event.fill is None:
            return
        # A fill that is reported twice is booked once.
        if event.fill.number != self._newest[0]:
            self._newest = (event.fill.number, self._booked(event.fill))
        self.readers.publish(self._newest[1])

    def _booked(self, fill: SimulatedFill) -> list[Row]:
        """Two entries, as a ledger has them: the fee is in the one of its own currency."""
        rows: list[Row] = []
        for place, (currency, amount) in enumerate(movements(fill, self._exchange.listings[fill.symbol])):
            fee = fill.fee if currency == fill.fee_currency else ZERO
            self._balances[currency] = self._balances.get(currency, ZERO) + amount - fee
            rows.append(
                {
                    "asset": currency,
                    "asset_class": "currency",
                    "amount": plain(amount),
                    "fee": plain(fee),
                    "balance": plain(self._balances[currency]),
                    "ledger_id": transaction_name("L", 2 * fill.number + place, fill.filled_at),
                    "ref_id": fill.fill_id,
                    "timestamp": iso_text(fill.filled_at),
                    "type": "trade",
                    "subtype": "",
                    "category": "trade",
                    "wallet_type": "spot",
                    "wallet_id": "main",
                }
            )
        return rows


def _whole(currency: str, owned: Decimal) -> Row:
    wallet = {"type": "spot", "id": "main", "balance": plain(owned)}
    return {"asset": currency, "asset_class": "currency", "balance": plain(owned), "wallets": [wallet]}
