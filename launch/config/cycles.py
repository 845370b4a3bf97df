"""`[cycles]`: which cycles of three to five markets are looked for."""

from collections.abc import Collection

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from launch.errors import CannotStartError
from market.instruments.cycles import FEWEST_LEGS, MOST_LEGS, CycleTerms

Names = bool | tuple[str, ...]
"""Exchanges by name; True: all of them, False: none."""
FEWEST_ACROSS = 2


class CyclesConfiguration(BaseModel):
    """Without the table nothing but two exchanges is compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_legs: int = Field(default=FEWEST_LEGS, ge=FEWEST_LEGS, le=MOST_LEGS, strict=True)
    within: Names = False
    """Exchanges within each of which cycles are looked for."""
    across: Names = False
    """Exchanges over several of which a cycle may go."""

    @field_validator("within", "across", mode="before")
    @classmethod
    def _are_names(cls, names: object) -> object:
        """Return names as they are; `true` written as text or as a number is none."""
        if isinstance(names, bool):
            return names
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
            raise ValueError('must be true, false or a list of exchanges, such as ["kraken", "bitstamp"]')
        if not names:
            raise ValueError("must name an exchange; write false for none")
        return tuple(dict.fromkeys(names))

    @field_validator("across")
    @classmethod
    def _are_several(cls, names: Names) -> Names:
        if not isinstance(names, bool) and len(names) < FEWEST_ACROSS:
            raise ValueError("must name two exchanges or more")
        return names

    @model_validator(mode="after")
    def _looks_for_some(self) -> "CyclesConfiguration":
        if not {"within", "across"} & self.model_fields_set:
            raise ValueError("finds nothing yet; set within, across or both to true, or to lists of exchanges")
        return self


def cycle_terms(cycles: CyclesConfiguration | None, exchanges: Collection[str]) -> CycleTerms | None:
    """Return the terms among these exchanges; None if there is no such table, or both keys are false."""
    if cycles is None or not (cycles.within or cycles.across):
        return None
    return CycleTerms(cycles.max_legs, _among(cycles.within, exchanges), _among(cycles.across, exchanges))


def check_known(cycles: CyclesConfiguration, exchanges: Collection[str], file: str) -> None:
    """Raise CannotStartError for a name that is no exchange of the session, in one sentence."""
    for key, names in (("within", cycles.within), ("across", cycles.across)):
        for name in () if isinstance(names, bool) else names:
            if name not in exchanges:
                known = ", ".join(exchanges)
                raise CannotStartError(
                    f"{file}: [cycles] {key}: there is no exchange {name!r} here; known are {known}."
                )


def _among(names: Names, exchanges: Collection[str]) -> frozenset[str]:
    if isinstance(names, bool):
        return frozenset(exchanges if names else ())
    return frozenset(names) & frozenset(exchanges)
