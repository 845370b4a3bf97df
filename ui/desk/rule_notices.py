"""What alert rules say, on its way to the destinations of `[[notices]]`: an entry of the audit log for the beginning of
an alert and one for its end, which the process `notifier` follows.

What comes and goes all day says nothing, and a rule may look at hundreds of series: so beginnings are limited, by alert
and by rule. What is held back is summed up in one notice, and the end of what was reported is always reported. What
begins while it is muted is reported once it is not, if it is still open, and else never.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from store.errors import StoreError
from store.records.audit_entry import AuditEntry
from ui.desk.alert_book import AlertBook, KeptAlert
from ui.desk.alert_rules import AlertRule, part_of

MOST_WAITING = 200
"""Entries; with more, all is held back until the store answers."""
MOST_OF_AN_ALERT = 10
"""Beginnings of one kind within an hour."""
MOST_OF_A_RULE = 30
"""Beginnings of all its series within an hour."""
HOUR = 3_600 * MICROSECONDS
BETWEEN_SUMS = 600 * MICROSECONDS
MOST_NAMED = 10
"""Alerts that a sum names; it counts the others."""
RULE = "rule"
"""The role of these entries."""

log = logging.getLogger("ui")


@dataclass(slots=True)
class _Held:
    """What was not reported of one rule since the last sum; `named` in the order in which it came."""

    began: int = 0
    ended: int = 0
    named: dict[str, None] = field(default_factory=dict)

    def add(self, alert: KeptAlert) -> None:
        if alert.ended_at is None:
            self.began += 1
        else:
            self.ended += 1
        if len(self.named) < MOST_NAMED:
            self.named[alert.what] = None

    def words(self) -> str:
        """Return such as `and 3 more: 2 began, 1 ended: …`."""
        counts = [f"{count} {word}" for count, word in ((self.began, "began"), (self.ended, "ended")) if count]
        return f"and {self.began + self.ended} more ({', '.join(counts)}), as {' '.join(self.named)}"


@dataclass(slots=True)
class _RuleNews:
    """What was reported of one rule. Times in microseconds UTC."""

    rule: AlertRule
    reported: deque[tuple[int, str]] = field(default_factory=deque)
    """When, and of which kind: the beginnings of the last hour."""
    unreported: set[str] = field(default_factory=set)
    """Open alerts whose beginning was held back."""
    muted: set[str] = field(default_factory=set)
    """Open alerts that began while they were muted, of which nothing was reported."""
    held: _Held = field(default_factory=_Held)
    summed_at: int | None = None

    def is_reported(self, alert: KeptAlert, now: int, *, has_place: bool) -> bool:
        """Return whether it is reported by itself; what is not is held."""
        if alert.ended_at is not None:
            is_reported = has_place and alert.alert_id not in self.unreported
        else:
            is_reported = has_place and self._has_room(alert.kind, now)
            if not is_reported:
                self.unreported.add(alert.alert_id)
        if not is_reported:
            self.held.add(alert)
        return is_reported

    def sum(self, now: int) -> AuditEntry | None:
        """Return the notice of what is held, if there is any and the last one was long enough ago."""
        is_early = self.summed_at is not None and now - self.summed_at < BETWEEN_SUMS
        if is_early or not self.held.named:
            return None
        held, self.held, self.summed_at = self.held, _Held(), now
        return _entry(self.rule, f"alert:{self.rule.rule_id}:more:{now}", "alert.more", held.words())

    def _has_room(self, kind: str, now: int) -> bool:
        while self.reported and now - self.reported[0][0] >= HOUR:
            self.reported.popleft()
        of_kind = sum(one == kind for _, one in self.reported)
        if len(self.reported) >= MOST_OF_A_RULE or of_kind >= MOST_OF_AN_ALERT:
            return False
        self.reported.append((now, kind))
        return True


class RuleNotices:
    """Runs on one event loop; what cannot be written now is written later."""

    def __init__(self, begin: Callable[[AuditEntry], Awaitable[object]]) -> None:
        """`begin` writes an entry of the audit log; it raises StoreError if it cannot."""
        self._begin = begin
        self._waiting: deque[AuditEntry] = deque()
        self._news: dict[str, _RuleNews] = {}
        """By the rule's id."""

    def report(self, before: AlertBook, after: AlertBook, rules: Sequence[AlertRule], now: int) -> None:
        """Take what began and ended between two looks, of rules."""
        for rule in rules:
            self._news.setdefault(rule.rule_id, _RuleNews(rule)).rule = rule
        for alert in (*self._unmuted(after, now), *news_in(before, after)):
            news = self._news.get(alert.rule_id)
            if news is None or alert.alert_id in news.muted:
                continue
            if alert.ended_at is None and after.mute_of(alert, now) is not None:
                news.muted.add(alert.alert_id)
            elif news.is_reported(alert, now, has_place=len(self._waiting) < MOST_WAITING):
                self._waiting.append(entry_of(news.rule, alert))
        self._sum_up(now)
        self._forget(after, {rule.rule_id for rule in rules})

    async def send(self) -> None:
        """Write what waits, in its order."""
        while self._waiting:
            try:
                await self._begin(self._waiting[0])
            except StoreError as error:
                log.info("alert not reported yet", extra={"error": str(error)})
                return
            self._waiting.popleft()

    def _unmuted(self, after: AlertBook, now: int) -> list[KeptAlert]:
        """Return those that are open and not muted any more."""
        found: list[KeptAlert] = []
        for news in self._news.values():
            known = (after.alerts[alert_id] for alert_id in news.muted if alert_id in after.alerts)
            of_rule = [one for one in known if one.ended_at is None and after.mute_of(one, now) is None]
            news.muted -= {one.alert_id for one in of_rule}
            found += sorted(of_rule, key=lambda one: one.since)
        return found

    def _sum_up(self, now: int) -> None:
        for news in self._news.values():
            if len(self._waiting) < MOST_WAITING and (entry := news.sum(now)) is not None:
                self._waiting.append(entry)

    def _forget(self, book: AlertBook, kept: set[str]) -> None:
        """Forget alerts that are over, and rules that were removed once none of their alerts is open: who heard of the
        beginning hears of the end."""
        open_ones = {one.alert_id: one.rule_id for one in book.alerts.values() if one.ended_at is None}
        for news in self._news.values():
            news.unreported &= open_ones.keys()
            news.muted &= open_ones.keys()
        needed = kept | set(open_ones.values()) | {rule_id for rule_id, news in self._news.items() if news.held.named}
        self._news = {rule_id: news for rule_id, news in self._news.items() if rule_id in needed}


def news_in(before: AlertBook, after: AlertBook) -> Iterable[KeptAlert]:
    """Yield the alerts that began or ended."""
    for alert_id, alert in after.alerts.items():
        known = before.alerts.get(alert_id)
        if known is None or (known.ended_at is None and alert.ended_at is not None):
            yield alert


def entry_of(rule: AlertRule, alert: KeptAlert) -> AuditEntry:
    """Return the entry, whose id is the same however often it is written."""
    is_over = alert.ended_at is not None
    entry_id = f"alert:{alert.alert_id}:{'ended' if is_over else 'began'}"
    return _entry(rule, entry_id, "alert.end" if is_over else "alert.begin", alert.what)


def _entry(rule: AlertRule, entry_id: str, action: str, what: str) -> AuditEntry:
    return AuditEntry(
        entry_id=entry_id,
        who=part_of(rule),
        role=RULE,
        means="",
        address="",
        action=action,
        target=rule.name,
        outcome="done",
        after={"what": what, "severity": rule.severity, "to": list(rule.destinations)},
    )
