"""What ccxt says of an exchange before any client of it is used."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from exchanges.requests.time_synced_signing import client_class

_CLIENT_ID = "clientOrderId"


@dataclass(frozen=True, slots=True)
class CcxtFacts:
    has: Mapping[str, object]
    rate_limit_ms: float
    passes_client_ids: bool
    """Whether what places orders there has a word of our ids; ccxt says it nowhere else."""


def ccxt_facts(ccxt_id: str) -> CcxtFacts:
    """Raises AccountRejectedError where ccxt has no such exchange."""
    kind = client_class(ccxt_id)
    client = kind()
    own = [one for one in kind.__mro__ if one.__module__.startswith("ccxt.") and ".base." not in one.__module__]
    places = [
        method
        for one in own
        for name, method in vars(one).items()
        if ("create" in name or name.startswith("order")) and "order" in name and inspect.isfunction(method)
    ]
    passes = any(_CLIENT_ID in inspect.getsource(method) for method in places)
    return CcxtFacts(client.has, float(client.rateLimit), passes)
