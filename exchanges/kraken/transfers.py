"""Withdrawals and deposits at Kraken: it keeps no id of ours, and sends to addresses by the name that they were set up
under. https://docs.kraken.com/api-reference/funding"""

from collections.abc import Mapping
from typing import Any

from exchanges.common_codes import common_code
from exchanges.kraken.orders import KrakenOrderApi
from exchanges.kraken.symbols import kraken_asset
from exchanges.ports.orders import FILLS_MARGIN, number_in, optional_text_in, row_of, rows_of, text_in
from exchanges.ports.withdrawals import MakeTransferApi, WithdrawalOrder
from market.accounting.transfer_lifecycle import Deposit, DepositState, Withdrawal, WithdrawalState
from market.money import text_of
from market.time_units import MICROSECONDS

_MICROS_OF_MS = 1_000
_WITHDRAWN: Mapping[str, WithdrawalState] = {"Success": "done", "Failure": "failed", "Settled": "done"}
_DEPOSITED: Mapping[str, DepositState] = {"Success": "credited", "Failure": "failed"}


class KrakenTransferApi:
    def __init__(self, client: Any, orders: KrakenOrderApi) -> None:
        self._client, self._result = client, orders.result

    async def withdraw(self, order: WithdrawalOrder) -> str:
        request = {
            "asset": kraken_asset(order.currency),
            "key": order.to.key or order.to.address,
            "amount": text_of(order.amount),
        }
        return text_in(row_of(await self._result(self._client.privatePostWithdraw, request)), "refid")

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]:
        found = await self._result(self._client.privatePostWithdrawStatus, self._query(currency, since))
        ahead = self._ahead()
        return [_withdrawal(row, ahead) for row in rows_of(found)]

    async def deposits(self, currency: str, since: int) -> list[Deposit]:
        found = await self._result(self._client.privatePostDepositStatus, self._query(currency, since))
        return [_deposit(row) for row in rows_of(found)]

    def _query(self, currency: str, since: int) -> dict[str, str]:
        start = since + self._ahead() - FILLS_MARGIN
        return {"asset": kraken_asset(currency), "start": str(start // MICROSECONDS)}

    def _ahead(self) -> int:
        """Return the microseconds that its clock is ahead of ours, as measured: its signatures do not go by it, its
        lists do."""
        return (self._client.order_clock_ahead_ms or 0) * _MICROS_OF_MS


def _withdrawal(row: Mapping[str, Any], ahead: int) -> Withdrawal:
    return Withdrawal(
        withdrawal_id=text_in(row, "refid"),
        currency=common_code("kraken", text_in(row, "asset")),
        left=number_in(row, "amount") + number_in(row, "fee"),
        state=_WITHDRAWN.get(text_in(row, "status"), "pending"),
        asked_at=int(number_in(row, "time") * MICROSECONDS) - ahead,
        network_id=optional_text_in(row, "txid") or None,
    )


def _deposit(row: Mapping[str, Any]) -> Deposit:
    # one on hold is credited, but cannot be used
    is_held = row.get("status-prop") == "on-hold"
    return Deposit(
        deposit_id=text_in(row, "refid"),
        currency=common_code("kraken", text_in(row, "asset")),
        amount=number_in(row, "amount") - number_in(row, "fee"),
        state="pending" if is_held else _DEPOSITED.get(text_in(row, "status"), "pending"),
        network_id=optional_text_in(row, "txid") or None,
    )


TRANSFERS: MakeTransferApi = KrakenTransferApi
