"""Rate limits of each exchange, and the weights of requests. Sources are beside the numbers; read in autumn 2026.

All processes of this machine, the feeds included, share the limits of an address; an account's limits are the bot's
alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from exchanges.rate_counters import Limit, counter, window
from market.money import decimal_of
from session.exchange_entries import ExchangeEntry

Weights = Mapping[str, int]
"""Weight of a request, by limit."""

LIMITS: Mapping[str, Mapping[str, Limit]] = {
    # https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits: buckets, public by address, private by profile
    "coinbaseexchange": {"public": counter(15, "10"), "private": counter(30, "15"), "fills": counter(20, "10")},
    # https://www.bitstamp.net/api/, Request limits: 400 a second and 10,000 in ten minutes, of all requests
    "bitstamp": {"second": window(400, 1), "all": window(10_000, 600)},
    # https://lightning.bitflyer.com/docs, API Limits; small orders are those of 0.1 and less
    "bitflyer": {
        "address": window(500, 300),
        "private": window(500, 300),
        "orders": window(300, 300),
        "small orders": window(100, 60),
    },
    # https://docs.kraken.com/exchange/guides/rest/ratelimits and /general/ratelimits, tier Intermediate (Starter: 15,
    # 0.33 and 60, 1; Pro: 20, 1 and 180, 3.75). Its support allows one public call a second.
    "kraken": {"public": counter(15, "1"), "private": counter(20, "0.5"), "engine": counter(125, "2.34")},
    # https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits and its exchangeInfo
    "binance": {"weight": window(6_000, 60), "orders": window(100, 10)},
}

OF_THE_ADDRESS: Mapping[str, frozenset[str]] = {
    "coinbaseexchange": frozenset({"public"}),
    "bitstamp": frozenset({"second", "all"}),
    "bitflyer": frozenset({"address"}),
    "kraken": frozenset({"public"}),
    "binance": frozenset({"weight"}),
}
BOTS_SHARES: Mapping[str, Fraction] = {"kraken": Fraction(1, 5)}
BOTS_SHARE = Fraction(1, 2)
"""The bot's share of an address's limits; the feeds have the rest and respect it by `live_rest_pace` (`pricefeeds`)."""
WHOLE = Fraction(1)

POLLS_SHARE = Fraction(2, 5)
"""Share of polls in every limit that counts reads."""
POLLS_SHARES: Mapping[str, Fraction] = {"kraken": Fraction(3, 5)}
"""Exchanges that count orders separately and need more for comparisons: there four reads every 15 s."""

ORDERS: Mapping[str, Weights] = {
    "coinbaseexchange": {"private": 1},
    "bitstamp": {"second": 1, "all": 1},
    "bitflyer": {"address": 1, "private": 1, "orders": 1, "small orders": 1},
    "kraken": {"engine": 1},
    "binance": {"weight": 1, "orders": 1},
}
"""Weights of an order, of a small one if those weigh more."""

LEGS: Mapping[str, Weights] = {
    "coinbaseexchange": {"private": 3, "fills": 1},
    "bitstamp": {"second": 2, "all": 2},
    "bitflyer": {"address": 3, "private": 3, "orders": 1, "small orders": 1},
    "kraken": {"private": 2, "engine": 1},
    "binance": {"weight": 25, "orders": 1},
}
"""Weights of one leg: its order, and one read of its state and fills."""

OF_ORDERS = frozenset({"orders", "small orders", "engine"})
"""Limits that count orders only."""

_SMALL_ORDER = Decimal("0.1")
_ORDER_PATHS = ("sendchildorder", "sendparentorder", "cancelallchildorders")
# https://docs.kraken.com/exchange/guides/general/ratelimits: what changing an order costs beside depends on its age,
# which a request does not show. These are the costs of the youngest.
_COUNTED_BY_THE_ENGINE = {"AddOrder": 1, "AmendOrder": 4, "EditOrder": 7, "CancelOrder": 8}
_COUNTED_TWICE = ("Ledgers", "QueryLedgers", "TradesHistory")
_BINANCE_UNIT = 5
"""ccxt counts in units of 50 ms, each worth five of Binance's weights."""
_GENERIC = "requests"
_GENERIC_SECONDS = 60
_TENTHS = 10
"""ccxt's costs have fractions; ours are whole numbers."""
_GENERIC_LEG_UNITS = 3.0
"""The order, its state, its fills, if the cost of none is known."""


@dataclass(frozen=True, slots=True)
class CountedRequest:
    """One request as ccxt is about to make it; `cost` in ccxt's own units."""

    is_private: bool
    method: str
    path: str
    parameters: Mapping[str, Any]
    cost: float = 1.0


@dataclass(frozen=True, slots=True)
class LimitRules:
    """One exchange's limits, and how they are used and divided."""

    limits: Mapping[str, Limit]
    of_the_address: frozenset[str]
    order: Weights
    leg: Weights
    count: Callable[[CountedRequest], Weights]
    bots_share: Fraction = BOTS_SHARE
    polls_share: Fraction = POLLS_SHARE
    at_one_address: int = 1
    """Exchanges of the session that share the limits of the address."""

    def share_of_address(self, share: Fraction = WHOLE) -> Mapping[str, Limit]:
        """All limits; of those of the address only `share` of what is this exchange's."""
        own = share / self.at_one_address
        return {
            name: limit.share_of(own) if name in self.of_the_address and own < WHOLE else limit
            for name, limit in self.limits.items()
        }


def rules_of(exchange: str) -> LimitRules:
    """Return the documented limits of one of `LIMITS`."""
    return LimitRules(
        LIMITS[exchange],
        OF_THE_ADDRESS[exchange],
        ORDERS[exchange],
        LEGS[exchange],
        _COUNTS[exchange],
        BOTS_SHARES.get(exchange, BOTS_SHARE),
        POLLS_SHARES.get(exchange, POLLS_SHARE),
    )


def generic_rules(rate_limit_ms: float, leg_units: float | None = None) -> LimitRules:
    """Return the one limit that ccxt knows of an exchange: milliseconds per unit of its own costs, for all requests
    together.

    Counted over a minute, as ccxt's own rolling window does. `leg_units`: what an order and its reads cost, in the same
    units.
    """
    units = int(_GENERIC_SECONDS * 1_000 / rate_limit_ms)
    order = {_GENERIC: _TENTHS}
    limits = {_GENERIC: window(units * _TENTHS, _GENERIC_SECONDS)}
    leg = {_GENERIC: math.ceil((leg_units or _GENERIC_LEG_UNITS) * _TENTHS)}
    return LimitRules(limits, frozenset(limits), order, leg, _on_any)


def entry_rules(entry: ExchangeEntry) -> LimitRules | None:
    """None if its limits are unknown."""
    if entry.is_generic:
        rules = None if entry.rate_limit_ms is None else generic_rules(entry.rate_limit_ms, entry.leg_units)
    else:
        rules = rules_of(entry.ccxt) if entry.ccxt in LIMITS else None
    return None if rules is None else replace(rules, at_one_address=entry.at_one_address)


def _on_coinbaseexchange(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"public": 1}
    return {"private": 1, "fills": 1} if asked.path.startswith("fills") else {"private": 1}


def _on_bitstamp(_asked: CountedRequest) -> Weights:
    return {"second": 1, "all": 1}


def _on_binance(asked: CountedRequest) -> Weights:
    weight = {"weight": max(1, round(asked.cost * _BINANCE_UNIT))}
    return weight | {"orders": 1} if (asked.method, asked.path) == ("POST", "order") else weight


def _on_bitflyer(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"address": 1}
    weights = {"address": 1, "private": 1}
    if asked.path not in _ORDER_PATHS:
        return weights
    weights["orders"] = 1
    if asked.path == "sendchildorder" and _is_small(asked.parameters.get("size")):
        weights["small orders"] = 1
    return weights


def _is_small(size: object) -> bool:
    """Return the size; an unreadable one counts as small."""
    try:
        return decimal_of(str(size)) <= _SMALL_ORDER
    except ValueError:
        return True


def _on_kraken(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"public": 1}
    if asked.path in _COUNTED_BY_THE_ENGINE:
        return {"engine": _COUNTED_BY_THE_ENGINE[asked.path]}
    return {"private": 2 if asked.path in _COUNTED_TWICE else 1}


def _on_any(asked: CountedRequest) -> Weights:
    return {_GENERIC: max(1, math.ceil(asked.cost * _TENTHS))}


_COUNTS: Mapping[str, Callable[[CountedRequest], Weights]] = {
    "coinbaseexchange": _on_coinbaseexchange,
    "bitstamp": _on_bitstamp,
    "bitflyer": _on_bitflyer,
    "kraken": _on_kraken,
    "binance": _on_binance,
}
