"""Splits an exchange's name of a pair into base and quote.

A name that may be read in two ways is refused, because a wrong reading is another market. Pure.
"""

import re
from collections.abc import Iterable

from exchanges.common_codes import common_code
from exchanges.listed_codes import listed_codes
from exchanges.symbol_spelling import QUOTED_BEFORE, STABLE_COINS, USUAL_QUOTES, WELL_KNOWN, spelling_of
from market.instruments.assets import is_currency

_SEPARATORS = re.compile(r"[-_/:]")
_OF_A_CONTRACT = re.compile(
    r"PERP|PERPETUAL|SWAP|FUTURES?|[0-9]{6}|[0-9]{1,2}[A-Z]{3}[0-9]{2}|[FGHJKMNQUVXZ][0-9]{1,2}"
)
"""What stands in a contract's name beside its pair: its kind, or its day of delivery."""


_ISO_LETTERS = 3
"""Letters of a currency's code in ISO 4217."""
_DOLLARS = 1
"""Rank of the coins that count as dollars: exchanges that write the quote first quote in these and all before."""


class UnclearPairError(Exception):
    """Why a name is no pair, in words that continue a sentence after the name."""


def pair_of(exchange: str, name: str) -> tuple[str, str]:
    """Return (base, quote) in the exchange's own codes, from a name in capitals. Raises UnclearPairError."""
    words = [word for word in _SEPARATORS.split(name) if word]
    if any(_OF_A_CONTRACT.fullmatch(word) for word in words[1:]):
        raise UnclearPairError("is a contract; say what it is on and settled in, as in --symbol BTC/USDT:USDT")
    if len(words) == 2:
        return _in_order(exchange, words[0], words[1])
    if len(words) == 1:
        return _split(exchange, words[0])
    raise UnclearPairError("is no name of a pair; set it, for example --symbol BTC/USD")


def _in_order(exchange: str, one: str, other: str) -> tuple[str, str]:
    first = spelling_of(exchange).first
    if first == "quote":
        return other, one
    if first == "either":
        ranks = [_rank(one), _rank(other)]
        if ranks[0] == ranks[1]:
            raise UnclearPairError(_may_be((one, other), (other, one)))
        return (other, one) if ranks[0] < ranks[1] else (one, other)
    if _rank(one) <= _DOLLARS and not _is_money(other) and _is_known(exchange, other):
        raise UnclearPairError(_may_be((one, other), (other, one)))
    return one, other


def _rank(code: str) -> int:
    """Return its rank among quote currencies; last if it is none."""
    return next((place for place, codes in enumerate(QUOTED_BEFORE) if code in codes), len(QUOTED_BEFORE))


def _split(exchange: str, name: str) -> tuple[str, str]:
    """Split a name without a separator."""
    quotes = spelling_of(exchange).quotes
    usual = _readings(name, USUAL_QUOTES)
    # any currency may end a name that nothing usual ends: EURCHF
    currency = [last for last in (name[-_ISO_LETTERS:],) if is_currency(last)]
    readings = _readings(name, quotes) or usual or _readings(name, currency)
    known = [reading for reading in readings if _is_known(exchange, reading[0])]
    if quotes and len(known) > 1:
        # PAXG/USD and not PAX/GUSD: a coin that stands for a currency is rarely priced in another one
        known = [reading for reading in known if reading[0] not in STABLE_COINS] or known
    # what an exchange may quote in is a guess if nobody has listed it: then only the plainest reading is taken
    if len(known) == 1 and (quotes or known[0] == readings[0]):
        return known[0]
    # DOTUSD of an exchange that quotes in TUSD is rather DOT/USD of another one than a coin DO
    others = [reading for reading in usual if reading not in readings and _is_known(exchange, reading[0])]
    possible = [*readings, *others]
    if len(possible) == 1 and readings:
        return readings[0]
    if not readings:
        raise UnclearPairError("ends in no currency that it may be priced in; set it, for example --symbol BTC/USD")
    raise UnclearPairError(_may_be(*possible))


def _readings(name: str, quotes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the possible readings, the plainest first: that with the shortest quote."""
    ending = [quote for quote in quotes if name.endswith(quote) and name != quote]
    return [(name.removesuffix(quote), quote) for quote in sorted(ending, key=len)]


def _is_known(exchange: str, code: str) -> bool:
    # a code that has another common name is one that the exchange lists: Kraken's XXMR
    is_listed = listed_codes().asset_of(exchange, code) is not None or common_code(exchange, code) != code
    return is_listed or bool(listed_codes().meanings(code)) or code in WELL_KNOWN | STABLE_COINS


def _is_money(code: str) -> bool:
    return is_currency(code) or code in STABLE_COINS


def _may_be(*readings: tuple[str, str]) -> str:
    pairs = [f"{base}/{quote}" for base, quote in readings]
    return f"may be {' or '.join(pairs)}; set it, for example --symbol {pairs[0]}"
