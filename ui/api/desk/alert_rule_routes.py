"""Alert rules of a user's own: any metric, over a window, beyond a threshold, for so long."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from ui.api.desk.alert_routes import watch_of
from ui.desk.alert_rules import WantedRule
from ui.desk.rule_changes import (
    NoRuleError,
    RuleRejectedError,
    add_rule,
    change_rule,
    metric_rows,
    preview_row,
    remove_rule,
    rule_row,
    rules_row,
)
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Asker, Operator
from ui.rows.alert import AlertRuleRow, AlertRulesRow, RuleMetricRow, RulePreviewRow
from ui.services.dashboard import dashboard_of

router = APIRouter(tags=["health"])

RuleId = Annotated[str, Path(max_length=40)]
CHANGED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 422), PROBLEM_RESPONSE)
NO_DISK = "Not kept: the disk of the data folder takes nothing."


@router.get("/alerts/rules")
async def alert_rules(request: Request) -> AlertRulesRow:
    """Return the rules, whether they fire now, and the destinations of `[[notices]]` that they can tell."""
    return rules_row(watch_of(request).rules, dashboard_of(request.app).session.upkeep.notices)


@router.get("/alerts/metrics")
async def rule_metrics(request: Request) -> list[RuleMetricRow]:
    """Return the gauges and counters of `/metrics` that a rule can be about, with their series and values now."""
    return metric_rows(watch_of(request).rules)


@router.post("/alerts/rules/preview", responses={422: PROBLEM_RESPONSE})
async def preview_rule(request: Request, wanted: WantedRule, _: Asker) -> RulePreviewRow:
    """Return when a rule would have fired in the last day, or since the dashboard started. Nothing is kept."""
    try:
        return await preview_row(watch_of(request).rules, wanted)
    except RuleRejectedError as error:
        raise ProblemError(422, str(error)) from None


@router.post("/alerts/rules", status_code=201, responses=CHANGED)
async def add_alert_rule(request: Request, wanted: WantedRule, caller: Operator) -> AlertRuleRow:
    """Keep a new rule: it is looked at every fifteen seconds. 409: it cannot be kept, and why."""
    keeper = watch_of(request).rules
    try:
        return rule_row(keeper, await add_rule(dashboard_of(request.app), keeper, wanted, caller))
    except RuleRejectedError as error:
        raise ProblemError(409, str(error)) from None
    except OSError:
        raise ProblemError(503, NO_DISK) from None


@router.put("/alerts/rules/{rule_id}", responses=CHANGED)
async def change_alert_rule(request: Request, rule_id: RuleId, wanted: WantedRule, caller: Operator) -> AlertRuleRow:
    """Put another rule in the place of this one."""
    keeper = watch_of(request).rules
    try:
        return rule_row(keeper, await change_rule(dashboard_of(request.app), keeper, rule_id, wanted, caller))
    except NoRuleError as error:
        raise ProblemError(404, str(error)) from None
    except RuleRejectedError as error:
        raise ProblemError(409, str(error)) from None
    except OSError:
        raise ProblemError(503, NO_DISK) from None


@router.delete("/alerts/rules/{rule_id}", status_code=204, response_class=Response, responses=CHANGED)
async def remove_alert_rule(request: Request, rule_id: RuleId, caller: Operator) -> Response:
    """Forget a rule; its alert ends within seconds."""
    try:
        await remove_rule(dashboard_of(request.app), watch_of(request).rules, rule_id, caller)
    except NoRuleError as error:
        raise ProblemError(404, str(error)) from None
    except OSError:
        raise ProblemError(503, NO_DISK) from None
    return Response(status_code=204)
