"""What codes of exchanges stood for at other times, and how many coins one of them counts: one dated table.

Codes are those of our symbols, which are ccxt's. What a code stands for today is in `market.instruments.assets`; here
is what it does not say: an earlier meaning, and a code that is priced by the thousand. Facts alone, by exchange.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from market.time_units import MICROSECONDS

_EVERY = "*"
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


def power_of_ten(code: str) -> tuple[str, int] | None:
    """(SHIB, 1000) of 1000SHIB and SHIB1000, (BABYDOGE, 1000000) of 1MBABYDOGE, as exchanges write codes of many coins.

    None for other codes. A coin may have such a name, too: it counts if the exchange's list or a user says so.
    """
    found = _POWER.fullmatch(code)
    if found is None:
        return None
    before, coin, other_coin, behind = found.groups()
    return coin or other_coin, 1_000_000 if before == "1M" else int(before or behind)


def _at(year: int, month: int, day: int, hour: int) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp()) * MICROSECONDS


def _counting(codes: str) -> Iterator[DatedCode]:
    for code in codes.split():
        coin, factor = power_of_ten(code) or (code, 1)
        yield DatedCode(code, coin, factor=factor)


_TABLE: Mapping[str, tuple[DatedCode, ...]] = {
    # The new chain began at 06:00 UTC of 28 May 2022 (Terra's announcement of phoenix-1): before that there was one
    # LUNA and one UST, which are LUNC and USTC since.
    _EVERY: (
        DatedCode("LUNA", "LUNC", until=_at(2022, 5, 28, 6)),
        DatedCode("UST", "USTC", until=_at(2022, 5, 28, 6)),
    ),
    # Its announcements of 26 and 28 May 2022: the old LUNA was suspended on the 26th, the new one opened on the 31st.
    "binance": (
        DatedCode("LUNA", "LUNC", until=_at(2022, 5, 31, 6)),
        DatedCode("UST", "USTC", until=_at(2022, 5, 31, 6)),
        *_counting("1000SATS 1000CAT 1000CHEEMS 1MBABYDOGE"),
    ),
    # "Underlying asset" of its announcements of each contract.
    "binanceusdm": tuple(
        _counting(
            "1000SHIB 1000XEC 1000LUNC 1000PEPE 1000FLOKI 1000BONK 1000SATS 1000RATS 1000CAT 1000CHEEMS 1000WHY "
            "1MBABYDOGE 1000000MOG 1000000BOB"
        )
    ),
    "bybit": tuple(
        _counting(
            "SHIB1000 10000COQ 10000ELON 10000LADYS 10000QUBIC 10000SATS 10000WEN 10000WHY 1000APU 1000BONK 1000BTT "
            "1000CATS 1000CAT 1000FLOKI 1000LUNC 1000MUMU 1000NEIROCTO 1000PEPE 1000RATS 1000TURBO 1000XEC "
            "1000000BABYDOGE 1000000MOG"
        )
    ),
}

SUCCESSORS: Mapping[str, str] = {"MATIC": "POL", "RNDR": "RENDER", "KLAY": "KAIA", "EOS": "A", "FTM": "S"}
"""Coins that were exchanged one for one for another one: two assets, which a user may count as one."""


def dated_codes(exchange: str, code: str) -> tuple[DatedCode, ...]:
    """Return what it stood for while that was another asset than today."""
    return tuple(row for row in _rows(exchange, code) if (row.since, row.until) != (0, _NEVER))


def counted_coins(exchange: str, code: str) -> tuple[str, int]:
    """(asset, how many of it one is): (SHIB, 1000) of Binance's 1000SHIB, and (code, 1) of most."""
    return next(((row.asset, row.factor) for row in _rows(exchange, code) if row.factor != 1), (code, 1))


def _rows(exchange: str, code: str) -> Iterable[DatedCode]:
    own = [row for row in _TABLE.get(exchange, ()) if row.code == code]
    return own or [row for row in _TABLE[_EVERY] if row.code == code]
