"""The port of the transfers between exchanges: written before anything is sent, and booked step by step."""

from decimal import Decimal
from typing import Protocol

from market.accounting.transfer_lifecycle import MoneyTransfer
from market.trade.leases import Actor
from store.transfer_steps import NotProposed, Step


class Transfers(Protocol):
    """Of all sessions, since all use the same accounts."""

    async def propose(self, transfer: MoneyTransfer, net: Decimal, by: Actor) -> NotProposed | None:
        """Store a proposal, one at a time, or return why not. `net`: the session's realised net. Raises
        FencedOutError."""
        ...

    async def confirm(self, transfer_id: str, who: str) -> MoneyTransfer | None:
        """Let a proposal go; None if there is none of that id. Idempotent. Raises TransferStepError if it is none any
        more."""
        ...

    async def ask(self, transfer_id: str, by: Actor) -> MoneyTransfer | None:
        """Take the step that allows one withdrawal, with its amount held, if it was confirmed and the source has as
        much; returns the transfer if it was this call that took it. Raises FencedOutError."""
        ...

    async def step(self, transfer_id: str, step: Step, by: Actor) -> MoneyTransfer | None:
        """Take whatever step follows and book what it moves, in one transaction, which may ask `step` again; returns
        the transfer as it is after that, None if nothing followed. Raises FencedOutError."""
        ...

    async def known(self, since: int) -> list[MoneyTransfer]:
        """Those that are proposed or open, all of this session, those that ended in another session's books than they
        left in, and whatever changed since (the server's time), oldest first."""
        ...

    async def net(self, currency: str) -> Decimal:
        """Return the session's realised net in the settlement currency."""
        ...
