"""Reads what happens and stands, and puts what a destination wants to be told into its queue in the store."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial

from market.money import total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from notices.notice_format import date_and_time, plural, signed_money
from notices.ongoing_alerts import AlertWatch, faults_now
from notices.routing import is_wanted
from notices.trade_notices import notices_of_arbitrage
from notices.trading_notices import notice_of_loss, notice_of_pause, notice_of_reopening, notice_of_version
from session.clock import SystemClock, wall_now
from session.notices import Destination, Notice
from session.session import Session
from session.tasks import together
from store.operations.mongo_notices import NoticePosition
from store.queries.notice_events import CurrentState, Happening, NoticeEventFollower, NoticeEventReader
from store.server.change_streams import patiently
from store.server.documents import SettingsVersion

KEEP_SECONDS = 2.0
"""So often the place in the change stream is kept; what is read twice after a kill is put once."""
MOST_REMEMBERED = 10_000
LONGEST_LOOK_BACK = 24 * 3_600 * MICROSECONDS

log = logging.getLogger(__name__)


class EventReader:
    """Of one destination: a change stream, a place in it and a queue of its own."""

    def __init__(self, reader: NoticeEventReader, session: Session, destination: Destination) -> None:
        self._reader = reader
        self._session = session
        self.destination = destination
        self.news = asyncio.Event()
        """Set whenever something new is in the queue."""
        self.begun = asyncio.Event()
        """Set once nothing that follows can be missed."""
        self._place = NoticePosition(0)
        self._read_at = 0
        self._faults = AlertWatch(0)
        self._patience = int(destination.single_leg_seconds * MICROSECONDS)
        self._put: set[str] = set()
        self._is_idle = False

    async def run(self) -> None:
        """For ever, through outages of MongoDB."""
        name = self.destination.name
        self._place = await patiently(lambda: self._reader.notices.place(self.destination))
        self._read_at = self._place.read_at
        self._faults = AlertWatch(wall_now(), dict(self._place.standing))
        async with self._reader.followed(self._place.token) as follower:
            log.info("notifier started", extra={"destination": name, "resumed": self._place.token is not None})
            await together(self._follow(follower), self._keep_place(follower))

    async def look(self, present: CurrentState) -> None:
        """Tell what stands now and was not told yet."""
        if not self.begun.is_set():
            return
        now = present.counters.now
        told: list[Notice | None] = []
        if present.settings is not None:
            told += [notice_of_reopening(health, present.settings, now) for health in present.health]
            told.append(notice_of_loss(present.counters, present.settings, self._session.settlement_currency))
        for arbitrage in present.single_legs:
            told += notices_of_arbitrage(arbitrage, self._patience, now)
        before = dict(self._faults.standing)
        faults = faults_now(present, self._session, self._session.clock().now())
        told += self._faults.look(faults, self._session.exchanges, now)
        await self._tell(told)
        if self._faults.standing != before:
            standing = dict(self._faults.standing)
            await patiently(lambda: self._reader.notices.keep_standing(self.destination.name, standing))

    async def _follow(self, follower: NoticeEventFollower) -> None:
        is_lost = self._place.token is not None
        if is_lost:
            # a stream that goes on from a token misses nothing, and says so by nothing
            self.begun.set()
        while True:
            self._is_idle = self.begun.is_set()
            happening = await follower.next()
            self._is_idle = False
            if happening is None:
                await self._catch_up(is_lost)
                is_lost = True
            else:
                await self._tell(notices_of(happening, self._patience))
            self.begun.set()

    async def _keep_place(self, follower: NoticeEventFollower) -> None:
        kept = self._place.token
        while True:
            await SystemClock().sleep(KEEP_SECONDS)
            token = follower.token
            if self._is_idle and token is not None and token != kept:
                self._read_at = await patiently(partial(self._reader.notices.keep_token, self.destination.name, token))
                kept = token

    async def _catch_up(self, is_lost: bool) -> None:
        """From the collections: what happened since the place was kept. Trades are but counted where it is long."""
        present = await patiently(self._reader.present)
        # who was away for weeks is not to read weeks
        since = max(self._read_at, present.counters.now - LONGEST_LOOK_BACK)
        ended = await patiently(lambda: self._reader.ended_since(since))
        versions = await patiently(lambda: self._reader.versions_since(since))
        found: list[Happening] = [*ended, *versions, *present.health]
        told = [notice for one in found for notice in notices_of(one, self._patience)]
        if is_lost:
            told = [notice for notice in told if notice.kind != "trades"]
            told.append(lost_notice(self._read_at, present, ended, self._session.settlement_currency))
            log.warning("change history lost", extra={"destination": self.destination.name})
        await self._tell(notice for notice in told if notice.at >= since or notice.kind == "notifier")

    async def _tell(self, notices: Iterable[Notice | None]) -> None:
        since, destination = self._place.since, self.destination
        wanted = [
            notice
            for notice in notices
            if notice is not None and notice.notice_id not in self._put and is_wanted(notice, destination, since)
        ]
        if not wanted:
            return
        if await patiently(lambda: self._reader.notices.put(destination.name, wanted)):
            self.news.set()
        if len(self._put) > MOST_REMEMBERED:
            # the store knows them too
            self._put.clear()
        self._put |= {notice.notice_id for notice in wanted}


def notices_of(happening: Happening, patience: int) -> list[Notice]:
    """What one document has to tell. `patience`, microseconds: how long a single leg is no alarm."""
    if isinstance(happening, Arbitrage):
        return notices_of_arbitrage(happening, patience)
    told = notice_of_version(happening) if isinstance(happening, SettingsVersion) else notice_of_pause(happening)
    return [] if told is None else [told]


def lost_notice(since: int, present: CurrentState, ended: Sequence[Arbitrage], currency: str) -> Notice:
    """That changes since `since` are gone, what `ended` of what was read again, and what stands now."""
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
