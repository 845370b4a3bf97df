"""The record of decisions: cause and inputs of each step of an arbitrage and of each rejection. Pure.

Stored as text, since only verification reads it.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from market.instruments.orders import OrderReport
from market.trade.arbitrages import LegRole
from market.trade.decision_context import RowsRead, Sight, rows_read, rows_read_to_reserve
from market.trade.leg_planning import EndAsResidual
from market.trade.reservation_state import ReservationState
from market.trade.reservations import Reservation
from market.validation_messages import sentence_of

StepKind = Literal["reserve", "expire", "send", "acknowledge", "finish", "resume"]


class NoRecordError(ValueError):
    """Text that is no record of a decision as this version writes it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What a step was asked for, with the exchange's answer where one led to it."""

    what: StepKind
    role: LegRole | None = None
    exchange_order_id: str | None = None
    report: OrderReport | None = None
    held_as: str | None = None
    """The reason if the order's outcome is unknown (`market.trade.leg_planning.EndAsResidual`)."""
    sight: Sight | None = None
    """Of the bot whose leg is reserved."""
    valid_until: int | None = None
    wish: Reservation | None = None
    """Where there is no sight that it follows from: an order of a strategy on one exchange."""


@dataclass(frozen=True, slots=True)
class DecisionStep:
    """One transaction that changed an arbitrage."""

    cause: Cause
    read: RowsRead


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a rejection was decided on; `read` where the store rejected."""

    sight: Sight
    read: RowsRead | None = None
    valid_until: int | None = None


_STEP = TypeAdapter(DecisionStep)
_GROUNDS = TypeAdapter(Grounds)


def reserving(wish: Reservation) -> Cause:
    """The cause of a reservation: the inputs it follows from, or else the request itself."""
    if wish.sight is None:
        return Cause("reserve", role=wish.leg.role, wish=wish)
    return Cause("reserve", role=wish.leg.role, sight=wish.sight, valid_until=wish.valid_until)


def finishing(role: LegRole, report: OrderReport | None, advance: object) -> Cause:
    """The cause of a leg's end; every `advance` but one is that of the session's markets."""
    return Cause("finish", role, report=report, held_as=advance.reason if isinstance(advance, EndAsResidual) else None)


def step_by(cause: Cause, before: ReservationState) -> DecisionStep:
    """The step that `cause` led to from these rows."""
    read = rows_read_to_reserve(before) if cause.what == "reserve" else rows_read(before, cause.report)
    return DecisionStep(cause, read)


def step_text(step: DecisionStep) -> str:
    return _STEP.dump_json(step, exclude_defaults=True).decode()


def step_of(text: str) -> DecisionStep:
    """Raises NoRecordError."""
    try:
        return _STEP.validate_json(text)
    except ValidationError as error:
        raise NoRecordError(_fault(error)) from error


def grounds_text(grounds: Grounds) -> str:
    return _GROUNDS.dump_json(grounds, exclude_defaults=True).decode()


def grounds_of(text: str) -> Grounds:
    """Raises NoRecordError."""
    try:
        return _GROUNDS.validate_json(text)
    except ValidationError as error:
        raise NoRecordError(_fault(error)) from error


def _fault(error: ValidationError) -> str:
    return sentence_of(error.errors()[:1], "the text")
