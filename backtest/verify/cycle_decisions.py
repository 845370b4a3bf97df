"""Takes each step of a trade on a cycle again from its stored rows, by the functions that took it live."""

from collections.abc import Mapping
from dataclasses import dataclass

from backtest.verify.decisions import NotReproducedError
from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from bots.decide.cycle_reserver import worth_of
from market.decide.settings import Settings
from market.prices.cycle_opportunities import CycleOpportunity
from market.trade.cycle_lifecycle import cycle_booked, cycle_resumed
from market.trade.cycle_reservations import CycleRequest, CycleRows, cycle_reserved
from market.trade.cycle_trades import CycleTrade
from market.trade.decision_record import NoRecordError
from market.trade.lifecycle import IllegalStepError
from store.queries.session_export import ExportedCycle
from store.records.cycle_step import CycleStep, CycleStepRequest, cycle_rows_of, cycle_step_of


@dataclass(frozen=True, slots=True)
class CycleDecisions:
    """The decisions on cycles of one session."""

    settings: Mapping[int, Settings]
    """By version."""
    found: Mapping[str, CycleOpportunity]
    """What was derived of those that were traded, by id."""

    def difference(self, kept: ExportedCycle) -> FirstDifference | None:
        """Compare a trade with the result of its stored steps."""
        known: CycleTrade | None = None
        for number, text in enumerate(kept.steps, start=1):
            where = f"trade {kept.trade.trade_id} on a cycle, step {number}"
            try:
                step = cycle_step_of(text)
                where += f" ({step.request.kind})"
                known = self._after(step, known)
            except NotReproducedError as fault:
                return FirstDifference(where, fault.field_name, fault.recorded, fault.derived)
            except (NoRecordError, IllegalStepError, ValueError) as fault:
                return FirstDifference(where, "step", "taken", f"{NOTHING}: {fault}")
        unlike = first_unlike(kept.trade, known)
        return None if unlike is None else FirstDifference(f"trade {kept.trade.trade_id} on a cycle", *unlike)

    def _after(self, step: CycleStep, known: CycleTrade | None) -> CycleTrade:
        if step.read.has_arbitrage != (known is not None):
            raise NotReproducedError("trade", step.read.has_arbitrage, known is not None)
        version = step.read.settings_version
        settings = None if version is None else self.settings.get(version)
        if settings is None:
            raise NotReproducedError("settings_version", version, f"{NOTHING} in the store")
        after = self._stepped(cycle_rows_of(step.read, settings, known), step.request).trade
        if after is None or after == known:
            raise NotReproducedError("trade", "changed", "unchanged")
        return after

    def _stepped(self, rows: CycleRows, request: CycleStepRequest) -> CycleRows:
        if request.kind == "book":
            return cycle_booked(rows, request.results)
        if request.kind == "resume":
            return cycle_resumed(rows)
        if request.request is None:
            raise NotReproducedError("request", NOTHING, "what was asked for")
        self._check_seen(request.request)
        after, reason = cycle_reserved(rows, request.request)
        if reason is not None:
            raise NotReproducedError("reservation", "reserved", reason)
        return after

    def _check_seen(self, request: CycleRequest) -> None:
        """Raise NotReproducedError if the request is not of what the log leads to."""
        found = self.found.get(request.trade_id)
        if found is None:
            raise NotReproducedError("cycle", request.trade_id, NOTHING)
        seen = {
            "cycle_id": found.cycle_id,
            "net_bps": found.net_bps,
            "event_time": found.event_time,
            "levels": tuple(leg.quote.levels for leg in found.legs),
            "quotes": tuple(leg.quote.quote_id for leg in found.legs),
        }
        asked = {
            "cycle_id": request.cycle.cycle_id,
            "net_bps": request.net_bps,
            "event_time": request.event_time,
            "levels": request.levels,
            "quotes": request.quotes,
        }
        unlike = first_unlike(asked, seen)
        if unlike is None:
            worth = worth_of(request.cycle, found, request.currency)
            unlike = first_unlike({"worth": request.worth}, {"worth": worth})
        if unlike is not None:
            raise NotReproducedError(f"request.{unlike[0]}", *unlike[1:])
