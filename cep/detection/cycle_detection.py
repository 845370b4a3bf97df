"""Detection of cycles over one log, row by row: rows of `ticks` in, messages of `cycle_opportunities` out. Pure.

The kernel finds, and the newest row of each market says what its quote showed. The state is small enough to be saved
whole, and restored it goes on as if nothing had been.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from cep.detection.kernel.cycle_log import NO_RULES, CycleHit, CycleLog, CycleRules, CycleTick, cycle_hit_id
from cep.detection.kernel.log import KINDS
from market.instruments.cycles import Cycle
from market.money import decimal_of
from market.prices.opportunities import MARKER_KINDS
from streams.cycle_messages import cycle_leg_row, cycle_opportunity_message, marker_message

Row = Mapping[str, Any]
QUOTES, ALIVE = ("quote", "fx"), KINDS["alive"]
PARTITION = 0
"""Of the log: a session with cycles has one, since rows of several have no order."""


class CycleDetection:
    """Give it every row of the log, in its order, from the first that counts."""

    def __init__(self, cycles: Sequence[Cycle]) -> None:
        self._log = CycleLog(cycles, NO_RULES)
        self._numbers = {market: number for number, market in enumerate(self._log.markets)}
        self._settings: Row | None = None
        self._quotes: dict[int, Row] = {}
        """By market, the row of its newest quote if that holds."""

    def take(self, offset: int, row: Row) -> list[tuple[str, bytes]]:
        """Return the messages that a row leads to, each with its key: cycles that pay, the best first, or a marker."""
        kind = row.get("kind")
        if kind in MARKER_KINDS:
            return [(str(row["base"]), marker_message(row, offset))]
        if kind == "settings":
            self._apply(row)
            return []
        number = self._log.number_of(str(row.get("exchange")), str(row.get("symbol")))
        if number is None or kind not in KINDS:
            return []
        hits = self._log.take(self._tick(str(kind), number, row))
        return [self._message(offset, row, hit) for hit in hits]

    def saved(self) -> bytes:
        """Return all that rows to come depend on."""
        quotes = [(row, self._log.seen(number)) for number, row in self._quotes.items()]
        return orjson.dumps({"settings": self._settings, "quotes": quotes})

    def restore(self, saved: bytes) -> None:
        """Go on from there; nothing was taken yet. Raises ValueError, KeyError or TypeError if it is no such state."""
        state = orjson.loads(saved)
        for row, seen in state["quotes"]:
            number = self._log.number_of(row["exchange"], row["symbol"])
            if number is None:
                raise ValueError(f"{row['exchange']} {row['symbol']} is in no cycle")
            # without settings nothing is found
            self._log.take(self._tick(row["kind"], number, row))
            self._log.take(CycleTick(ALIVE, number, seen, row["sequence"]))
        if state["settings"] is not None:
            self._apply(state["settings"])

    @property
    def settings(self) -> str | None:
        """Return the settings row in force, as `apply_opening` takes it."""
        return None if self._settings is None else orjson.dumps(self._settings).decode()

    def apply_opening(self, settings: str | None) -> None:
        """Let a settings row hold that stands before the first row taken, as JSON; None: there is none."""
        if settings is not None:
            self._apply(orjson.loads(settings))

    def _apply(self, row: Row) -> None:
        self._settings = row
        fees = {exchange: decimal_of(rate) for exchange, rate in row["taker_fees"].items()}
        self._log.apply(CycleRules(row["emit_net_bps"], row["max_quote_age"], row["enabled_exchanges"], fees))

    def _tick(self, kind: str, number: int, row: Row) -> CycleTick:
        moment = KINDS[kind], number, row["received_time"], row["sequence"]
        if kind in QUOTES:
            # first, so that a row without prices changes nothing
            tick = CycleTick(*moment, float(row["bid"]), float(row["ask"]))
            self._quotes[number] = row
            return tick
        if kind.endswith("withdrawn"):
            self._quotes.pop(number, None)
        return CycleTick(*moment)

    def _message(self, offset: int, row: Row, hit: CycleHit) -> tuple[str, bytes]:
        cycle, settings = self._log.cycles[hit.cycle], self._settings or {}
        found = {
            "settings_version": settings["settings_version"],
            "net_bps": hit.net_bps,
            "event_time": hit.time,
            "expires_at": hit.time + settings["opportunity_lifetime"],
            "offset": offset,
        }
        legs = list(self._legs(cycle, hit.time))
        return cycle.cycle_id, cycle_opportunity_message(
            cycle_hit_id(cycle, hit.sequences), cycle.cycle_id, legs, found
        )

    def _legs(self, cycle: Cycle, now: int) -> Iterator[Mapping[str, object]]:
        for leg in cycle.legs:
            number = self._numbers[leg.market]
            yield cycle_leg_row(self._quotes[number], leg.side, now - (self._log.seen(number) or now))
