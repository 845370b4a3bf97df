"""What a code of an exchange stood for at a time, and how many coins one of it counts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NEVER = 2**63 - 1
_POWER = re.compile(r"(?:(1M|10{3,})([A-Z][A-Z0-9]*)|([A-Z]+)(10{3,}))")


@dataclass(frozen=True, slots=True)
class DatedCode:
    """`since` and before `until`, in microseconds UTC, `code` stood for `factor` of `asset`."""

    code: str
    asset: str
    since: int = 0
    until: int = _NEVER
    factor: int = 1

    @property
    def is_dated(self) -> bool:
        """Whether it stood for that at some time alone."""
        return (self.since, self.until) != (0, _NEVER)


def power_of_ten(code: str) -> tuple[str, int] | None:
    """(SHIB, 1000) of 1000SHIB and SHIB1000, (BABYDOGE, 1000000) of 1MBABYDOGE, as exchanges write codes of many coins.

    None for other codes. A coin may have such a name, too: it counts if the exchange's list or a user says so.
    """
    found = _POWER.fullmatch(code)
    if found is None:
        return None
    before, coin, other_coin, behind = found.groups()
    return coin or other_coin, 1_000_000 if before == "1M" else int(before or behind)


def alike(*codes: str) -> dict[str, str]:
    """Return codes that are the assets of that name."""
    return {code: code for code in codes}


def counting_codes(codes: str) -> Iterator[DatedCode]:
    """Yield codes that are priced by the thousand and more, from their names."""
    for code in codes.split():
        coin, factor = power_of_ten(code) or (code, 1)
        yield DatedCode(code, coin, factor=factor)
