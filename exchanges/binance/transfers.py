"""Withdrawals and deposits at Binance: `withdrawOrderId` is ours. https://developers.binance.com/docs/wallet/capital"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from exchanges.common_codes import common_code
from exchanges.ports.orders import (
    AnswerNotUnderstoodError,
    number_in,
    on_exchange_clock,
    optional_text_in,
    rows_of,
    text_in,
)
from exchanges.ports.withdrawals import MakeTransferApi, WithdrawalOrder
from market.accounting.transfer_lifecycle import Deposit, DepositState, Withdrawal, WithdrawalState
from market.money import text_of
from market.time_units import MICROSECONDS

_MICROS_OF_MS = 1_000
_WITHDRAWN: Mapping[str, WithdrawalState] = {"6": "done", "1": "failed", "3": "failed", "5": "failed"}
"""Completed; cancelled, rejected, failed. The others wait."""
_DEPOSITED: Mapping[str, DepositState] = {"1": "credited", "6": "credited", "7": "failed"}
"""Success, credited but not to be withdrawn yet, wrong deposit."""


class BinanceTransferApi:
    def __init__(self, client: Any, _orders: object) -> None:
        self._client = client

    async def withdraw(self, order: WithdrawalOrder) -> str:
        to = order.to
        request = {
            "coin": order.currency,
            "address": to.address,
            "amount": text_of(order.amount),
            "withdrawOrderId": order.client_id,
            **({"network": to.network} if to.network else {}),
            **({"addressTag": to.tag} if to.tag else {}),
        }
        answer = await self._client.sapiPostCapitalWithdrawApply(request)
        return text_in(answer, "id")

    async def withdrawals(self, currency: str, since: int) -> list[Withdrawal]:
        answer = await self._client.sapiGetCapitalWithdrawHistory(self._query(currency, since))
        return [_withdrawal(row) for row in rows_of(answer)]

    async def deposits(self, currency: str, since: int) -> list[Deposit]:
        answer = await self._client.sapiGetCapitalDepositHisrec(self._query(currency, since))
        return [_deposit(row) for row in rows_of(answer)]

    def _query(self, currency: str, since: int) -> dict[str, str]:
        return {"coin": currency, "startTime": str(on_exchange_clock(self._client, since) // _MICROS_OF_MS)}


def _withdrawal(row: Mapping[str, Any]) -> Withdrawal:
    return Withdrawal(
        withdrawal_id=text_in(row, "id"),
        currency=common_code("binance", text_in(row, "coin")),
        left=number_in(row, "amount") + number_in(row, "transactionFee"),
        state=_WITHDRAWN.get(text_in(row, "status"), "pending"),
        asked_at=_applied_at(text_in(row, "applyTime")),
        client_id=optional_text_in(row, "withdrawOrderId") or "",
        network_id=optional_text_in(row, "txId") or None,
    )


def _applied_at(text: str) -> int:
    try:
        return int(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()) * MICROSECONDS
    except ValueError:
        raise AnswerNotUnderstoodError(f"expected a time, got {text[:40]}") from None


def _deposit(row: Mapping[str, Any]) -> Deposit:
    return Deposit(
        deposit_id=text_in(row, "id"),
        currency=common_code("binance", text_in(row, "coin")),
        amount=number_in(row, "amount"),
        state=_DEPOSITED.get(text_in(row, "status"), "pending"),
        network_id=optional_text_in(row, "txId") or None,
    )


TRANSFERS: MakeTransferApi = BinanceTransferApi
