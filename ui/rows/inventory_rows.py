"""Inventory and rebalancing plan: the rows of REST and WebSocket. The plan is shown, never executed."""

from collections.abc import Iterable
from decimal import Decimal

from typing_extensions import TypedDict

from market.accounting.inventory import Amounts, Exposure, Hold, Holding, Target, Values, inventory_of, values_of
from market.accounting.rebalancing import RebalancingPlan, SkippedTransfer, Transfer, rebalancing_plan
from market.accounting.transfer_terms import terms_of
from market.money import text_of
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from session.session import Session
from ui.live.live_snapshot import LiveSnapshot
from ui.live.top_of_book import TopOfBook

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
    """One currency over all exchanges against the session's opening; `value` of the change."""

    currency: str
    is_base: bool
    opening: str
    now: str
    change: str
    value: str | None


class TransferRow(TypedDict):
    """`amount` leaves, `arrives` is without the fee; `cost` is the fee in the settlement currency."""

    currency: str
    source: str
    destination: str
    amount: str
    arrives: str
    fee: str
    cost: str
    seconds: int
    terms: str
    """Where fee, minimum and time are from."""


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
    """`target`: whether each exchange should have its share of the opening, or all the same."""

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
    """At the newest quotes that still hold."""
    values = current_values(session, snapshot)
    found = inventory_of(balances, opening, open_arbitrages, values, session.bases, target)
    plan = rebalancing_plan(found.holdings, terms_of(session.transfers), values, earned)
    return InventoryRow(
        currency=session.settlement_currency,
        target=target,
        holdings=[_holding_row(holding) for holding in found.holdings],
        holds=[_hold_row(hold) for hold in found.holds],
        exposures=[_exposure_row(exposure) for exposure in found.exposures],
        plan=_plan_row(session, plan),
    )


def current_values(session: Session, snapshot: LiveSnapshot) -> Values:
    """A quote that was withdrawn or is stale gives no price."""

    def holds(top: TopOfBook) -> bool:
        return top.status(snapshot.now, snapshot.max_quote_age) == "fresh"

    mids = {(top.exchange, top.symbol): top.mid for top in snapshot.tops if holds(top)}
    return values_of(mids, session.markets, session.settlement_currency)


def _holding_row(holding: Holding) -> HoldingRow:
    return HoldingRow(
        exchange=holding.exchange,
        currency=holding.currency,
        free=text_of(holding.free),
        held=text_of(holding.held),
        total=text_of(holding.total),
        target=text_of(holding.target),
        drift=text_of(holding.drift),
        value=_value_text(holding.value),
    )


def _hold_row(hold: Hold) -> HoldRow:
    return HoldRow(
        exchange=hold.exchange,
        currency=hold.currency,
        amount=text_of(hold.amount),
        arbitrage_id=hold.arbitrage_id,
        role=hold.role,
    )


def _exposure_row(exposure: Exposure) -> ExposureRow:
    return ExposureRow(
        currency=exposure.currency,
        is_base=exposure.is_base,
        opening=text_of(exposure.opening),
        now=text_of(exposure.now),
        change=text_of(exposure.change),
        value=_value_text(exposure.value),
    )


def _plan_row(session: Session, plan: RebalancingPlan) -> PlanRow:
    sources = {key: terms.source for key, terms in terms_of(session.transfers).items()}
    return PlanRow(
        note=PLAN_NOTE,
        earned=text_of(plan.earned),
        cost=text_of(plan.cost),
        transfers=[_transfer_row(one, sources[one.source, one.currency]) for one in plan.transfers],
        skipped=[_left_out_row(one) for one in plan.skipped],
    )


def _transfer_row(transfer: Transfer, terms: str) -> TransferRow:
    return TransferRow(
        currency=transfer.currency,
        source=transfer.source,
        destination=transfer.destination,
        amount=text_of(transfer.amount),
        arrives=text_of(transfer.arrives),
        fee=text_of(transfer.fee),
        cost=text_of(transfer.cost),
        seconds=transfer.seconds,
        terms=terms,
    )


def _left_out_row(one: SkippedTransfer) -> SkippedTransferRow:
    return SkippedTransferRow(
        currency=one.currency,
        source=one.source,
        destination=one.destination,
        amount=text_of(one.wanted),
        reason=one.reason,
    )


def _value_text(value: Decimal | None) -> str | None:
    return None if value is None else text_of(value.quantize(VALUE_STEP))
