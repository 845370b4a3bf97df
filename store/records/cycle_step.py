"""The record of a step of a cycle's trade: what it was asked for and what it was decided on, as `decision_record` of a
pair's. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from market.decide.cycle_checks import cycle_notional_keys
from market.decide.settings import Settings
from market.instruments.cycles import Cycle
from market.trade.cycle_reservations import CycleRequest, CycleRows, liquidity_keys
from market.trade.cycle_trades import CycleTrade
from market.trade.decision_record import read_record
from market.trade.inflight_orders import inflight_keys_at
from market.trade.order_results import OrderResult
from market.trade.reservation_state import RowsRead, leases_of, reported_fill_keys


@dataclass(frozen=True, slots=True)
class CycleStepRequest:
    """What a step was asked for: to reserve `request`, to book `results` and what follows, or to resume."""

    kind: Literal["reserve", "book", "resume"]
    results: tuple[OrderResult, ...] = ()
    request: CycleRequest | None = None


@dataclass(frozen=True, slots=True)
class CycleStep:
    """One transaction that changed a trade."""

    request: CycleStepRequest
    read: RowsRead


@cache
def _steps() -> TypeAdapter[CycleStep]:
    """Return what reads and writes steps: made on use, because most sessions and backtests trade no cycle."""
    return TypeAdapter(CycleStep)


def cycle_step_text(request: CycleStepRequest, before: CycleRows, cycle: Cycle) -> str:
    """Return the record of the step that `request` led to from these rows."""
    return _steps().dump_json(CycleStep(request, _rows_read(before, cycle, request)), exclude_defaults=True).decode()


def cycle_step_of(text: str) -> CycleStep:
    """Raise NoRecordError."""
    return read_record(_steps(), text)


def cycle_rows_of(read: RowsRead, settings: Settings, trade: CycleTrade | None) -> CycleRows:
    """Return the rows as they were when the step was taken; `settings` are those of the version that was read."""
    return CycleRows(
        now=read.now,
        settings=settings,
        balances={(row.exchange, row.currency): row for row in read.balances},
        trade=trade,
        on_cycle=read.pair,
        reservations_open=read.reservations_open,
        open_arbitrages=read.open_arbitrages,
        notional=read.notional,
        day_net=read.day_net,
        paused_until=read.paused_until,
        unexplained=read.unexplained,
        liquidity=read.liquidity,
        by=read.by,
        is_of_earlier=read.is_of_earlier,
        leases=read.leases,
        in_flight=read.in_flight,
        known_fills=frozenset(read.known_fills),
    )


def places_of(cycle: Cycle) -> tuple[tuple[str, str], ...]:
    """Return (exchange, currency) of each balance that its orders may move, fees in other currencies apart."""
    markets = (leg.market for leg in cycle.legs)
    return tuple(
        dict.fromkeys((one.exchange, currency) for one in markets for currency in (one.base, one.quote_currency))
    )


def cycle_inflight_keys(cycle: Cycle) -> tuple[str, ...]:
    """Return the keys of all orders that it may come to have, unwinding ones included."""
    return inflight_keys_at((leg.market.exchange, leg.market.symbol) for leg in cycle.legs)


def _rows_read(rows: CycleRows, cycle: Cycle, request: CycleStepRequest) -> RowsRead:
    used = () if request.request is None else liquidity_keys(request.request)
    exchanges = cycle.exchanges
    return RowsRead(
        now=rows.now,
        by=rows.by,
        settings_version=rows.settings.version,
        has_arbitrage=rows.trade is not None,
        is_of_earlier=rows.is_of_earlier,
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional={key: rows.notional[key] for key in cycle_notional_keys(cycle) if key in rows.notional},
        day_net=rows.day_net,
        paused_until={name: until for name, until in rows.paused_until.items() if name in exchanges},
        unexplained=tuple(name for name in rows.unexplained if name in exchanges),
        pair=rows.on_cycle,
        balances=tuple(rows.balances[place] for place in places_of(cycle) if place in rows.balances),
        liquidity={key: rows.liquidity[key] for key in used if key in rows.liquidity},
        in_flight={key: rows.in_flight[key] for key in cycle_inflight_keys(cycle) if key in rows.in_flight},
        known_fills=_known(rows, request.results),
        leases=leases_of(rows.leases, exchanges),
    )


def _known(rows: CycleRows, results: Iterable[OrderResult]) -> tuple[str, ...]:
    return tuple(key for key in reported_fill_keys(results) if key in rows.known_fills)
