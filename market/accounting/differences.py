"""The kinds of differences between our books and an exchange, and how each is handled.

`HANDLING` is the table of docs/reconciliation.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from market.trade.order_results import OrderResult
from market.trade.reservation_state import BalanceRow

DifferenceKind = Literal[
    "order_found",
    "order_ambiguous",
    "order_unconfirmed",
    "order_still_open",
    "order_foreign",
    "fill_late",
    "fill_foreign",
    "fill_not_listed",
    "fill_differs",
    "balance_unexplained",
    "balance_differs",
    "hold_left",
    "resumable_after_halt",
]
Believed = Literal["at once", "when seen twice"]
Handled = Literal["healed", "reported"]


@dataclass(frozen=True, slots=True)
class Handling:
    """When a kind of difference is confirmed, and whether it is healed or only reported."""

    confirmed: Believed
    handled: Handled


# Seen twice: exchanges answer from several machines, and one may lag behind another.
HANDLING: Mapping[DifferenceKind, Handling] = {
    "order_found": Handling("at once", "healed"),
    "order_ambiguous": Handling("at once", "reported"),
    "order_unconfirmed": Handling("at once", "reported"),
    "order_still_open": Handling("when seen twice", "reported"),
    "order_foreign": Handling("when seen twice", "reported"),
    "fill_late": Handling("at once", "healed"),
    "fill_foreign": Handling("when seen twice", "reported"),
    "fill_not_listed": Handling("when seen twice", "reported"),
    "fill_differs": Handling("when seen twice", "reported"),
    # a balance that our orders do not explain is reported: healing it would hide it
    "balance_unexplained": Handling("when seen twice", "reported"),
    "balance_differs": Handling("when seen twice", "healed"),
    "hold_left": Handling("when seen twice", "healed"),
    "resumable_after_halt": Handling("when seen twice", "healed"),
}


@dataclass(frozen=True, slots=True)
class RowCorrection:
    """Make a balance row `corrected`, as long as it is `expected`."""

    expected: BalanceRow
    corrected: BalanceRow


@dataclass(frozen=True, slots=True)
class Resumption:
    """Resume an arbitrage that a halt stopped."""

    arbitrage_id: str


Remedy = OrderResult | RowCorrection | Resumption


@dataclass(frozen=True, slots=True)
class Difference:
    """`subject`: the order, fill, currency or arbitrage; `ours` and `theirs` in words. Equal content is one difference,
    however often it is seen.

    `currencies`: what an order that no leg has moved, or may have.
    """

    kind: DifferenceKind
    exchange: str
    subject: str
    ours: str
    theirs: str
    remedy: Remedy | None = None
    currencies: tuple[str, ...] = ()

    @property
    def difference_id(self) -> str:
        parts = (self.kind, self.exchange, self.subject, self.ours, self.theirs)
        return sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class StoredDifference:
    """As it is stored: once, with when it was first found (the server's time, microseconds) and what was done."""

    difference_id: str
    kind: DifferenceKind
    exchange: str
    subject: str
    ours: str
    theirs: str
    handled: Handled
    found_at: int
    currencies: tuple[str, ...] = ()


def confirmed(found: list[Difference], seen_before: frozenset[str]) -> list[Difference]:
    """The differences to act on; `seen_before` has the ids of the previous round."""
    return [one for one in found if HANDLING[one.kind].confirmed == "at once" or one.difference_id in seen_before]
