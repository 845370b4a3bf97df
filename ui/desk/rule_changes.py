"""Alert rules for REST and pages: reading, making, changing, removing and previewing them."""

from collections.abc import Sequence
from uuid import uuid4

from runtime.clock import wall_now
from session.notice_destinations import Destination
from ui.auth.callers import Caller
from ui.desk.alert_rules import LOOK_SECONDS, MOST_RULES, AlertRule, WantedRule, condition, is_of_rule
from ui.desk.metric_history import MetricInfo
from ui.desk.rule_keeper import RuleKeeper, Rules
from ui.rows.alert import (
    AlertRuleRow,
    AlertRulesRow,
    MetricSeriesRow,
    PastFiringRow,
    RuleDestinationRow,
    RuleMetricRow,
    RulePreviewRow,
)
from ui.rows.attribute import row_from
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard

MOST_SHOWN = 100


class NoRuleError(Exception):
    """There is no rule of this id."""


class RuleRejectedError(Exception):
    """It cannot be kept; why, in one sentence."""


def rules_row(keeper: RuleKeeper, destinations: Sequence[Destination]) -> AlertRulesRow:
    return AlertRulesRow(
        look_seconds=LOOK_SECONDS,
        rules=[rule_row(keeper, rule) for rule in keeper.rules],
        destinations=[
            RuleDestinationRow(name=one.name, kind=one.kind, gets_alerts="alerts" in one.events) for one in destinations
        ],
    )


def rule_row(keeper: RuleKeeper, rule: AlertRule) -> AlertRuleRow:
    series = [key for key in keeper.history.known(rule.metric) if is_of_rule(rule, key)]
    return row_from(
        AlertRuleRow,
        rule,
        destinations=list(rule.destinations),
        condition=condition(rule),
        series=len(series),
        firing=len(keeper.said_by(rule)),
    )


def metric_rows(keeper: RuleKeeper) -> list[RuleMetricRow]:
    return [_metric_row(keeper, keeper.history.metrics[name]) for name in sorted(keeper.history.metrics)]


async def preview_row(keeper: RuleKeeper, rule: WantedRule) -> RulePreviewRow:
    """Raise RuleRejectedError if there is no such metric."""
    _check_metric(keeper, rule)
    found = await keeper.preview(rule)
    newest = [row_from(PastFiringRow, one) for one in found.firings[:MOST_SHOWN]]
    return row_from(RulePreviewRow, found, condition=condition(rule), times=len(found.firings), firings=newest)


async def add_rule(dashboard: Dashboard, keeper: RuleKeeper, wanted: WantedRule, caller: Caller) -> AlertRule:
    """Keep a new rule. Raises RuleRejectedError, StoreError, OSError."""
    made = AlertRule(**wanted.model_dump(), rule_id=uuid4().hex[:12], made_by=caller.name, made_at=wall_now())
    async with auditing(dashboard, caller, "alert.rule.add", made.name) as note:
        _check(dashboard, keeper, made)
        await keeper.change(lambda rules: (*_beside(rules, made), made))
        note.after = wanted.model_dump(mode="json")
    return made


async def change_rule(
    dashboard: Dashboard, keeper: RuleKeeper, rule_id: str, wanted: WantedRule, caller: Caller
) -> AlertRule:
    """Put `wanted` in the place of a rule. Raises NoRuleError, RuleRejectedError, StoreError, OSError."""
    made = AlertRule(**wanted.model_dump(), rule_id=rule_id, made_by=caller.name, made_at=wall_now())
    async with auditing(dashboard, caller, "alert.rule.change", made.name) as note:
        before = rule_of(keeper.rules, rule_id)
        _check(dashboard, keeper, made)
        await keeper.change(lambda rules: _in_place(rules, made))
        note.before = before.model_dump(mode="json", exclude={"rule_id", "made_by", "made_at"})
        note.after = wanted.model_dump(mode="json")
    return made


async def remove_rule(dashboard: Dashboard, keeper: RuleKeeper, rule_id: str, caller: Caller) -> None:
    """Raise NoRuleError, StoreError, OSError."""
    async with auditing(dashboard, caller, "alert.rule.remove", rule_id) as note:
        before = rule_of(keeper.rules, rule_id)
        await keeper.change(lambda rules: tuple(one for one in rules if one.rule_id != rule_id))
        note.before = before.model_dump(mode="json", exclude={"rule_id", "made_by", "made_at"})


def rule_of(rules: Rules, rule_id: str) -> AlertRule:
    """Raise NoRuleError."""
    found = next((rule for rule in rules if rule.rule_id == rule_id), None)
    if found is None:
        raise NoRuleError(f"There is no alert rule {rule_id[:40]!r}.")
    return found


def _beside(rules: Rules, rule: AlertRule) -> Rules:
    """Return the others. Raises RuleRejectedError if `rule` has no place beside them."""
    others = tuple(one for one in rules if one.rule_id != rule.rule_id)
    if len(others) >= MOST_RULES:
        raise RuleRejectedError(f"There are {MOST_RULES} rules already: remove one first.")
    if rule.name.casefold() in {one.name.casefold() for one in others}:
        raise RuleRejectedError(f"Another rule is called {rule.name!r}: give it a name of its own.")
    return others


def _in_place(rules: Rules, rule: AlertRule) -> Rules:
    """Raise NoRuleError, RuleRejectedError."""
    rule_of(rules, rule.rule_id)
    _beside(rules, rule)
    return tuple(rule if one.rule_id == rule.rule_id else one for one in rules)


def _check(dashboard: Dashboard, keeper: RuleKeeper, rule: AlertRule) -> None:
    """Raise RuleRejectedError."""
    known = [one.name for one in dashboard.session.upkeep.notices]
    unknown = next((name for name in rule.destinations if name not in known), None)
    if unknown is not None:
        there_are = f"there are {', '.join(known)}" if known else "none is configured"
        raise RuleRejectedError(f"No destination of [[notices]] is called {unknown!r}: {there_are}.")
    _check_metric(keeper, rule)


def _check_metric(keeper: RuleKeeper, rule: WantedRule) -> None:
    if not keeper.history.metrics:
        raise RuleRejectedError(f"The metrics were not looked at yet: try again in {LOOK_SECONDS} seconds.")
    if rule.metric not in keeper.history.metrics:
        raise RuleRejectedError(f"/metrics has no gauge or counter {rule.metric!r}.")


def _metric_row(keeper: RuleKeeper, metric: MetricInfo) -> RuleMetricRow:
    known = keeper.history.known(metric.name)
    series = [MetricSeriesRow(labels=dict(labels), value=value) for (_, labels), value in known.items()]
    return row_from(RuleMetricRow, metric, series=series)
