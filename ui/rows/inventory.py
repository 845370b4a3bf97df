"""Inventory and rebalancing plan: the rows of REST and WebSocket. The plan is shown, never executed."""

from collections.abc import Iterable
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.inventory import Amounts, Target, Values, inventory_of, values_of
from market.accounting.rebalancing import RebalancingPlan, rebalancing_plan
from market.accounting.transfer_terms import terms_of
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from session.session import Session
from ui.live.snapshot import LiveSnapshot
from ui.live.top_of_book import TopOfBook
from ui.rows.attribute import row_from

VALUE_STEP = Decimal("0.01")
PLAN_NOTE = "Shown, never sent: nothing here moves money between exchanges."


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
    """`cost` never exceeds `earned`, the session's realised net."""

    note: str
    earned: str
    cost: str
    transfers: list[TransferRow]
    skipped: list[SkippedTransferRow]


class InventoryRow(TypedDict):
    """`target`: whether each exchange should have its share of the opening, or equal shares."""

    currency: str
    target: Target
    holdings: list[HoldingRow]
    holds: list[HoldRow]
    exposures: list[ExposureRow]
    plan: PlanRow


def inventory_row(
    session: Session,
    snapshot: LiveSnapshot,
    balances: tuple[BalanceRow, ...],
    opening: Amounts,
    open_arbitrages: Iterable[Arbitrage],
    earned: Decimal,
    target: Target = "opening",
) -> InventoryRow:
    """Return the row, valued at the newest quotes that still hold."""
    values = current_values(session, snapshot)
    found = inventory_of(balances, opening, open_arbitrages, values, session.bases, target)
    plan = rebalancing_plan(found.holdings, terms_of(session.reach.transfers), values, earned)
    return InventoryRow(
        currency=session.settlement_currency,
        target=target,
        holdings=[row_from(HoldingRow, one, value=_rounded(one.value)) for one in found.holdings],
        holds=[row_from(HoldRow, one) for one in found.holds],
        exposures=[row_from(ExposureRow, one, value=_rounded(one.value)) for one in found.exposures],
        plan=_plan_row(session, plan),
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
        note=PLAN_NOTE,
        transfers=[row_from(TransferRow, one, terms=sources[one.source, one.currency]) for one in plan.transfers],
        skipped=[row_from(SkippedTransferRow, one, amount=one.wanted) for one in plan.skipped],
    )


def _rounded(value: Decimal | None) -> Decimal | None:
    return None if value is None else value.quantize(VALUE_STEP)
