"""What ccxt says of an exchange before any client of it is used."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

from exchanges.requests.time_synced_signing import client_class

_CALL = re.compile(r"self\.(\w+)\(")
_OF_AN_ORDER = re.compile(r"(create|fetch)_\w*(order|trade)")


@dataclass(frozen=True, slots=True)
class CcxtFacts:
    has: Mapping[str, object]
    rate_limit_ms: float
    leg_units: float
    """What an order, a read of its state and one of its fills cost there, in ccxt's units of the rate limit."""


def ccxt_facts(ccxt_id: str) -> CcxtFacts:
    """Raise AccountRejectedError if ccxt has no such exchange."""
    kind = client_class(ccxt_id)
    client = kind()
    fills = "fetch_order_trades" if client.has.get("fetchOrderTrades") is True else "fetch_my_trades"
    units = sum(_units(kind, method, frozenset()) for method in ("create_order", "fetch_order", fills))
    return CcxtFacts(client.has, float(client.rateLimit), units)


def _units(kind: type, method: str, asked: frozenset[str]) -> float:
    """Return the most expensive request of one of ccxt's methods, by the costs that it lists; one unit if it lists
    none.

    The requests are found in the method's source: ccxt has them nowhere else.
    """
    calls = set(_CALL.findall(inspect.getsource(getattr(kind, method)))) - asked
    # an instance replaces these on its class, but not where they were defined
    listed = [vars(one) for one in kind.__mro__ if one.__name__ == "ImplicitAPI"]
    costs = [_cost(names[name].config) for names in listed for name in calls & names.keys()]
    others = [name for name in calls if _OF_AN_ORDER.match(name) and hasattr(kind, name)]
    costs += [_units(kind, name, asked | calls | {method}) for name in others]
    return max(costs, default=1.0)


def _cost(listed: object) -> float:
    cost = listed.get("cost", 1) if isinstance(listed, Mapping) else listed
    return float(cost) if isinstance(cost, int | float) else 1.0
