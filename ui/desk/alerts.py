"""Alerts for REST and pages: reading, acknowledging and muting them."""

from collections.abc import Callable
from typing import Literal

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.auth.callers import Caller
from ui.desk.alert_book import AlertBook, KeptAlert
from ui.desk.alert_keeper import AlertKeeper
from ui.rows.alert import AlertRow, AlertsRow
from ui.rows.attribute import row_from
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard

WantedAlerts = Literal["open", "ended", "all"]


class NoAlertError(Exception):
    """There is no alert of this id."""


def alerts_row(book: AlertBook, wanted: WantedAlerts, limit: int) -> AlertsRow:
    """Return at most `limit` alerts, the open ones first, each newest first."""
    now = wall_now()
    alerts = sorted(book.alerts.values(), key=lambda one: (one.ended_at is None, one.since), reverse=True)
    concerning = [one for one in alerts if one.ended_at is None and book.mute_of(one, now) is None]
    shown = [one for one in alerts if wanted == "all" or (one.ended_at is None) == (wanted == "open")]
    return AlertsRow(
        open=len(concerning),
        failing=sum(one.severity == "failing" for one in concerning),
        unacknowledged=sum(not one.acknowledged_by for one in concerning),
        items=[_row(book, one, now) for one in shown[:limit]],
    )


async def acknowledge(dashboard: Dashboard, watch: AlertKeeper, alert_id: str, note: str, caller: Caller) -> AlertRow:
    """Say that somebody looks after it. Raises NoAlertError, StoreError."""

    def change(book: AlertBook) -> AlertBook:
        return book.acknowledged(alert_id, caller.name, note, wall_now())

    return await _changed(dashboard, watch, alert_id, caller, "alert.acknowledge", change)


async def mute(dashboard: Dashboard, watch: AlertKeeper, alert_id: str, minutes: int, caller: Caller) -> AlertRow:
    """Mute all alerts of its kind. Raises NoAlertError, StoreError."""

    def change(book: AlertBook) -> AlertBook:
        return book.muted(alert_id, caller.name, wall_now() + minutes * 60 * MICROSECONDS)

    return await _changed(dashboard, watch, alert_id, caller, "alert.mute", change)


async def unmute(dashboard: Dashboard, watch: AlertKeeper, alert_id: str, caller: Caller) -> AlertRow:
    """Count its kind again. Raises NoAlertError, StoreError."""
    return await _changed(dashboard, watch, alert_id, caller, "alert.unmute", lambda book: book.unmuted(alert_id))


async def _changed(
    dashboard: Dashboard,
    watch: AlertKeeper,
    alert_id: str,
    caller: Caller,
    action: str,
    change: Callable[[AlertBook], AlertBook],
) -> AlertRow:
    async with auditing(dashboard, caller, action, alert_id) as note:
        try:
            changed = change(watch.book)
        except KeyError:
            raise NoAlertError(f"There is no alert {alert_id[:40]!r}.") from None
        alert = changed.alerts[alert_id]
        await watch.change(changed)
        row = _row(changed, alert, wall_now())
        note.after = {name: row[name] for name in ("what", "note", "muted_until")}
    return row


def _row(book: AlertBook, alert: KeptAlert, now: int) -> AlertRow:
    muted = book.mute_of(alert, now)
    until, who = (None, "") if muted is None else (muted.until, muted.who)
    return row_from(AlertRow, alert, muted_until=until, muted_by=who)
