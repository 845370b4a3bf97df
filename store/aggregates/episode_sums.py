"""How many episodes of opportunities there were, by pair, outcome, reason and spread, and what they missed.

The server sums the documents that bots keep of episodes (`market.prices.episodes`): a day has a million sightings,
and few episodes.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from market.money import ZERO
from market.prices.episodes import EXPIRED, EpisodeOutcome
from market.time_units import MICROSECONDS
from runtime.clock import steady_now, wall_now
from store.aggregates.session_totals import RunningSums, decimal_of
from store.errors import StoreError
from store.server.client import Database, Document, translated_errors
from store.server.documents import EPISODES

BINS_PER_BPS = 2
"""Half a basis point, the step of the thresholds; finer bins would not help."""

BELOW_THRESHOLD = "below_threshold"
REST_SHARE = 20
"""A cached sum is read again after this many times the duration of its read, at the earliest."""
FRESH = MICROSECONDS // 200
"""And not before this fraction of its span has passed."""
MAX_CACHED = 16
RECOUNT_MICROSECONDS = 3_600 * MICROSECONDS
"""An episode changes later than it says only if a bot could not write for longer than the sums take to settle."""

IS_REJECTED: Document = {"is_taken": False, "rejected": {"$exists": True}}
OUTCOMES: Mapping[EpisodeOutcome, Document] = {
    "taken": {"is_taken": True},
    "rejected": IS_REJECTED | {"rejected.reason": {"$ne": EXPIRED}},
    "expired": IS_REJECTED | {"rejected.reason": EXPIRED},
    "undecided": {"is_taken": False, "rejected": {"$exists": False}},
}
"""Each as a condition on the documents: `Episode.outcome`."""

_REASON: Document = {"$ifNull": ["$rejected.reason", ""]}
_OUTCOME: Document = {
    "$switch": {
        "branches": [
            {"case": "$is_taken", "then": "taken"},
            {"case": {"$eq": [_REASON, ""]}, "then": "undecided"},
            {"case": {"$eq": [_REASON, EXPIRED]}, "then": "expired"},
        ],
        "default": "rejected",
    }
}
_BY = (
    "$base",
    "$buy.exchange",
    "$sell.exchange",
    _OUTCOME,
    {"$cond": ["$is_taken", "", _REASON]},
    {"$floor": {"$multiply": ["$best.net_bps", BINS_PER_BPS]}},
)
_MISSED: Document = {"$cond": ["$is_taken", 0, {"$ifNull": ["$rejected.profit", 0]}]}
_SUMMED = (1, "$samples", {"$toDecimal": _MISSED})


@dataclass(frozen=True, slots=True)
class EpisodeSum:
    """Episodes of one directed pair of exchanges with one outcome."""

    base: str
    buy_exchange: str
    sell_exchange: str
    outcome: EpisodeOutcome
    reason: str
    """Why the best sighting was not traded; empty if any was, or nothing is decided yet."""
    bin: int
    """The bin of the widest spread: `bin` / 2 ≤ net bps < (`bin` + 1) / 2."""
    episodes: int
    samples: int
    """How often they were seen together."""
    missed: Decimal
    """In the settlement currency."""


class EpisodeSums:
    """Episode sums of one session, for many who ask."""

    def __init__(self, database: Database, of_session: Mapping[str, object]) -> None:
        self._database = database
        self._of_session = dict(of_session)
        self._running = RunningSums(
            database, EPISODES, self._of_session, _BY, _SUMMED, time="alive_until", recount_every=RECOUNT_MICROSECONDS
        )
        self._reading = asyncio.Lock()
        self._read: dict[int, tuple[int, list[EpisodeSum]]] = {}
        """Seconds → until when it is good, by the steady clock, and what was read."""

    async def of_session(self) -> list[EpisodeSum]:
        """Return the sums of the whole session; each read after the first reads what may have changed since. Raises
        StoreUnavailableError."""
        async with self._reading:
            return [_sum_of(key, values) for key, values in (await self._running.read()).items()]

    async def recent(self, seconds: int) -> list[EpisodeSum]:
        """Return those that could still go on within the last `seconds`. Raises StoreUnavailableError."""
        async with self._reading:
            good_until, sums = self._read.get(seconds, (0, []))
            began = steady_now()
            if began >= good_until:
                sums = await self._since(wall_now() - seconds * MICROSECONDS)
                kept = [one for one in self._read.items() if one[0] != seconds][: MAX_CACHED - 1]
                took = steady_now() - began
                self._read = dict([(seconds, (began + max(took * REST_SHARE, seconds * FRESH), sums)), *kept])
            return sums

    async def _since(self, since: int) -> list[EpisodeSum]:
        group: Document = {"_id": list(_BY)}
        group |= {f"sum{index}": {"$sum": each} for index, each in enumerate(_SUMMED)}
        wanted = self._of_session | {"alive_until": {"$gte": since}}
        with translated_errors():
            found = self._database[EPISODES].aggregate([{"$match": wanted}, {"$group": group}])
            return [
                _sum_of(tuple(map(str, key)), tuple(decimal_of(document[f"sum{index}"]) for index in range(3)))
                async for document in found
                if isinstance(key := document["_id"], list)
            ]


def missed_profit(sums: Iterable[EpisodeSum]) -> dict[str, Decimal]:
    """Reason → missed profit."""
    missed: dict[str, Decimal] = {}
    for one in sums:
        if one.reason:
            missed[one.reason] = missed.get(one.reason, ZERO) + one.missed
    return missed


def missed_episodes(sums: Iterable[EpisodeSum]) -> dict[str, int]:
    """Reason → how many episodes were not traded for it."""
    counts: Counter[str] = Counter()
    for one in sums:
        if one.reason:
            counts[one.reason] += one.episodes
    return dict(counts)


def episodes_by_outcome(sums: Iterable[EpisodeSum]) -> dict[EpisodeOutcome, int]:
    """Every outcome, also those that no episode has."""
    counts: dict[EpisodeOutcome, int] = dict.fromkeys(OUTCOMES, 0)
    for one in sums:
        counts[one.outcome] += one.episodes
    return counts


def _sum_of(key: tuple[str, ...], values: tuple[Decimal, ...]) -> EpisodeSum:
    base, buy, sell, outcome, reason, number = key
    episodes, samples, missed = values
    return EpisodeSum(
        base, buy, sell, _outcome_of(outcome), reason, int(float(number)), int(episodes), int(samples), missed
    )


def _outcome_of(name: str) -> EpisodeOutcome:
    known: tuple[EpisodeOutcome, ...] = get_args(EpisodeOutcome)
    found = next((outcome for outcome in known if outcome == name), None)
    if found is None:
        raise StoreError(f"an episode in the store has no known outcome: {name!r}")
    return found
