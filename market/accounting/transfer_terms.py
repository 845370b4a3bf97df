"""What sending a currency away from an exchange costs and how long it takes: known terms, and what a user says instead.

Exchanges change these without notice and tie some of them to the network's load, so each row names where it is from,
and the configuration may replace it. Receiving is free on all of these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.money import BoundedDecimal

SATOSHI = Decimal("0.00000001")
CENT = Decimal("0.01")
HOUR = 3_600
BANK_DAY = 86_400


@dataclass(frozen=True, slots=True)
class TransferTerms:
    """Terms for one currency leaving one exchange, amounts in that currency; `fee` is taken from what is sent."""

    exchange: str
    currency: str
    fee: BoundedDecimal
    minimum: BoundedDecimal
    """Least amount that may be sent, the fee included."""
    step: BoundedDecimal
    """Amounts are whole numbers of it."""
    seconds: int
    """Until it can be traded with on another exchange, about."""
    source: str


ASSUMED = "assumed; no published figure was at hand"
"""As a source. Minimums that no source names are assumed, too: twice the fee or more."""


def with_changed(known: Iterable[TransferTerms], changed: Iterable[TransferTerms]) -> tuple[TransferTerms, ...]:
    """`known`, if `changed` has nothing to say on the same exchange and currency."""
    return tuple(terms_of((*known, *changed)).values())


def terms_of(terms: Iterable[TransferTerms]) -> Mapping[tuple[str, str], TransferTerms]:
    """(exchange, currency) → terms."""
    return {(one.exchange, one.currency): one for one in terms}
