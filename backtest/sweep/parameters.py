"""What a sweep may vary, and a backtest's parameters with a set's values in them.


Every numeric setting by its own name; `fee_bps` and `latency_ms` of all exchanges, or of one as `fee_bps.kraken`;
`decision_ms`, `failed_share` and `seed` of the backtest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from backtest.parameters import Latency, Parameters
from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.parameter_grids import Grid, GridAxis, Point, Range
from market.decide.settings import Settings
from market.money import BPS, BoundedDecimal, text_of
from market.validation_messages import fault_text

Milliseconds = Annotated[float, Field(ge=0, le=60_000, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
FeeBps = Annotated[BoundedDecimal, Field(ge=0, le=1_000)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

Set = Callable[[Parameters, Decimal], Parameters]

NOT_VARIED = ("version",)
"""Numbers of the settings document that say nothing about trading."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One thing that can be varied: `adapter` knows its bounds, `put` its place."""

    name: str
    adapter: TypeAdapter[Any]
    put: Set
    is_integer: bool

    def checked(self, value: Decimal) -> Decimal:
        """Return the value. Raises SweepRejectedError outside the setting's own bounds."""
        try:
            self.adapter.validate_python(text_of(value))
        except ValidationError as error:
            raise SweepRejectedError(f"{self.name}={text_of(value)}: {fault_text(error.errors()[0])}") from None
        return value


def variables_of(parameters: Parameters) -> dict[str, Variable]:
    """Return the variables by name; those of single exchanges for the exchanges that `parameters` have a fee for."""
    found = [_setting(name) for name in Settings.model_fields if _is_number(name)]
    found += [
        Variable("decision_ms", TypeAdapter(Milliseconds), _put_decision, False),
        Variable("failed_share", TypeAdapter(Share), _put_failed_share, False),
        Variable("seed", TypeAdapter(Seed), _put_seed, True),
    ]
    # those of all exchanges first: one of a single exchange has the last word
    for exchange in (None, *parameters.settings.taker_fees):
        end = "" if exchange is None else f".{exchange}"
        found.append(Variable(f"fee_bps{end}", TypeAdapter(FeeBps), _fee_of(exchange), False))
        found.append(Variable(f"latency_ms{end}", TypeAdapter(Milliseconds), _latency_of(exchange), False))
    return {variable.name: variable for variable in found}


def checked_against(grid: Grid, parameters: Parameters) -> Grid:
    """Return the grid with its ranges of whole numbers marked. Raises SweepRejectedError: unknown name, value out of
    bounds."""
    known = variables_of(parameters)
    for name in grid.names:
        if name not in known:
            general = ", ".join(other for other in known if "." not in other)
            exchanges = ", ".join(parameters.settings.taker_fees)
            raise SweepRejectedError(
                f"{name!r} is not a sweep parameter; known are {general}, "
                f"and fee and latency of a single exchange ({exchanges}), as in latency_ms.NAME"
            )
    axes = tuple(_checked_axis(axis, known[axis.name]) for axis in grid.axes)
    ranges = tuple(_checked_range(part, known[part.name]) for part in grid.ranges)
    return replace(grid, axes=axes, ranges=ranges)


def with_values(parameters: Parameters, point: Point, known: Mapping[str, Variable]) -> Parameters | None:
    """Return `parameters` with a set's values; None if the settings contradict each other, as a threshold below
    another."""
    values = dict(point)
    for name, variable in known.items():
        if name in values:
            parameters = variable.put(parameters, values[name])
    try:
        settings = Settings.model_validate(parameters.settings.model_dump())
    except ValidationError:
        return None
    return replace(parameters, settings=settings)


def _checked_axis(axis: GridAxis, variable: Variable) -> GridAxis:
    return replace(axis, values=tuple(variable.checked(value) for value in axis.values))


def _checked_range(part: Range, variable: Variable) -> Range:
    variable.checked(part.low)
    variable.checked(part.high)
    return replace(part, is_integer=variable.is_integer)


def _is_number(name: str) -> bool:
    field = Settings.model_fields[name]
    return name not in NOT_VARIED and field.annotation in (int, float, Decimal)


def _setting(name: str) -> Variable:
    field = Settings.model_fields[name]
    # with the bounds that stand in the document's own definition
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type] # made here
    is_integer = field.annotation is int

    def put(parameters: Parameters, value: Decimal) -> Parameters:
        given = adapter.validate_python(text_of(value))
        # not validated yet: two settings that bound each other are both put first
        return replace(parameters, settings=parameters.settings.model_copy(update={name: given}))

    return Variable(name, adapter, put, is_integer)


def _fee_of(exchange: str | None) -> Set:
    def put(parameters: Parameters, value: Decimal) -> Parameters:
        fees = parameters.settings.taker_fees
        named = fees if exchange is None else (exchange,)
        changed = {**fees, **dict.fromkeys(named, value / BPS)}
        return replace(parameters, settings=parameters.settings.model_copy(update={"taker_fees": changed}))

    return put


def _latency_of(exchange: str | None) -> Set:
    def put(parameters: Parameters, value: Decimal) -> Parameters:
        named = parameters.settings.taker_fees if exchange is None else (exchange,)
        given = dict.fromkeys(named, Latency(constant_ms=float(value)))
        return replace(parameters, latency={**parameters.latency, **given})

    return put


def _put_decision(parameters: Parameters, value: Decimal) -> Parameters:
    return replace(parameters, decision_ms=float(value))


def _put_failed_share(parameters: Parameters, value: Decimal) -> Parameters:
    return replace(parameters, failed_share=float(value))


def _put_seed(parameters: Parameters, value: Decimal) -> Parameters:
    return replace(parameters, seed=int(value))
