"""The kill switch, the limits with their use, and the missed profit of rejections."""

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from market.accounting.inventory import inventory_of
from market.accounting.transfer_lifecycle import still_ours
from market.decide.kill_switch import TradingState
from runtime.clock import wall_now
from ui.api.market_routes import Base, Exchange
from ui.api.settings_routes import NO_SETTINGS, ChangedBy
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator
from ui.rows.inventory import current_values
from ui.rows.risk import MissedProfitRow, Risk, RiskRow, TradingStateRow, missed_profit_row, risk_row
from ui.services.dashboard import dashboard_of
from ui.services.opportunity import rejection_sums
from ui.services.settings import SettingsMissingError, switch_trading

router = APIRouter(tags=["risk"])


class WantedState(BaseModel):
    """`running`; `reduce_only`: nothing new is opened, single legs are still unwound; `halted`: no orders are sent."""

    model_config = ConfigDict(extra="forbid")

    state: TradingState


@router.put("/trading-state", responses=dict.fromkeys((401, 404, 422, 503), PROBLEM_RESPONSE))
async def put_trading_state(
    request: Request,
    wanted: WantedState,
    caller: Operator,
    x_changed_by: ChangedBy = None,
) -> TradingStateRow:
    """Set the kill switch. Takes no version: it applies whatever else is changed at the same time. Repeating the state
    in force makes no new version of the settings."""
    dashboard = dashboard_of(request.app)
    try:
        saved = await switch_trading(dashboard, wanted.state, caller, x_changed_by or "")
    except SettingsMissingError:
        raise ProblemError(404, NO_SETTINGS) from None
    return TradingStateRow(state=saved.trading_state, settings_version=saved.version)


@router.get("/risk", responses={404: PROBLEM_RESPONSE})
async def risk(request: Request) -> RiskRow:
    """Return every risk check in order, with the use of its limit now, and the health of each exchange."""
    dashboard = dashboard_of(request.app)
    reader, session = dashboard.reader, dashboard.session
    current = await reader.settings_nearby.current()
    if current is None:
        raise ProblemError(404, NO_SETTINGS)
    opening, _ = await reader.balances.of_session()
    values = current_values(session, dashboard.hub.live_state.books())
    on_its_way = still_ours(await reader.transfers.known(wall_now()), session.session_id)
    balances = await reader.balances.rows()
    inventory = inventory_of(balances, opening, (), values, session.bases, on_its_way=on_its_way)
    return risk_row(Risk(session, current, await reader.counters(), await reader.health.all(), inventory.exposures))


@router.get("/rejections/summary")
async def rejection_summary(request: Request, base: Base = None, exchange: Exchange = None) -> MissedProfitRow:
    """Return the rejection reasons with their missed profit, largest first."""
    dashboard = dashboard_of(request.app)
    sums = await rejection_sums(dashboard, base, exchange)
    return missed_profit_row(dashboard.session.settlement_currency, sums.counts, sums.missed_profit)
