"""The first place where two values differ, by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The place where the recorded and the derived value differ."""

    where: str
    """Which opportunity, rejection or arbitrage."""
    field: str
    recorded: object
    derived: object

    def __str__(self) -> str:
        return f"{self.where}: {self.field} recorded {self.recorded!s}, derived {self.derived!s}"


NOTHING = "nothing"
"""In place of the value on the side that has none."""


def first_unlike(recorded: object, derived: object, path: str = "") -> tuple[str, object, object] | None:
    """Return (path, recorded, derived) of the first part that differs; None if all is equal. Doubles must be equal to
    the last bit, decimals in value."""
    if is_dataclass(recorded) and type(recorded) is type(derived):
        names = [field.name for field in fields(recorded)]
        pairs = [(name, getattr(recorded, name), getattr(derived, name)) for name in names]
        return _first_of(pairs, path)
    if isinstance(recorded, Mapping) and isinstance(derived, Mapping):
        keys = [*recorded, *(key for key in derived if key not in recorded)]
        return _first_of([(key, recorded.get(key, NOTHING), derived.get(key, NOTHING)) for key in keys], path)
    if isinstance(recorded, (list, tuple)) and isinstance(derived, (list, tuple)):
        return _first_in_rows(recorded, derived, path)
    return None if recorded == derived else (path, recorded, derived)


def _first_of(parts: Sequence[tuple[object, object, object]], path: str) -> tuple[str, object, object] | None:
    for name, recorded, derived in parts:
        found = first_unlike(recorded, derived, f"{path}.{name}" if path else str(name))
        if found is not None:
            return found
    return None


def _first_in_rows(
    recorded: Sequence[object], derived: Sequence[object], path: str
) -> tuple[str, object, object] | None:
    for number in range(max(len(recorded), len(derived))):
        sides = [row[number] if number < len(row) else NOTHING for row in (recorded, derived)]
        found = first_unlike(sides[0], sides[1], f"{path}[{number}]")
        if found is not None:
            return found
    return None
