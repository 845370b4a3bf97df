"""Recomputes each decision from its stored decision context, by the functions that made it live."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from backtest.verify.first_difference import NOTHING, FirstDifference, first_unlike
from backtest.verify.opportunities import Key
from bots.decide.order_decision import Rejected, decide
from market.decide.decision_context import RecordedContext
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.money import decimal_of_double
from market.prices.opportunities import Opportunity
from market.trade import leg_lifecycle as legs
from market.trade import reservations
from market.trade.arbitrages import Arbitrage, LegRole, Rejection
from market.trade.decision_record import (
    DecisionStep,
    NoRecordError,
    RejectionRecord,
    StepRequest,
    rejection_record_of,
    step_of,
)
from market.trade.leg_lifecycle import Advance
from market.trade.lifecycle import IllegalStepError
from market.trade.reservation_state import ReservationState
from market.trade.reservations import Reservation
from market.trade.unwinding import Markets, advancing, markets_by_symbol
from store.queries.session_export import ExportedArbitrage


class NotReproducedError(Exception):
    """A step or a rejection does not follow from its stored context: (field, recorded, derived)."""

    def __init__(self, field_name: str, recorded: object, derived: object) -> None:
        super().__init__(field_name)
        self.field_name = field_name
        self.recorded = recorded
        self.derived = derived


@dataclass(slots=True)
class Decisions:
    """The decisions of one session."""

    markets: tuple[Market, ...]
    settings: Mapping[int, Settings]
    """By version."""
    opportunities: Mapping[Key, Opportunity]
    """Opportunities that were derived."""
    times: Mapping[Key, list[int]]
    """When they were produced."""
    by_symbol: Markets = field(init=False)

    def __post_init__(self) -> None:
        self.by_symbol = markets_by_symbol(tuple(market for market in self.markets if not market.is_fx))

    def arbitrage_difference(self, kept: ExportedArbitrage) -> FirstDifference | None:
        """Compare an arbitrage with the result of its stored steps."""
        known: Arbitrage | None = None
        recorded = kept.arbitrage
        for number, text in enumerate(kept.steps, start=1):
            where = f"arbitrage {recorded.arbitrage_id}, step {number}"
            try:
                step = step_of(text)
                where += f" ({_named(step.request)})"
                known = self._after(step, known, recorded)
            except NotReproducedError as fault:
                return FirstDifference(where, fault.field_name, fault.recorded, fault.derived)
            except (NoRecordError, IllegalStepError, ValueError) as fault:
                return FirstDifference(where, "step", "taken", f"{NOTHING}: {fault}")
        found = first_unlike(recorded, known)
        return None if found is None else FirstDifference(f"arbitrage {recorded.arbitrage_id}", *found)

    def rejection_difference(self, rejection: Rejection) -> FirstDifference | None:
        """Compare a rejection with its recomputed reason."""
        where = f"rejection {rejection.rejection_id}"
        try:
            record = rejection_record_of(rejection.record or "")
            opportunity = self._opportunity(rejection.opportunity_id, record.context)
            reason = self._reason(opportunity, record)
        except NotReproducedError as fault:
            return FirstDifference(where, fault.field_name, fault.recorded, fault.derived)
        except (NoRecordError, ValueError) as fault:
            return FirstDifference(where, "record", "kept", f"{NOTHING}: {fault}")
        found = first_unlike(_stated(rejection), _derived(opportunity, reason))
        return None if found is None else FirstDifference(where, *found)

    def _after(self, step: DecisionStep, known: Arbitrage | None, recorded: Arbitrage) -> Arbitrage:
        if step.read.has_arbitrage != (known is not None):
            raise NotReproducedError("arbitrage", _there(step.read.has_arbitrage), _there(known is not None))
        if known is None and step.request.kind == "reserve":
            return self._reserved(step, recorded)
        if known is None or step.request.kind == "reserve":
            raise NotReproducedError("step", step.request.kind, "reserve" if known is None else "a later one")
        settings = self._version(step.read.settings_version)
        rows = replace(step.read.rows(known.opportunity, settings), arbitrage=known)
        after = self._stepped(rows, step.request, settings).arbitrage
        if after is None or after == known:
            raise NotReproducedError("arbitrage", "changed", "unchanged")
        return after

    def _stepped(self, rows: ReservationState, request: StepRequest, settings: Settings | None) -> ReservationState:
        if request.kind == "grant":
            return legs.granted(rows, _role(request))
        if settings is None:
            raise NotReproducedError("settings", NOTHING, "a version")
        if request.kind == "resume":
            return legs.resumed(rows, settings, self._advance())
        return legs.booked(rows, request.results, settings, self._advance())

    def _reserved(self, step: DecisionStep, recorded: Arbitrage) -> Arbitrage:
        request = self._reservation(step.request, recorded)
        rows = step.read.rows(request.opportunity, self._version(step.read.settings_version))
        result = reservations.reserved(rows, request)[1]
        if result.arbitrage is None:
            raise NotReproducedError("reservation", "reserved", result.rejection)
        return result.arbitrage

    def _reservation(self, request: StepRequest, recorded: Arbitrage) -> Reservation:
        """Return the bot's request, decided again; a single-exchange strategy's request is taken as recorded."""
        if request.reservation is not None:
            return request.reservation
        if request.context is None:
            raise NotReproducedError("context", NOTHING, "a bot's")
        opportunity = self._opportunity(recorded.arbitrage_id, request.context)
        times = self.times.get((opportunity.offset, opportunity.opportunity_id), [])
        if request.context.offset == recorded.opportunity.offset and recorded.opportunity.detected_time not in times:
            raise NotReproducedError("opportunity.detected_time", recorded.opportunity.detected_time, times)
        opportunity = replace(opportunity, detected_time=recorded.opportunity.detected_time)
        decision = self._decision(opportunity, request.context)
        if isinstance(decision, Rejected):
            raise NotReproducedError("reservation", "requested", decision.reason)
        return replace(decision, valid_until=request.valid_until)

    def _decision(self, opportunity: Opportunity, recorded: RecordedContext) -> Reservation | Rejected:
        return decide(recorded.context(opportunity, self._settings(recorded.settings_version)), self.by_symbol)

    def _reason(self, opportunity: Opportunity, record: RejectionRecord) -> str:
        decision = self._decision(opportunity, record.context)
        if isinstance(decision, Rejected):
            return decision.reason
        if record.read is None:
            return NOTHING
        rows = record.read.rows(opportunity, self._version(record.read.settings_version))
        return reservations.reserved(rows, replace(decision, valid_until=record.valid_until))[1].rejection or NOTHING

    def _opportunity(self, identity: str, context: RecordedContext) -> Opportunity:
        found = self.opportunities.get((context.offset, identity))
        if found is None:
            raise NotReproducedError("opportunity", f"{identity} at row {context.offset:,}", NOTHING)
        return found

    def _settings(self, version: int) -> Settings:
        if version not in self.settings:
            raise NotReproducedError("settings_version", version, f"{NOTHING} in the store")
        return self.settings[version]

    def _version(self, version: int | None) -> Settings | None:
        return None if version is None else self._settings(version)

    def _advance(self) -> Advance:
        return advancing(tuple(market for market in self.markets if not market.is_fx))


def _stated(rejection: Rejection) -> dict[str, object]:
    return {
        "reason": rejection.reason,
        "exchange": rejection.exchange,
        "base": rejection.base,
        "buy_exchange": rejection.buy_exchange,
        "sell_exchange": rejection.sell_exchange,
        "net_bps": rejection.net_bps,
        "expected_profit": rejection.expected_profit,
    }


def _derived(opportunity: Opportunity, reason: str) -> dict[str, object]:
    return {
        "reason": reason,
        "exchange": opportunity.buy.exchange,
        "base": opportunity.base,
        "buy_exchange": opportunity.buy.exchange,
        "sell_exchange": opportunity.sell.exchange,
        "net_bps": opportunity.net_bps,
        "expected_profit": decimal_of_double(opportunity.expected_profit),
    }


def _role(request: StepRequest) -> LegRole:
    if request.role is None:
        raise NotReproducedError("role", NOTHING, "a leg's")
    return request.role


def _named(request: StepRequest) -> str:
    roles = [result.role for result in request.results] if request.role is None else [request.role]
    return " ".join((request.kind, ", ".join(roles))).rstrip()


def _there(is_there: bool) -> str:
    return "there" if is_there else NOTHING
