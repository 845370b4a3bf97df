"""Looks for what is wrong every few seconds, and keeps the alerts in a file of the data folder."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from market.decide.kill_switch import HALTED
from runtime.clock import SystemClock, wall_now
from runtime.tasks import run_again
from store.errors import StoreError
from ui.auth.private_files import replace_file
from ui.desk.alert_book import EMPTY, AlertBook, AlertSeverity, KeptAlert, Seen
from ui.desk.rule_keeper import RuleKeeper
from ui.desk.rule_notices import RuleNotices
from ui.rows.app import SignalRow
from ui.services.health import HealthService
from ui.stream.live_hub import LiveHub

LOOK_SECONDS = 5.0
MOST_SIGNALS = 50
"""Alerts of signals, the worst: an app may watch a million of things."""
SIGNALS_TODO = "See the page Signals."
TODO = "Resume trading on the page Bots & thresholds."
TRADING = {
    HALTED: "Trading is halted: no orders are sent.",
    "reduce_only": "Trading is reduce-only: nothing new begins.",
}
"""Trading state → what is wrong with it."""
_BOOK = TypeAdapter(AlertBook)

MOST_CHARACTERS = 200
AlertingSignals = Callable[[], Awaitable[Sequence[SignalRow]]]

log = logging.getLogger("ui")


class AlertKeeper:
    """Runs on one event loop."""

    def __init__(
        self,
        home: Path,
        health: HealthService,
        hub: LiveHub,
        rules: RuleKeeper,
        notices: RuleNotices,
        signals: AlertingSignals,
    ) -> None:
        """`signals`: gives those of stream apps that are a warning or critical, the worst first."""
        self._path = home / "alerts.json"
        self._health = health
        self._hub = hub
        self.rules = rules
        self._notices = notices
        self._signals = signals
        self._writing = asyncio.Lock()
        self._began_at = wall_now()
        self.book = EMPTY

    async def run(self) -> None:
        """Look until cancelled, whatever fails."""
        self.book = await asyncio.to_thread(self._read)
        await self.rules.resume()
        await run_again(self._look_on, lambda failure: log.error("alerts not looked for", exc_info=failure))

    async def _look_on(self) -> None:
        while True:
            await SystemClock().sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Look once; what cannot be looked at now is looked at the next time."""
        try:
            report = await self._health.report()
        except (StoreError, TimeoutError) as error:
            log.info("alerts not looked for", extra={"error": str(error)})
            return
        seen = [Seen(one["severity"], one["part"], one["what"], one["todo"]) for one in report["findings"]]
        signals = [_seen(one) for one in (await self._signals())[:MOST_SIGNALS]]
        of_rules = await self.rules.seen(report)
        # from here on nothing is waited for: an acknowledgement in between would be lost
        before, now = self.book, wall_now()
        await self.change(before.observed([*seen, *self._trading(), *of_rules, *signals], now, self._is_undecided))
        self._notices.report(before, self.book, self.rules.rules, now)
        await self._notices.send()

    async def change(self, book: AlertBook) -> None:
        """Put `book` in place of the one known. A disk that takes nothing costs what a restart forgets."""
        is_news = _without_times(book) != _without_times(self.book)
        self.book = book
        if not is_news:
            return
        async with self._writing:
            try:
                await asyncio.to_thread(replace_file, self._path, lambda: _BOOK.dump_json(self.book))
            except OSError as error:
                log.warning("alerts not kept", extra={"error": str(error)})

    def _is_undecided(self, alert: KeptAlert) -> bool:
        """Return whether only an earlier process saw it, and this one has not looked long enough to say it is over."""
        return alert.seen_at < self._began_at and not self.rules.has_looked_enough(alert.rule_id)

    def _trading(self) -> list[Seen]:
        settings = self._hub.settings
        known = None if settings is None else TRADING.get(settings.trading_state)
        return [] if known is None else [Seen("warning", "trading", known, TODO)]

    def _read(self) -> AlertBook:
        try:
            return _BOOK.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return EMPTY
        except (OSError, ValidationError) as error:
            log.warning("earlier alerts not read", extra={"error": type(error).__name__})
            return EMPTY


def _seen(signal: SignalRow) -> Seen:
    """Return what is wrong; the part names the entity, since figures in words count as equal."""
    severity: AlertSeverity = "failing" if signal["level"] == "critical" else "warning"
    what = f"{signal['signal']}: {signal['reason'] or signal['level']}"[:MOST_CHARACTERS]
    return Seen(severity, f"{signal['entity']} ({signal['app']})"[:MOST_CHARACTERS], what, SIGNALS_TODO)


def _without_times(book: AlertBook) -> object:
    """Return what is worth a write to the disk: not that an alert was seen once more, in other figures."""
    alerts = [(one.alert_id, one.ended_at, one.acknowledged_by, one.note) for one in book.alerts.values()]
    return alerts, dict(book.mutes)
