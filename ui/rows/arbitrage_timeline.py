"""The timeline of one arbitrage: every step from the exchange's quote to the end, and every decision."""

from collections.abc import Iterator

from typing_extensions import TypedDict

from market.trade.arbitrages import Arbitrage, Leg
from ui.rows.arbitrage import ArbitrageRow, arbitrage_row
from ui.rows.attribute import row_from

LEG_STEPS = ("reserved", "granted", "sent")


class StepRow(TypedDict):
    """`clock` says whose time `at` is: the exchange's own, ours (feeders, CEP), or that of the store's server.

    `role` and `exchange` are None for a step of the whole arbitrage. Exchanges' clocks may be ahead or behind.
    """

    step: str
    at: int
    clock: str
    role: str | None
    exchange: str | None


class TransitionRow(TypedDict):
    """One decision, by the server's clock; `token` is the fencing token of its author."""

    what: str
    at: int
    actor: str
    token: int
    reason: str | None


class ArbitrageDetailRow(ArbitrageRow):
    """`timeline`: quoted, received, detected, reserved, granted, sent, filled, done, ended, in this order."""

    timeline: list[StepRow]
    history: list[TransitionRow]


def arbitrage_detail_row(arbitrage: Arbitrage) -> ArbitrageDetailRow:
    return ArbitrageDetailRow(
        **arbitrage_row(arbitrage),
        timeline=list(timeline(arbitrage)),
        history=[row_from(TransitionRow, transition) for transition in arbitrage.history],
    )


def timeline(arbitrage: Arbitrage) -> Iterator[StepRow]:
    """Yield the steps that happened and whose time is known: both first legs side by side, then each leg that unwound
    them."""
    yield from _seen(arbitrage)
    first = [leg for leg in arbitrage.legs if leg.role == leg.side]
    yield from _executed(first)
    for leg in arbitrage.legs:
        if leg not in first:
            yield from _executed([leg])
    ended = arbitrage.times.get("ended")
    if ended is not None:
        yield StepRow(step="ended", at=ended, clock="server", role=None, exchange=None)


def _seen(arbitrage: Arbitrage) -> Iterator[StepRow]:
    opportunity = arbitrage.opportunity
    sides = (("buy", opportunity.buy), ("sell", opportunity.sell))
    for role, quoted in sides:
        if quoted.exchange_time is not None:
            yield StepRow(step="quoted", at=quoted.exchange_time, clock="exchange", role=role, exchange=quoted.exchange)
    for role, quoted in sides:
        if quoted.received_time is not None:
            yield StepRow(step="received", at=quoted.received_time, clock="local", role=role, exchange=quoted.exchange)
    yield StepRow(step="detected", at=opportunity.detected_time, clock="local", role=None, exchange=None)


def _executed(legs: list[Leg]) -> Iterator[StepRow]:
    for step in LEG_STEPS:
        for leg in legs:
            yield from _step(leg, step)
    for leg in legs:
        for fill in leg.fills:
            yield StepRow(step="filled", at=fill.filled_at, clock="exchange", role=leg.role, exchange=leg.exchange)
    for leg in legs:
        yield from _step(leg, "done")


def _step(leg: Leg, step: str) -> Iterator[StepRow]:
    at = leg.times.get(step)
    if at is not None:
        yield StepRow(step=step, at=at, clock="server", role=leg.role, exchange=leg.exchange)
