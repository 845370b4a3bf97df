"""Inventory, rebalancing plan and transfers: the rows of REST and WebSocket."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.inventory import Amounts, Target, Values, inventory_of, values_of
from market.accounting.rebalancing import RebalancingPlan
from market.accounting.transfer_lifecycle import MoneyTransfer, still_ours
from market.accounting.transfer_planning import plan_of
from market.accounting.transfer_terms import terms_of
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from session.session import Session
from ui.live.snapshot import LiveSnapshot
from ui.live.top_of_book import TopOfBook
from ui.rows.attribute import row_from

VALUE_STEP = Decimal("0.01")
PLAN_NOTES = {
    "shown": "Shown, never sent: nothing here moves money between exchanges.",
    "paper": "Carried out between the simulated exchanges whose withdrawals are simulated.",
    "live": "Proposed: nothing is sent before an operator confirms it.",
}
MOST_TRANSFERS = 20
"""Those that a page shows at once, the newest; `/api/transfers` has all."""


class HoldingRow(TypedDict):
    """`drift` = total − target; `value` of the drift in the settlement currency, null without a price."""

    exchange: str
    currency: str
    free: str
    held: str
    total: str
    target: str
    drift: str
    value: str | None


class HoldRow(TypedDict):
    """The hold of one open leg on a balance."""

    exchange: str
    currency: str
    amount: str
    arbitrage_id: str
    role: str


class ExposureRow(TypedDict):
    """One currency over all exchanges, compared with the session's opening; `value` of the change."""

    currency: str
    is_base: bool
    opening: str
    now: str
    change: str
    value: str | None


class TransferRow(TypedDict):
    """`amount` leaves, `arrives` is what is left after the fee; `cost` is the fee in the settlement currency."""

    currency: str
    source: str
    destination: str
    amount: str
    arrives: str
    fee: str
    cost: str
    seconds: int
    terms: str
    """Source of fee, minimum and time."""


class SkippedTransferRow(TypedDict):
    """A transfer that would help, and why it is not in the plan."""

    currency: str
    source: str
    destination: str
    amount: str
    reason: str


class PlanRow(TypedDict):
    """`cost` never exceeds `earned`, the session's realised net less what its transfers cost."""

    note: str
    earned: str
    cost: str
    transfers: list[TransferRow]
    skipped: list[SkippedTransferRow]


class MoneyTransferRow(TypedDict):
    """One decision to send `amount` from one exchange to another. `state`: proposed, asked (of the exchange), sent,
    arrived; or dropped, failed, unknown, with its `reason`. `fee` is expected, `cost` is the same in the settlement
    currency; `lost`: what it did cost in its own currency, as far as is known. `confirmed_by`: who let it go; empty:
    nobody has, and it is not sent before. `times`: state → microseconds of the server's clock."""

    transfer_id: str
    session_id: str
    currency: str
    source: str
    destination: str
    amount: str
    fee: str
    cost: str
    seconds: int
    state: str
    reason: str
    confirmed_by: str
    withdrawal_id: str | None
    network_id: str | None
    left: str | None
    arrived: str | None
    lost: str
    times: dict[str, int]


class InventoryRow(TypedDict):
    """`target`: whether each exchange should have its share of the opening, or equal shares."""

    currency: str
    target: Target
    holdings: list[HoldingRow]
    holds: list[HoldRow]
    exposures: list[ExposureRow]
    plan: PlanRow
    transfers: list[MoneyTransferRow]
    """Wanted ones and the session's, newest first."""


def inventory_row(
    session: Session,
    snapshot: LiveSnapshot,
    balances: tuple[BalanceRow, ...],
    opening: Amounts,
    open_arbitrages: Iterable[Arbitrage],
    earned: Decimal,
    transfers: Sequence[MoneyTransfer] = (),
    target: Target = "opening",
) -> InventoryRow:
    """Return the row, valued at the newest quotes that still hold."""
    values, session_id = current_values(session, snapshot), session.session_id
    on_its_way = still_ours(transfers, session_id)
    found = inventory_of(balances, opening, open_arbitrages, values, session.bases, target, on_its_way)
    rules, terms = replace(session.reach.transfer_rules, target=target), terms_of(session.reach.transfers)
    plan = plan_of(balances, opening, transfers, terms, values, earned, rules, session_id)
    return InventoryRow(
        currency=session.settlement_currency,
        target=target,
        holdings=[row_from(HoldingRow, one, value=_rounded(one.value)) for one in found.holdings],
        holds=[row_from(HoldRow, one) for one in found.holds],
        exposures=[row_from(ExposureRow, one, value=_rounded(one.value)) for one in found.exposures],
        plan=_plan_row(session, plan),
        transfers=[row_from(MoneyTransferRow, one) for one in reversed(transfers[-MOST_TRANSFERS:])],
    )


def current_values(session: Session, snapshot: LiveSnapshot) -> Values:
    """Return the prices; a quote that was withdrawn or is stale gives none."""

    def holds(top: TopOfBook) -> bool:
        return top.status(snapshot.now, snapshot.max_quote_age) == "fresh"

    mids = {(top.exchange, top.symbol): top.mid for top in snapshot.tops if holds(top)}
    return values_of(mids, session.markets, session.settlement_currency)


def _plan_row(session: Session, plan: RebalancingPlan) -> PlanRow:
    sources = {key: terms.source for key, terms in terms_of(session.reach.transfers).items()}
    return row_from(
        PlanRow,
        plan,
        note=_note(session),
        transfers=[row_from(TransferRow, one, terms=sources[one.source, one.currency]) for one in plan.transfers],
        skipped=[row_from(SkippedTransferRow, one, amount=one.wanted) for one in plan.skipped],
    )


def _note(session: Session) -> str:
    if not session.reach.transfer_rules.is_on:
        return PLAN_NOTES["shown"]
    return PLAN_NOTES["paper" if session.mode == "paper" else "live"]


def _rounded(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(VALUE_STEP)
