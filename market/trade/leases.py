"""Who may act for an exchange: leases with fencing tokens, decided on the server's clock. Pure.

After M. Kleppmann, "How to do distributed locking" (2016): a holder that slept through its lease is known by its old
token, whatever it still believes.
"""

from dataclasses import dataclass, replace
from typing import Literal

from market.time_units import MICROSECONDS

LEASE_SECONDS = 3.0
"""How long a holder may be silent before another process takes over."""
LEASE_LENGTH = int(LEASE_SECONDS * MICROSECONDS)
"""The same in microseconds."""

Veto = Literal["no_bot", "bot_draining", "account_rejected"]
NO_BOT: Veto = "no_bot"
"""No bot acts for the exchange, or not yet: it first finishes what the last one left open."""


def decision_right(partition: int) -> str:
    """Return what the lease of the process that decides on one partition of the opportunities is of."""
    return f"decision|{partition}"


def decided_partition(right: str) -> int | None:
    """Return the partition of a `decision_right`; None for the lease of an exchange."""
    name, _, partition = right.partition("|")
    return int(partition) if name == "decision" and partition.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Actor:
    """Who takes a step: a process of `exchange` (or that holds a `decision_right`) with the `token` of its lease."""

    name: str
    exchange: str | None
    token: int


UNFENCED = Actor("unfenced", None, 0)
"""For what acts without a lease: set-up, backtests, tests. Never a default: whoever takes a step says who it is."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act for `exchange` until `until` (the server's time, microseconds)."""

    exchange: str
    holder: str
    token: int
    until: int
    used: str = ""
    """What its holder had used of the exchange's rate limits, in the words of who counts them (`rate_budget`)."""
    used_at: int = 0
    """When it was so; the server's time."""
    veto: Veto | None = NO_BOT
    """Why its holder takes no leg of a new trade."""

    @property
    def used_ago(self) -> int:
        """How long before this lease was given: no less than nothing, if the server's clock was set back."""
        return max(0, self.until - LEASE_LENGTH - self.used_at)

    @property
    def actor(self) -> Actor:
        return Actor(self.holder, self.exchange, self.token)


def acquired(current: Lease | None, exchange: str, holder: str, now: int) -> Lease | None:
    """Return the lease for `holder`, with a token that nobody had before and what the last holder had used; None while
    another's still runs."""
    if current is None:
        return Lease(exchange, holder, 1, now + LEASE_LENGTH)
    if current.holder != holder and now < current.until:
        return None
    return replace(current, holder=holder, token=current.token + 1, until=now + LEASE_LENGTH, veto=NO_BOT)


def renewed(current: Lease | None, lease: Lease, now: int, used: str | None = None) -> Lease | None:
    """Return the lease with a later end; None if another holder has taken it. An expired lease without a successor is
    still valid.

    `used`: None if nothing is counted; the last reported usage stands.
    """
    return _changed(current, lease, now, now + LEASE_LENGTH, used)


def released(current: Lease | None, lease: Lease, now: int, used: str | None = None) -> Lease | None:
    """Free for the next at once; None if it is somebody else's by now. The token is never given out again."""
    return _changed(current, lease, now, now, used)


def block_of(lease: Lease | None, now: int) -> str | None:
    """Why no leg of a new trade may be reserved for the exchange of `lease` at `now`; None if it may."""
    if lease is None or now >= lease.until:
        return NO_BOT
    return lease.veto


def _changed(current: Lease | None, lease: Lease, now: int, until: int, used: str | None) -> Lease | None:
    if current is None or current.token != lease.token:
        return None
    changed = replace(current, until=until)
    return changed if used is None else replace(changed, used=used, used_at=now)


def is_fenced_out(current: Lease | None, actor: Actor) -> bool:
    """Whether a later holder has taken over from `actor`."""
    return actor.token > 0 and (current is None or current.token != actor.token)
