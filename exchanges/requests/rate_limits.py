"""The rate limits in force at an exchange: from its own facts, or from what ccxt knows of it."""

import math
from dataclasses import replace

from exchanges.catalogue import facts_of, own_facts
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.rate_counters import window
from session.exchange_entries import ExchangeEntry

_GENERIC = "requests"
_GENERIC_SECONDS = 60
_TENTHS = 10
"""ccxt's costs have fractions; ours are whole numbers."""
_GENERIC_LEG_UNITS = 3.0
"""The order, its state, its fills, if the cost of none is known."""


def rules_of(exchange: str) -> LimitRules:
    """Return the documented limits of an exchange of the catalogue. Raises KeyError for others."""
    return own_facts(exchange).limits


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
        facts = facts_of(entry.ccxt)
        rules = None if facts is None else facts.limits
    return None if rules is None else replace(rules, at_one_address=entry.at_one_address)


def _on_any(asked: CountedRequest) -> Weights:
    return {_GENERIC: max(1, math.ceil(asked.cost * _TENTHS))}
