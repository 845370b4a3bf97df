"""Episodes of cycles as a backtest meets them: sightings of one cycle that follow each other without a break."""

from dataclasses import replace

from backtest.detect.cycle_search import CycleSighting
from backtest.result.cycles_found import TRADED, CycleEpisode


class CycleEpisodes:
    """Sightings of one cycle that follow each other within the lifetime of an opportunity are one episode."""

    def __init__(self, lifetime: int) -> None:
        """Take `lifetime` in microseconds."""
        self._lifetime = lifetime
        self._newest: dict[int, CycleEpisode] = {}
        self._ended: list[CycleEpisode] = []

    def see(self, one: CycleSighting, reason: str | None) -> None:
        """Take a sighting, and why it was not traded; None: a trade was begun on it."""
        known = self._newest.get(one.number)
        if known is None or one.time > known.end + self._lifetime:
            if known is not None:
                self._ended.append(known)
            known = CycleEpisode(one.cycle, one.sighting_id, one.time, one.time, 0, one.net_bps, one.net_bps)
        known = replace(
            known,
            end=one.time,
            sightings=known.sightings + 1,
            best_net_bps=max(known.best_net_bps, one.net_bps),
            trades=known.trades if reason is not None else (*known.trades, one.sighting_id),
        )
        self._newest[one.number] = replace(known, state=TRADED if known.trades else reason or TRADED)

    def all(self) -> tuple[CycleEpisode, ...]:
        """Return all of them by their beginning."""
        every = (*self._ended, *self._newest.values())
        return tuple(sorted(every, key=lambda episode: (episode.start, episode.cycle.cycle_id)))
