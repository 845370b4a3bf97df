"""What the page may ask of sweeps: the body of a request, checked."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from market.money import BoundedDecimal, text_of

MOST_VALUES = 12
"""Of each of two parameters: what can be seen at a glance, in some minutes of one core."""
ParameterName = Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9_.-]{0,79}$")]


class SweepAxis(BaseModel):
    """A parameter by the name that `arbitrage sweep` has for it, and the values to try."""

    model_config = ConfigDict(extra="forbid")

    name: ParameterName
    values: list[BoundedDecimal] = Field(min_length=1, max_length=MOST_VALUES)

    @property
    def texts(self) -> list[str]:
        return [text_of(value) for value in self.values]

    @model_validator(mode="after")
    def _has_each_once(self) -> "SweepAxis":
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"{self.name} has a value twice")
        return self


class SweepAsk(BaseModel):
    """A sweep of every combination of the values of one or two parameters over the tick set."""

    model_config = ConfigDict(extra="forbid")

    tick_set: str = Field(min_length=1, max_length=200)
    axes: list[SweepAxis] = Field(min_length=1, max_length=2)

    @model_validator(mode="after")
    def _varies_two(self) -> "SweepAsk":
        if len({axis.name for axis in self.axes}) < len(self.axes):
            raise ValueError("name two parameters that differ")
        return self
