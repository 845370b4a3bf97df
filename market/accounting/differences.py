"""The kinds of differences between our books and an exchange, and how each is handled.

`HANDLING` is the table of docs/reconciliation.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from typing import Literal

from market.money import ZERO, BoundedDecimal, text_of
from market.trade.arbitrages import Leg
from market.trade.order_results import OrderResult
from market.trade.reservation_state import BalanceRow

DifferenceKind = Literal[
    "order_found",
    "order_ambiguous",
    "order_unconfirmed",
    "report_implausible",
    "order_still_open",
    "order_foreign",
    "fill_late",
    "fill_restated",
    "fill_foreign",
    "fill_not_listed",
    "fill_differs",
    "settled_twice",
    "balance_unexplained",
    "balance_differs",
    "hold_left",
    "resumable_after_halt",
]
Believed = Literal["at once", "when seen twice"]
Handled = Literal["healed", "reported"]
Verdict = Literal["acknowledged", "deposit", "withdrawal", "explained"]
"""What settled a difference: a person, who knows of it or says what it is; or later comparisons, which no longer find
it (`explained`)."""
PersonsVerdict = Literal["acknowledged", "deposit", "withdrawal"]


@dataclass(frozen=True, slots=True)
class Handling:
    """When a kind of difference is confirmed, and whether it is healed or only reported.

    `is_unexplained`: somebody else may trade on the account, so its exchange is reduce-only until a person settles it,
    or a later comparison explains it.
    """

    confirmed: Believed
    handled: Handled
    is_unexplained: bool = False


# Seen twice: exchanges answer from several machines, and one may lag behind another.
HANDLING: Mapping[DifferenceKind, Handling] = {
    "order_found": Handling("at once", "healed"),
    "order_ambiguous": Handling("at once", "reported", is_unexplained=True),
    "order_unconfirmed": Handling("at once", "reported"),
    # at once: until it is settled nothing more is traded there, so a machine that lags costs a round
    "report_implausible": Handling("at once", "reported", is_unexplained=True),
    "order_still_open": Handling("when seen twice", "reported", is_unexplained=True),
    "order_foreign": Handling("when seen twice", "reported", is_unexplained=True),
    "fill_late": Handling("at once", "healed"),
    "fill_restated": Handling("when seen twice", "healed"),
    "fill_foreign": Handling("when seen twice", "reported", is_unexplained=True),
    "fill_not_listed": Handling("when seen twice", "reported", is_unexplained=True),
    "fill_differs": Handling("when seen twice", "reported", is_unexplained=True),
    "settled_twice": Handling("when seen twice", "healed"),
    # a balance that our orders do not explain is reported: healing it would hide it
    "balance_unexplained": Handling("when seen twice", "reported", is_unexplained=True),
    # at once: while we trade its content changes in every round, and would add up to more than rounding
    "balance_differs": Handling("at once", "healed"),
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
    """Resume an arbitrage, or a trade on a cycle, that a halt stopped."""

    arbitrage_id: str
    is_cycle: bool = False


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Book what is unexplained in a balance row, as long as it is `row`: a settlement had it already."""

    row: BalanceRow


Remedy = OrderResult | RowCorrection | Resumption | TakenBack


@dataclass(frozen=True, slots=True)
class Difference:
    """`subject`: the order, fill, currency or arbitrage; `ours` and `theirs` in words. Equal content is one difference,
    however often it is seen; and whatever else is said falsely of an order is one with the first lie."""

    kind: DifferenceKind
    exchange: str
    subject: str
    ours: str
    theirs: str
    remedy: Remedy | None = None

    @property
    def difference_id(self) -> str:
        words = () if self.kind == "report_implausible" else (self.ours, self.theirs)
        parts = (self.kind, self.exchange, self.subject, *words)
        return sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class StoredDifference:
    """As it is stored: once, with when it was first found (the server's time, microseconds) and what was done.

    `booked`: what settling it added to our row of the balance, of which `subject` is the currency; 0 for other kinds.
    """

    difference_id: str
    kind: DifferenceKind
    exchange: str
    subject: str
    ours: str
    theirs: str
    handled: Handled
    found_at: int
    settled: Verdict | None = None
    settled_by: str = ""
    settled_at: int = 0
    booked: BoundedDecimal = ZERO
    cause: str = ""
    """Our orders at the exchange that were in doubt when it was found, and may be its cause."""

    @property
    def is_open(self) -> bool:
        """Whether it keeps its exchange reduce-only."""
        return HANDLING[self.kind].is_unexplained and self.settled is None


def leg_subject(arbitrage_id: str, leg: Leg) -> str:
    """Return the subject of a difference in what became of a leg's order."""
    return f"{arbitrage_id}:{leg.role}"


def implausible(arbitrage_id: str, leg: Leg, doubt: str) -> Difference:
    """Return the difference that a report of the leg's order makes that cannot be true: open until it is booked or
    settled."""
    return Difference("report_implausible", leg.exchange, leg_subject(arbitrage_id, leg), "not booked", doubt)


ORDER_DOUBTS: tuple[DifferenceKind, ...] = ("order_ambiguous", "order_unconfirmed", "report_implausible")
"""Nobody knows what became of an order of ours, which is the subject."""
MAY_BE_OURS: tuple[DifferenceKind, ...] = ("balance_unexplained", "fill_foreign", "order_foreign")
"""What such an order looks like from outside."""


def orders_in_doubt(differences: Iterable[Difference | StoredDifference]) -> str:
    """Those of one exchange, in words."""
    return ", ".join(sorted({one.subject for one in differences if one.kind in ORDER_DOUBTS}))


def stored_difference(found: Difference, found_at: int, in_doubt: str = "") -> StoredDifference:
    """As it is stored first, by the server's time; `in_doubt`: `orders_in_doubt` at its exchange by then."""
    return StoredDifference(
        difference_id=found.difference_id,
        kind=found.kind,
        exchange=found.exchange,
        subject=found.subject,
        ours=found.ours,
        theirs=found.theirs,
        handled=HANDLING[found.kind].handled,
        found_at=found_at,
        cause=in_doubt if found.kind in MAY_BE_OURS else "",
    )


class CannotSettleError(Exception):
    """A difference cannot be settled in that way; the text says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A person's word on a difference, at the server's time `at`."""

    verdict: PersonsVerdict
    who: str
    at: int


def settled_difference(known: StoredDifference, settlement: Settlement, unexplained: Decimal) -> StoredDifference:
    """`known`, settled; `unexplained` is what the exchange has more (or, negative, less) of its currency than our row
    says by now. The same if it was settled before.

    Raises CannotSettleError.
    """
    if not HANDLING[known.kind].is_unexplained:
        raise CannotSettleError(f"a difference of kind {known.kind} needs no settlement: it was {known.handled}.")
    if known.settled is not None:
        return known
    is_balance = known.kind == "balance_unexplained"
    if settlement.verdict != "acknowledged" and not is_balance:
        raise CannotSettleError(
            f"only a balance can be adopted as a {settlement.verdict}; acknowledge this {known.kind} instead."
        )
    booked = unexplained if is_balance else ZERO
    if (settlement.verdict == "deposit" and booked < 0) or (settlement.verdict == "withdrawal" and booked > 0):
        more = "more" if booked > 0 else "less"
        raise CannotSettleError(
            f"{known.exchange} has {text_of(abs(booked))} {known.subject} {more} than our books: "
            f"that is no {settlement.verdict}."
        )
    return replace(
        known, settled=settlement.verdict, settled_by=settlement.who, settled_at=settlement.at, booked=booked
    )


def taken_back(found: StoredDifference, row: BalanceRow, known: StoredDifference | None) -> StoredDifference:
    """Return the entry of what is unexplained in `row`, with what the same entry has booked before."""
    booked = row.unexplained + (ZERO if known is None else known.booked)
    return replace(found, settled="explained", settled_at=found.found_at, booked=booked)


def is_of_balance(one: StoredDifference, settled: StoredDifference) -> bool:
    """Whether `one` is another open difference of the balance that `settled` is of."""
    same = (one.kind, one.exchange, one.subject) == ("balance_unexplained", settled.exchange, settled.subject)
    return same and one.is_open and settled.kind == one.kind and one.difference_id != settled.difference_id


def explained(known: StoredDifference, at: int) -> StoredDifference:
    """`known`, settled if a comparison at the server's time `at` no longer finds it."""
    if not known.is_open or known.found_at >= at:
        return known
    return replace(known, settled="explained", settled_at=at)


def is_found_again(known: StoredDifference, found: StoredDifference) -> bool:
    """Whether a difference of the same content is a new one: a balance may differ by the same amount again, and what
    explained itself may be back, whereas an order or a fill is listed for a while after a person settled it."""
    may_return = known.kind == "balance_unexplained" or (known.settled == "explained" and known.settled_at > 0)
    return may_return and known.settled is not None and found.found_at > known.settled_at


def confirmed(found: list[Difference], seen_before: frozenset[str]) -> list[Difference]:
    """Return the differences to act on; `seen_before` has the ids of the previous round."""
    return [one for one in found if HANDLING[one.kind].confirmed == "at once" or one.difference_id in seen_before]
