"""Who may act for an exchange: leases with fencing tokens, decided on the server's clock. Pure.

After M. Kleppmann, "How to do distributed locking" (2016): a holder that slept through its lease is known by its old
token, whatever it still believes.
"""

from dataclasses import dataclass, replace

from market.time_units import MICROSECONDS

LEASE_SECONDS = 3.0
"""How long a holder may be silent before another process takes over."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who takes a step: a process of `exchange` with the `token` of its lease."""

    name: str
    exchange: str | None
    token: int


UNFENCED = Actor("unfenced", None, 0)
"""Tools and tests, that hold no lease."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act for `exchange` until `until` (the server's time, microseconds)."""

    exchange: str
    holder: str
    token: int
    until: int

    @property
    def actor(self) -> Actor:
        return Actor(self.holder, self.exchange, self.token)


def acquired(current: Lease | None, exchange: str, holder: str, now: int) -> Lease | None:
    """The lease for `holder`, with a token that nobody had before; None while another's still runs."""
    if current is not None and current.holder != holder and now < current.until:
        return None
    return Lease(exchange, holder, 1 if current is None else current.token + 1, _until(now))


def renewed(current: Lease | None, lease: Lease, now: int) -> Lease | None:
    """The lease with a later end; None where somebody else took it. One that ran out with nobody after it is good."""
    if current is None or current.token != lease.token:
        return None
    return replace(current, until=_until(now))


def released(current: Lease | None, lease: Lease, now: int) -> Lease | None:
    """Free for the next at once; None where it is somebody else's by now. The token is never given out again."""
    if current is None or current.token != lease.token:
        return None
    return replace(current, until=now)


def is_fenced_out(current: Lease | None, actor: Actor) -> bool:
    """Whether a later holder has taken over from `actor`."""
    return actor.token > 0 and (current is None or current.token != actor.token)


def _until(now: int) -> int:
    return now + int(LEASE_SECONDS * MICROSECONDS)
