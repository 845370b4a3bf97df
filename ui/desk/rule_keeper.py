"""Looks at the metrics every few seconds, and keeps the alert rules in a file of the data folder."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.auth.private_files import replace_file
from ui.desk.alert_book import Seen
from ui.desk.alert_rules import (
    LOOK_SECONDS,
    AlertRule,
    SeriesKey,
    WantedRule,
    firings,
    is_of_rule,
    looks_needed,
    seen_by,
    series_words,
)
from ui.desk.metric_history import DAY_LOOKS, MetricHistory
from ui.rows.health import HealthReportRow
from ui.services.prometheus_metrics import Metrics, trading_now
from ui.stream.live_hub import LiveHub

EARLY = MICROSECONDS
"""A look that would come so much too early is not put off: a pause of five seconds never takes exactly five."""
FIRST_LOOKS = 60 // LOOK_SECONDS
"""After a start the parts of a session report again one by one: a minute in which nothing is decided."""
MOST_PREVIEWED = 50
"""Series; a day of each takes some milliseconds."""
Rules = tuple[AlertRule, ...]
_RULES = TypeAdapter(Rules)

log = logging.getLogger("ui")


@dataclass(frozen=True, slots=True)
class PastFiring:
    """When a rule would have fired for a series; `ended_at` None: it would now. Microseconds UTC."""

    series: str
    began_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class RulePreview:
    """What a rule would have said since `since`, newest first; `series` of `matching` were looked through."""

    since: int | None
    series: int
    matching: int
    firings: tuple[PastFiring, ...]


class RuleKeeper:
    """Runs on one event loop."""

    def __init__(self, home: Path, metrics: Metrics, hub: LiveHub) -> None:
        self._path = home / "alert_rules.json"
        self._metrics = metrics
        self._hub = hub
        self._writing = asyncio.Lock()
        self._looked_at = 0
        self._said: dict[str, tuple[Seen, ...]] = {}
        """What each rule says at the last look, by its id."""
        self.rules: Rules = ()
        self.history = MetricHistory()

    async def resume(self) -> None:
        self.rules = await asyncio.to_thread(self._read)

    async def seen(self, report: HealthReportRow) -> tuple[Seen, ...]:
        """Return what the rules say is wrong; looks at the metrics if it is time to."""
        now = wall_now()
        if now - self._looked_at >= LOOK_SECONDS * MICROSECONDS - EARLY:
            self._looked_at = now
            self.history.look(self._metrics.families(report, trading_now(self._hub.live_state)), now)
            await self._look_by(self.rules)
        return tuple(one for rule in self.rules for one in self.said_by(rule))

    def said_by(self, rule: AlertRule) -> tuple[Seen, ...]:
        """Return what it says at the last look."""
        return self._said.get(rule.rule_id, ())

    def has_looked_enough(self, rule_id: str) -> bool:
        """Return whether this process has looked long enough to say that what a rule said before it began is over.

        `rule_id`: "" or an unknown one is no rule."""
        rule = next((one for one in self.rules if one.rule_id == rule_id), None)
        return self.history.looks_ever >= FIRST_LOOKS + (0 if rule is None else looks_needed(rule))

    async def preview(self, rule: WantedRule) -> RulePreview:
        """Return what it would have said in the last day, or since this process began."""
        keys = self.history.keys(partial(is_of_rule, rule))
        looked = keys[:MOST_PREVIEWED]
        return await asyncio.to_thread(_previewed, rule, self.history.of(looked), looked, len(keys))

    async def change(self, changed: Callable[[Rules], Rules]) -> None:
        """Put what `changed` makes of the rules in their place, one change at a time. Raises what it raises, and
        OSError if the disk takes nothing: then nothing changed."""
        async with self._writing:
            before, rules = self.rules, changed(self.rules)
            await asyncio.to_thread(replace_file, self._path, lambda: _RULES.dump_json(rules))
            self.rules = rules
        self._said = {rule.rule_id: self.said_by(rule) for rule in rules if rule in before}
        await self._look_by([rule for rule in rules if rule not in before])

    async def _look_by(self, rules: Sequence[AlertRule]) -> None:
        """Note what they say, computed beside the loop that serves the kill switch: a rule may look at hundreds of
        series."""
        keys = [self.history.keys(partial(is_of_rule, rule)) for rule in rules]
        known = self.history.of({key for some in keys for key in some})
        said = await asyncio.to_thread(_said, rules, keys, known)
        # one that was changed meanwhile was looked at by who changed it
        self._said |= {rule.rule_id: seen for rule, seen in zip(rules, said, strict=True) if rule in self.rules}

    def _read(self) -> Rules:
        try:
            return _RULES.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValidationError) as error:
            log.error("alert rules not read", extra={"error": type(error).__name__, "file": str(self._path)})
            return ()


def _said(
    rules: Sequence[AlertRule], keys: Sequence[Sequence[SeriesKey]], history: MetricHistory
) -> list[tuple[Seen, ...]]:
    return [tuple(seen_by(rule, history.samples(of, looks_needed(rule)))) for rule, of in zip(rules, keys, strict=True)]


def _previewed(rule: WantedRule, history: MetricHistory, looked: Sequence[SeriesKey], matching: int) -> RulePreview:
    times, found = history.times, []
    for key, values in history.samples(looked, DAY_LOOKS).items():
        for one in firings(rule, values):
            ended_at = times[one.last + 1] if one.last + 1 < len(times) else None
            found.append(PastFiring(series_words(key).removesuffix(":"), times[one.first], ended_at))
    found.sort(key=lambda one: one.began_at, reverse=True)
    return RulePreview(times[0] if times else None, len(looked), matching, tuple(found))
