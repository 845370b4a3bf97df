"""What alert rules say, on its way to the destinations of `[[notices]]`: an entry of the audit log for the beginning of
an alert and one for its end, which the process `notifier` follows."""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from market.time_units import MICROSECONDS
from store.errors import StoreError
from store.records.audit_entry import AuditEntry
from ui.desk.alert_book import AlertBook, KeptAlert
from ui.desk.alert_rules import AlertRule, part_of

MOST_WAITING = 200
MOST_AN_HOUR = 20
"""Of one rule: what comes and goes all day says nothing."""
HOUR = 3_600 * MICROSECONDS
RULE = "rule"
"""The role of these entries."""

log = logging.getLogger("ui")


class RuleNotices:
    """Runs on one event loop; what cannot be written now is written later."""

    def __init__(self, begin: Callable[[AuditEntry], Awaitable[object]]) -> None:
        """`begin` writes an entry of the audit log; it raises StoreError if it cannot."""
        self._begin = begin
        self._waiting: deque[AuditEntry] = deque(maxlen=MOST_WAITING)
        self._reported: dict[str, deque[int]] = {}

    def report(self, before: AlertBook, after: AlertBook, rules: Sequence[AlertRule], now: int) -> None:
        """Take what began and ended between two looks, of rules and not muted."""
        by_part = {part_of(rule): rule for rule in rules}
        for alert in news_in(before, after):
            rule = by_part.get(alert.part)
            if rule is None or after.mute_of(alert, now) is not None:
                continue
            if self._is_too_often(rule, now):
                log.info("alert not reported: too many of this rule within an hour", extra={"rule": rule.name})
                continue
            self._waiting.append(entry_of(rule, alert))

    async def send(self) -> None:
        """Write what waits, in its order."""
        while self._waiting:
            try:
                await self._begin(self._waiting[0])
            except StoreError as error:
                log.info("alert not reported yet", extra={"error": str(error)})
                return
            self._waiting.popleft()

    def _is_too_often(self, rule: AlertRule, now: int) -> bool:
        known = self._reported.setdefault(rule.rule_id, deque(maxlen=MOST_AN_HOUR))
        if len(known) == MOST_AN_HOUR and now - known[0] < HOUR:
            return True
        known.append(now)
        return False


def news_in(before: AlertBook, after: AlertBook) -> Iterable[KeptAlert]:
    """Yield the alerts that began or ended."""
    for alert_id, alert in after.alerts.items():
        known = before.alerts.get(alert_id)
        if known is None or (known.ended_at is None and alert.ended_at is not None):
            yield alert


def entry_of(rule: AlertRule, alert: KeptAlert) -> AuditEntry:
    """Return the entry, whose id is the same however often it is written."""
    is_over = alert.ended_at is not None
    return AuditEntry(
        entry_id=f"alert:{alert.alert_id}:{'ended' if is_over else 'began'}",
        who=part_of(rule),
        role=RULE,
        means="",
        address="",
        action="alert.end" if is_over else "alert.begin",
        target=rule.name,
        outcome="done",
        after={"what": alert.what, "severity": alert.severity, "to": list(rule.destinations)},
    )
