"""Notices of the kill switch, the daily loss limit and the circuit breakers, one document each. Pure."""

from exchanges.labels import exchange_name
from market.decide.circuit_breaker import Health
from market.decide.kill_switch import TradingState
from market.decide.settings import Settings
from market.money import text_of
from notices.format import clock_time, plural, signed_money
from store.mongo.risk_counters import RiskCounters, day_of
from store.records.notice import Notice
from store.server.documents import SettingsVersion

_SWITCHED: dict[TradingState, tuple[str, str]] = {
    "halted": ("trading_halted", "Trading HALTED by {who}: no orders are sent"),
    "reduce_only": ("trading_reduce_only", "Trading REDUCE-ONLY by {who}: no new arbitrages"),
    "running": ("trading_resumed", "Trading RESUMED by {who}"),
}
_FAILURES = {
    "order_rejected": "rejected orders",
    "outcome_unknown": "orders of unknown outcome",
    "look_up_unanswered": "unanswered look-ups",
    "account_rejected": "rejections of the account",
    "order_not_final": "orders that did not end",
    "implausible_report": "reports that contradict their order",
}


def notice_of_version(version: SettingsVersion) -> Notice | None:
    """Return the notice; None if the version did not change the trading state."""
    state = version.after.trading_state
    if version.before is None or version.before.trading_state == state:
        return None
    event, line = _SWITCHED[state]
    return Notice(
        notice_id=f"settings:{version.version}",
        kind="trading",
        event=event,
        at=version.at,
        line=line.format(who=version.who),
        facts={"who": version.who, "version": str(version.version), "before": version.before.trading_state},
    )


def notice_of_pause(health: Health) -> Notice | None:
    """Return the notice of an exchange's newest pause; None if it never was paused."""
    if health.pauses == 0:
        return None
    failures = health.failures
    kinds = dict.fromkeys(_FAILURES[failure.kind] for failure in failures)
    why = f" after {plural(len(failures), 'failure')} ({', '.join(kinds)})" if failures else ""
    return Notice(
        notice_id=f"breaker:{health.exchange}:{health.pauses}:opened",
        kind="exchanges",
        event="breaker_opened",
        at=failures[-1].at if failures else health.paused_until,
        line=f"{exchange_name(health.exchange)} PAUSED until {clock_time(health.paused_until)}{why}",
        facts={
            "exchange": health.exchange,
            "paused_until": str(health.paused_until),
            "failures": str(len(failures)),
        },
    )


def notice_of_reopening(health: Health, settings: Settings, now: int) -> Notice | None:
    """Return the notice that the newest pause is over; None while it lasts, or if there was none."""
    is_paused = settings.breaker_failures > 0 and health.is_paused(now)
    if health.pauses == 0 or is_paused:
        return None
    return Notice(
        notice_id=f"breaker:{health.exchange}:{health.pauses}:closed",
        kind="exchanges",
        event="breaker_closed",
        at=min(health.paused_until, now),
        line=f"{exchange_name(health.exchange)} RESUMED: its pause is over",
        facts={"exchange": health.exchange},
    )


def notice_of_loss(counters: RiskCounters, settings: Settings, currency: str) -> Notice | None:
    """Return the notice that the daily loss limit is reached; once a day."""
    if -counters.day_net < settings.max_daily_loss:
        return None
    day = day_of(counters.now)
    return Notice(
        notice_id=f"daily_loss:{day}",
        kind="limits",
        event="daily_loss_reached",
        at=counters.now,
        line=f"DAILY LOSS LIMIT reached: {signed_money(counters.day_net, currency)} today, "
        f"limit {signed_money(-settings.max_daily_loss, currency)}; no new arbitrages before 00:00 UTC",
        facts={"day": day, "net": text_of(counters.day_net), "limit": text_of(settings.max_daily_loss)},
    )
