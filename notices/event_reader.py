"""Reads events and ongoing alerts, and puts the notices that a destination wants into its queue in the store."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial

from market.accounting.differences import StoredDifference
from market.money import total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade
from notices.alert_notices import notice_of_alert
from notices.app_notices import notice_of_action
from notices.difference_notices import notice_of_reduce_only, notices_of_difference, notices_of_terms
from notices.format import date_and_time, plural, signed_money
from notices.ongoing_alerts import AlertWatch, faults_now
from notices.routing import is_wanted
from notices.trade_notices import notices_of_trade
from notices.trading_state_notices import notice_of_loss, notice_of_pause, notice_of_reopening, notice_of_version
from runtime.clock import SystemClock, wall_now
from runtime.disk_space import known_free_bytes
from runtime.tasks import run_all
from session.notice_destinations import Destination
from session.session import Session
from store.operations.notices import NoticePosition
from store.queries.notice_events import CurrentState, NoticeEvent, NoticeEventFollower, NoticeEventReader
from store.records.audit_entry import AuditEntry
from store.records.notice import Notice
from store.server.change_streams import read_until_reachable
from store.server.documents import SettingsVersion

KEEP_SECONDS = 2.0
"""Interval of saving the position in the change stream; events that are read again after a kill are enqueued once."""
MAX_REMEMBERED_IDS = 10_000
LONGEST_LOOK_BACK = 24 * 3_600 * MICROSECONDS

log = logging.getLogger(__name__)


class EventReader:
    """Reads for one destination: a change stream, a position in it and a queue."""

    def __init__(self, reader: NoticeEventReader, session: Session, destination: Destination) -> None:
        self._reader = reader
        self._session = session
        self.destination = destination
        self.news = asyncio.Event()
        """Set whenever a notice was enqueued."""
        self.begun = asyncio.Event()
        """Set once no later event can be missed."""
        self._place = NoticePosition(0)
        self._read_at = 0
        self._alerts = AlertWatch(0)
        self._min_single_leg = int(destination.single_leg_seconds * MICROSECONDS)
        self._enqueued: set[str] = set()
        self._is_idle = False

    async def run(self) -> None:
        """Run until cancelled, through outages of MongoDB."""
        name = self.destination.name
        self._place = await read_until_reachable(lambda: self._reader.notices.place(self.destination))
        self._read_at = self._place.read_at
        self._alerts = AlertWatch(wall_now(), dict(self._place.standing))
        async with self._reader.followed(self._place.token) as follower:
            log.info("notifier started", extra={"destination": name, "resumed": self._place.token is not None})
            await run_all(self._follow(follower), self._save_position(follower))

    async def check_alerts(self, present: CurrentState) -> None:
        """Enqueue notices of alerts that began or ended, and of the current state."""
        if not self.begun.is_set():
            return
        now = present.counters.now
        notices: list[Notice | None] = []
        if present.settings is not None:
            notices += [notice_of_reopening(health, present.settings, now) for health in present.health]
            notices.append(notice_of_loss(present.counters, present.settings, self._session.settlement_currency))
        for trade in present.single_legs:
            notices += notices_of_trade(trade, self._min_single_leg, now)
        before = dict(self._alerts.ongoing)
        clock, free = self._session.clock(), known_free_bytes(self._session.home)
        faults = faults_now(present, self._session, clock.now(), free)
        notices += self._alerts.update(faults, self._session.exchanges, now)
        await self._enqueue(notices)
        if self._alerts.ongoing != before:
            ongoing = dict(self._alerts.ongoing)
            await read_until_reachable(lambda: self._reader.notices.store_ongoing(self.destination.name, ongoing))

    async def _follow(self, follower: NoticeEventFollower) -> None:
        is_lost = self._place.token is not None
        if is_lost:
            # a stream that resumes from a token misses nothing, but does not report that it has resumed
            self.begun.set()
        while True:
            self._is_idle = self.begun.is_set()
            event = await follower.next()
            self._is_idle = False
            if event is None:
                await self._catch_up(is_lost)
                is_lost = True
            else:
                await self._enqueue(notices_of(event, self._min_single_leg))
            self.begun.set()

    async def _save_position(self, follower: NoticeEventFollower) -> None:
        kept = self._place.token
        while True:
            await SystemClock().sleep(KEEP_SECONDS)
            token = follower.token
            if self._is_idle and token is not None and token != kept:
                self._read_at = await read_until_reachable(
                    partial(self._reader.notices.store_token, self.destination.name, token)
                )
                kept = token

    async def _catch_up(self, is_lost: bool) -> None:
        """Read events since the saved position from the collections. If the change history was lost, trades are only
        counted."""
        present = await read_until_reachable(self._reader.present)
        # after weeks of absence, do not make the user read weeks of events
        since = max(self._read_at, present.counters.now - LONGEST_LOOK_BACK)
        ended = await read_until_reachable(lambda: self._reader.ended_since(since))
        versions = await read_until_reachable(lambda: self._reader.versions_since(since))
        differences = await read_until_reachable(lambda: self._reader.differences_since(since))
        actions = await read_until_reachable(lambda: self._reader.reported_since(since))
        found: list[NoticeEvent] = [*ended, *versions, *present.health, *differences, *actions]
        notices = [notice for one in found for notice in notices_of(one, self._min_single_leg)]
        if is_lost:
            notices = [notice for notice in notices if notice.kind != "trades"]
            notices.append(lost_notice(self._read_at, present, ended, self._session.settlement_currency))
            log.warning("change history lost", extra={"destination": self.destination.name})
        await self._enqueue(notice for notice in notices if notice.at >= since or notice.kind == "notifier")

    async def _enqueue(self, notices: Iterable[Notice | None]) -> None:
        since, destination = self._place.since, self.destination
        wanted = [
            notice
            for notice in notices
            if notice is not None and notice.notice_id not in self._enqueued and is_wanted(notice, destination, since)
        ]
        if not wanted:
            return
        if await read_until_reachable(lambda: self._reader.notices.put(destination.name, wanted)):
            self.news.set()
        if len(self._enqueued) > MAX_REMEMBERED_IDS:
            # the store knows them too
            self._enqueued.clear()
        self._enqueued |= {notice.notice_id for notice in wanted}


def notices_of(event: NoticeEvent, min_single_leg: int) -> list[Notice]:
    """Return the notices of one document. `min_single_leg`, microseconds: a shorter single leg is no alarm."""
    if isinstance(event, Arbitrage | CycleTrade):
        return notices_of_trade(event, min_single_leg)
    if isinstance(event, StoredDifference):
        return notices_of_difference(event)
    found: list[Notice | None]
    if isinstance(event, AuditEntry):
        found = [notice_of_action(event), notice_of_alert(event)]
    elif isinstance(event, SettingsVersion):
        found = [notice_of_version(event), *notices_of_terms(event)]
    else:
        found = [notice_of_pause(event), notice_of_reduce_only(event)]
    return [notice for notice in found if notice is not None]


def lost_notice(since: int, present: CurrentState, ended: Sequence[Arbitrage | CycleTrade], currency: str) -> Notice:
    """Return the notice of a lost change history since `since`, with the trades that `ended` and the current state."""
    now = present.counters.now
    nets = [one.profit.net for one in ended if one.profit is not None and one.profit.currency == currency]
    single = sum(one.state == "single_leg" for one in ended)
    state = "unknown" if present.settings is None else present.settings.trading_state
    meanwhile = "Meanwhile" if now - since <= LONGEST_LOOK_BACK else "In the last 24 hours"
    line = (
        f"NOTICES MISSED between {date_and_time(since)} and {date_and_time(now)}: MongoDB no longer has the changes. "
        f"{meanwhile} {plural(len(nets), 'trade')} ended, {signed_money(total(nets), currency)} net; "
        f"trading is {state}, {plural(single, 'single leg')} open"
    )
    facts = {"since": str(since), "trades": str(len(nets)), "net": str(total(nets)), "trading_state": state}
    return Notice(f"history_lost:{since}", "notifier", "history_lost", now, line, facts)
