"""What a step needs before it is taken, once for both adapters: settings in force and a lease still its own."""

from market.decide.settings import Settings
from market.trade.leases import Actor, Lease, is_fenced_out
from store.errors import FencedOutError, StoreError


def in_force(settings: Settings | None) -> Settings:
    """Raise StoreError if there are none yet."""
    if settings is None:
        raise StoreError("there are no settings yet")
    return settings


def check_lease(current: Lease | None, by: Actor) -> None:
    """Raise FencedOutError if `current`, the lease of the actor's exchange, is a later process's."""
    if is_fenced_out(current, by):
        raise FencedOutError(f"{by.name} no longer acts for {by.exchange}: another process has taken over")
