"""The record of decisions: request and inputs of each step of an arbitrage and of each rejection. Pure.

Stored as text, since only verification reads it.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from market.decide.decision_context import DecisionContext, RecordedContext
from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import LegRole
from market.trade.order_results import OrderResult
from market.trade.reservation_state import ReservationState, RowsRead, rows_read, rows_read_to_reserve
from market.trade.reservations import Reservation
from market.validation_messages import sentence_of

Record = TypeVar("Record")
StepKind = Literal["reserve", "grant", "book", "resume"]


class NoRecordError(ValueError):
    """Text that is no record of a decision as this version writes it."""


@dataclass(frozen=True, slots=True)
class StepRequest:
    """What a step was asked for, with what became of orders if that led to it."""

    kind: StepKind
    role: LegRole | None = None
    results: tuple[OrderResult, ...] = ()
    context: RecordedContext | None = None
    """The context of the bot that reserves."""
    valid_until: int | None = None
    reservation: Reservation | None = None
    """Where there is no context that it follows from: an order of a strategy on one exchange."""


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """One transaction that changed an arbitrage."""

    request: StepRequest
    read: RowsRead

    def context(self, opportunity: Opportunity, settings: Settings) -> DecisionContext:
        """Return what it was decided on; of an order of a strategy on one exchange only what the settings say."""
        return _with_loss(self.request.context, opportunity, settings, self.read)


@dataclass(frozen=True, slots=True)
class RejectionRecord:
    """What a rejection was decided on; `read` if the store rejected."""

    context: RecordedContext
    read: RowsRead | None = None
    valid_until: int | None = None

    def known(self, opportunity: Opportunity, settings: Settings) -> DecisionContext:
        """Return what it was decided on."""
        return _with_loss(self.context, opportunity, settings, self.read)


@cache
def _steps() -> TypeAdapter[DecisionStep]:
    """Return what reads and writes steps: made on use, because a backtest, which keeps none, needs none."""
    return TypeAdapter(DecisionStep)


@cache
def _rejections() -> TypeAdapter[RejectionRecord]:
    return TypeAdapter(RejectionRecord)


def reserve_request(reservation: Reservation) -> StepRequest:
    """With the context that the reservation follows from, or else itself."""
    if reservation.context is None:
        return StepRequest("reserve", reservation=reservation)
    return StepRequest("reserve", context=reservation.context, valid_until=reservation.valid_until)


def step_by(request: StepRequest, before: ReservationState) -> DecisionStep:
    """Return the step that `request` led to from these rows."""
    read = rows_read_to_reserve(before) if request.kind == "reserve" else rows_read(before, request.results)
    return DecisionStep(request, read)


def step_text(step: DecisionStep) -> str:
    return _steps().dump_json(step, exclude_defaults=True).decode()


def step_of(text: str) -> DecisionStep:
    """Raise NoRecordError."""
    return read_record(_steps(), text)


def rejection_text(record: RejectionRecord) -> str:
    return _rejections().dump_json(record, exclude_defaults=True).decode()


def rejection_record_of(text: str) -> RejectionRecord:
    """Raise NoRecordError."""
    return read_record(_rejections(), text)


def _with_loss(
    recorded: RecordedContext | None, opportunity: Opportunity, settings: Settings, read: RowsRead | None
) -> DecisionContext:
    """Return the context with what the day lost, which the store alone knows."""
    context = DecisionContext(opportunity, settings) if recorded is None else recorded.context(opportunity, settings)
    if context.risk is None or read is None:
        return context
    return replace(context, risk=replace(context.risk, day_net=read.day_net))


def read_record(kind: TypeAdapter[Record], text: str) -> Record:
    """Raise NoRecordError."""
    try:
        return kind.validate_json(text)
    except ValidationError as error:
        fault = sentence_of(error.errors()[:1], "the text")
        raise NoRecordError(f"no record of a decision as this version writes it ({fault})") from error
