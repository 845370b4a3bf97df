"""What codes of exchanges stood for at other times, and how many coins one of them counts: one dated table, beside the
facts of the exchanges of the catalogue.

Codes are those of our symbols, which are ccxt's. What a code stands for today is in `exchanges.listed_codes`; here
is what it does not say: an earlier meaning, and a code that is priced by the thousand. Facts alone, by exchange.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from exchanges.catalogue import facts_of
from exchanges.ports.codes import DatedCode, counting_codes
from market.time_units import MICROSECONDS

_EVERY = "*"


def _at(year: int, month: int, day: int, hour: int) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp()) * MICROSECONDS


_TABLE: Mapping[str, tuple[DatedCode, ...]] = {
    # The new chain began at 06:00 UTC of 28 May 2022 (Terra's announcement of phoenix-1): before that there was one
    # LUNA and one UST, which are LUNC and USTC since.
    _EVERY: (
        DatedCode("LUNA", "LUNC", until=_at(2022, 5, 28, 6)),
        DatedCode("UST", "USTC", until=_at(2022, 5, 28, 6)),
    ),
    # "Underlying asset" of its announcements of each contract.
    "binanceusdm": tuple(
        counting_codes(
            "1000SHIB 1000XEC 1000LUNC 1000PEPE 1000FLOKI 1000BONK 1000SATS 1000RATS 1000CAT 1000CHEEMS 1000WHY "
            "1MBABYDOGE 1000000MOG 1000000BOB"
        )
    ),
}

SUCCESSORS: Mapping[str, str] = {"MATIC": "POL", "RNDR": "RENDER", "KLAY": "KAIA", "EOS": "A", "FTM": "S"}
"""Coins that were exchanged one for one for another one: two assets, which a user may count as one."""


def dated_codes(exchange: str, code: str) -> tuple[DatedCode, ...]:
    """Return what it stood for while that was another asset than today."""
    return tuple(row for row in _rows(exchange, code) if row.is_dated)


def counted_coins(exchange: str, code: str) -> tuple[str, int]:
    """(asset, how many of it one is): (SHIB, 1000) of Binance's 1000SHIB, and (code, 1) of most."""
    return next(((row.asset, row.factor) for row in _rows(exchange, code) if row.factor != 1), (code, 1))


def _rows(exchange: str, code: str) -> Iterable[DatedCode]:
    facts = facts_of(exchange)
    listed = _TABLE.get(exchange, ()) if facts is None else facts.dated_codes
    own = [row for row in listed if row.code == code]
    return own or [row for row in _TABLE[_EVERY] if row.code == code]
