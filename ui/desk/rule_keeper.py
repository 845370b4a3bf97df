"""Looks at the metrics every few seconds, and keeps the alert rules in a file of the data folder."""

import asyncio
import logging
from collections.abc import Callable
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
    looks: int
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
        self._seen: tuple[Seen, ...] = ()
        self.rules: Rules = ()
        self.history = MetricHistory()

    async def resume(self) -> None:
        self.rules = await asyncio.to_thread(self._read)

    def seen(self, report: HealthReportRow) -> tuple[Seen, ...]:
        """Return what the rules say is wrong; looks at the metrics if it is time to."""
        now = wall_now()
        if now - self._looked_at >= LOOK_SECONDS * MICROSECONDS - EARLY:
            self._looked_at = now
            self.history.look(self._metrics.families(report, trading_now(self._hub.live_state)), now)
            self._seen = tuple(one for rule in self.rules for one in self.seen_by(rule))
        return self._seen

    def seen_by(self, rule: AlertRule) -> list[Seen]:
        """Return what it says at the last look."""
        return list(seen_by(rule, self.history.samples(partial(is_of_rule, rule), looks_needed(rule))))

    async def preview(self, rule: WantedRule) -> RulePreview:
        """Return what it would have said in the last day, or since this process began."""
        samples = self.history.samples(partial(is_of_rule, rule), DAY_LOOKS)
        times = [self.history.time_of(look) for look in range(self.history.looks)]
        return await asyncio.to_thread(_previewed, rule, samples, times)

    async def change(self, changed: Callable[[Rules], Rules]) -> None:
        """Put what `changed` makes of the rules in their place, one change at a time. Raises what it raises, and
        OSError if the disk takes nothing: then nothing changed."""
        async with self._writing:
            rules = changed(self.rules)
            await asyncio.to_thread(replace_file, self._path, lambda: _RULES.dump_json(rules))
            self.rules = rules
        self._seen = tuple(one for rule in rules for one in self.seen_by(rule))

    def _read(self) -> Rules:
        try:
            return _RULES.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValidationError) as error:
            log.error("alert rules not read", extra={"error": type(error).__name__, "file": str(self._path)})
            return ()


def _previewed(rule: WantedRule, samples: dict[SeriesKey, list[float | None]], times: list[int]) -> RulePreview:
    looked, found = dict(list(samples.items())[:MOST_PREVIEWED]), []
    for key, values in looked.items():
        for one in firings(rule, values):
            ended_at = times[one.last + 1] if one.last + 1 < len(times) else None
            found.append(PastFiring(series_words(key).removesuffix(":"), times[one.first], ended_at))
    found.sort(key=lambda one: one.began_at, reverse=True)
    return RulePreview(times[0] if times else None, len(times), len(looked), len(samples), tuple(found))
