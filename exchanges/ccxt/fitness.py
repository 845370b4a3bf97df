"""Whether a session can use an exchange, by what ccxt says of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from exchanges.catalogue import EXCHANGES

Kind = Literal["verified", "generic", "unfit"]

_BOOKS_NEED = {
    ("spot",): "ccxt knows no spot market there",
    ("fetchMarkets",): "ccxt cannot list its markets",
    ("watchOrderBook", "fetchOrderBook"): "ccxt cannot read its order books",
    ("fetchOrderBook",): "ccxt reads its order books by their stream alone, so that none could be checked by REST",
}
_ORDERS_NEED = {
    ("createOrder",): "ccxt cannot place orders there",
    ("fetchBalance",): "ccxt cannot read balances there",
    ("fetchOrder",): "ccxt cannot read an order there",
    ("fetchMyTrades", "fetchOrderTrades"): "ccxt cannot read fills there",
    ("fetchMyTrades",): "ccxt cannot list the account's fills there, so that the ledger could not be compared",
    ("fetchOpenOrders",): "ccxt cannot list open orders there",
    ("fetchOrders", "fetchCanceledAndClosedOrders", "fetchClosedOrders"): (
        "ccxt cannot list ended orders there, so that one without an answer could not be found again"
    ),
}


@dataclass(frozen=True, slots=True)
class Fitness:
    """`reason`: why it is unfit. `no_live_because`: why it cannot be traded on with money, only watched and traded on
    paper at its prices."""

    kind: Kind
    reason: str | None = None
    no_live_because: str | None = None


def fitness_of(ccxt_id: str, has: Mapping[str, object]) -> Fitness:
    """`has`: ccxt's own, where a missing, None or False method is not there, and "emulated" is."""
    if ccxt_id in EXCHANGES:
        return Fitness("verified")
    reason = _lacking(has, _BOOKS_NEED)
    if reason is not None:
        return Fitness("unfit", reason)
    return Fitness("generic", no_live_because=_lacking(has, _ORDERS_NEED))


def _lacking(has: Mapping[str, object], needs: Mapping[tuple[str, ...], str]) -> str | None:
    """Return the first need of which nothing is there."""
    return next((reason for names, reason in needs.items() if not any(has.get(name) for name in names)), None)
