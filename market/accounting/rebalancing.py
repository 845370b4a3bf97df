"""The rebalancing plan: transfers that restore each exchange's share, for no more than the realised P&L. Shown only,
never sent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from market.accounting.inventory import Amounts, Holding, Target, Values, target_of
from market.accounting.transfer_terms import TransferTerms
from market.decide.thresholds import Imbalance
from market.money import ZERO, floor_to_step, total
from market.trade.reservation_state import BalanceRow

NotSent = Literal[
    "terms_unknown", "not_free", "below_minimum", "fee_exceeds_amount", "no_price", "costs_more_than_earned"
]

TOLERANCE = Decimal("0.1")
"""Nothing moves between two exchanges that both drifted no further than this fraction of their targets."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """`amount` leaves `source`; `amount` − `fee` arrives. `cost` is the fee in the settlement currency."""

    currency: str
    source: str
    destination: str
    amount: Decimal
    fee: Decimal
    cost: Decimal
    seconds: int

    @property
    def ends(self) -> frozenset[tuple[str, str]]:
        """Return the balances that it is about, by exchange and currency."""
        return frozenset({(self.source, self.currency), (self.destination, self.currency)})

    @property
    def arrives(self) -> Decimal:
        return self.amount - self.fee


@dataclass(frozen=True, slots=True)
class SkippedTransfer:
    """A useful transfer that is not in the plan; `wanted` is the surplus of the source."""

    currency: str
    source: str
    destination: str
    wanted: Decimal
    reason: NotSent


@dataclass(frozen=True, slots=True)
class RebalancingPlan:
    """`cost` never exceeds `earned`, the realised net so far, nor anything if that is a loss."""

    transfers: tuple[Transfer, ...]
    skipped: tuple[SkippedTransfer, ...]
    earned: Decimal

    @property
    def cost(self) -> Decimal:
        return total(transfer.cost for transfer in self.transfers)


def imbalance_of(
    rows: Sequence[BalanceRow],
    opening: Amounts,
    buy: str,
    sell: str,
    terms: TransferTerms | None,
    tolerance: Decimal = TOLERANCE,
    target: Target = "opening",
) -> Imbalance | None:
    """Return what a trade that buys on the exchange `buy` and sells on `sell` brings back of an asset; None if either
    has what it should, or both are within the tolerance, as in the plan. `rows`: all of the asset, with what is on its
    way; `terms`: of sending it away from `sell`."""
    by_exchange = {row.exchange: row for row in rows}
    if buy not in by_exchange or sell not in by_exchange:
        return None
    targets = {name: target_of(by_exchange[name], rows, opening, target) for name in (buy, sell)}
    drifts = {name: by_exchange[name].free + by_exchange[name].held - targets[name] for name in (buy, sell)}
    most = min(-drifts[buy], drifts[sell])
    if most <= 0 or all(abs(drifts[name]) <= tolerance * targets[name] for name in (buy, sell)):
        return None
    is_sent = terms is not None and most >= max(terms.minimum, terms.fee)
    return Imbalance(most, terms.fee if terms is not None and is_sent else None)


def rebalancing_plan(
    holdings: Sequence[Holding],
    terms: Mapping[tuple[str, str], TransferTerms],
    values: Values,
    earned: Decimal,
    tolerance: Decimal = TOLERANCE,
) -> RebalancingPlan:
    """Return the most worth moved per cost first. Every transfer keeps to its exchange's minimum and to what is free
    there."""
    proposed: list[tuple[Decimal, Transfer]] = []
    skipped: list[SkippedTransfer] = []
    for currency in dict.fromkeys(holding.currency for holding in holdings):
        for request in _transfer_requests([one for one in holdings if one.currency == currency], tolerance):
            answer = _transfer(request, terms.get((request.source.exchange, currency)), values.get(currency))
            if isinstance(answer, Transfer):
                proposed.append((answer.arrives * values.get(currency, ZERO), answer))
            else:
                skipped.append(request.skipped(answer))
    proposed.sort(key=lambda one: (-_worth_per_cost(*one), one[1].currency, one[1].source, one[1].destination))
    return _within(earned, [transfer for _, transfer in proposed], skipped)


@dataclass(frozen=True, slots=True)
class _TransferRequest:
    """Move up to `amount`, of which `free` could be sent."""

    source: Holding
    destination: Holding
    amount: Decimal
    free: Decimal

    def skipped(self, reason: NotSent) -> SkippedTransfer:
        return SkippedTransfer(
            self.source.currency, self.source.exchange, self.destination.exchange, self.amount, reason
        )


def _transfer_requests(holdings: Iterable[Holding], tolerance: Decimal) -> list[_TransferRequest]:
    """Return the largest surplus to the largest lack, and so on: at most one transfer fewer than there are
    exchanges."""
    by_exchange = {one.exchange: one for one in holdings}
    surplus = {name: one.drift for name, one in by_exchange.items() if one.drift > 0}
    lack = {name: -one.drift for name, one in by_exchange.items() if one.drift < 0}
    free = {name: max(ZERO, one.free) for name, one in by_exchange.items()}
    requests: list[_TransferRequest] = []
    while surplus and lack:
        source, destination = max(surplus, key=surplus.__getitem__), max(lack, key=lack.__getitem__)
        amount = min(surplus[source], lack[destination])
        if any(abs(by_exchange[name].drift) > tolerance * by_exchange[name].target for name in (source, destination)):
            requests.append(_TransferRequest(by_exchange[source], by_exchange[destination], amount, free[source]))
            free[source] = max(ZERO, free[source] - amount)
        for amounts, exchange in ((surplus, source), (lack, destination)):
            amounts[exchange] -= amount
            if amounts[exchange] <= 0:
                del amounts[exchange]
    return requests


def _transfer(request: _TransferRequest, terms: TransferTerms | None, price: Decimal | None) -> Transfer | NotSent:
    if terms is None:
        return "terms_unknown"
    amount = floor_to_step(min(request.amount, request.free), terms.step)
    if amount < terms.minimum:
        return "not_free" if request.free < request.amount else "below_minimum"
    if amount <= terms.fee:
        return "fee_exceeds_amount"
    if price is None and terms.fee > 0:
        return "no_price"
    cost = terms.fee * (price or ZERO)
    source, destination = request.source.exchange, request.destination.exchange
    return Transfer(request.source.currency, source, destination, amount, terms.fee, cost, terms.seconds)


def _worth_per_cost(worth: Decimal, transfer: Transfer) -> Decimal:
    return worth / transfer.cost if transfer.cost > 0 else Decimal("Infinity")


def _within(earned: Decimal, proposed: Iterable[Transfer], failed: Iterable[SkippedTransfer]) -> RebalancingPlan:
    taken: list[Transfer] = []
    skipped = list(failed)
    spent = ZERO
    for transfer in proposed:
        if transfer.cost > 0 and spent + transfer.cost > earned:
            skipped.append(
                SkippedTransfer(
                    transfer.currency,
                    transfer.source,
                    transfer.destination,
                    transfer.amount,
                    "costs_more_than_earned",
                )
            )
        else:
            spent += transfer.cost
            taken.append(transfer)
    return RebalancingPlan(tuple(taken), tuple(skipped), earned)
