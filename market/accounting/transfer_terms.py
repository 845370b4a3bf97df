"""What sending a currency away from an exchange costs and how long it takes: known terms, and what a user says instead.

Exchanges change these without notice and tie some of them to the network's load, so each row names where it is from,
and the configuration may replace it. Receiving is free on all of these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO, BoundedDecimal

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


_CCXT = "ccxt 4.5.90, coinbaseexchange, fees.funding.withdraw"
_ASSUMED = "assumed; no published figure was at hand"
_BTC_TIME = "six blocks of ten minutes"

KNOWN_TERMS: tuple[TransferTerms, ...] = (
    TransferTerms("coinbaseexchange", "BTC", ZERO, Decimal("0.0001"), SATOSHI, HOUR, f"{_CCXT}; {_BTC_TIME}"),
    TransferTerms("coinbaseexchange", "USD", Decimal(25), Decimal(50), CENT, BANK_DAY, f"{_CCXT}; a bank day"),
    TransferTerms(
        "kraken",
        "BTC",
        Decimal("0.00015"),
        Decimal("0.0005"),
        SATOSHI,
        HOUR,
        f"abcdstable.com/academy/kraken-withdrawal-fe, 2026; {_BTC_TIME}",
    ),
    TransferTerms("kraken", "USD", Decimal(35), Decimal(50), CENT, BANK_DAY, _ASSUMED),
    TransferTerms(
        "bitstamp",
        "BTC",
        Decimal("0.0005"),
        Decimal("0.001"),
        SATOSHI,
        HOUR,
        f"nexo.meiganglian.com/post/133865, January 2025; {_BTC_TIME}",
    ),
    TransferTerms("bitstamp", "EUR", Decimal("0.90"), Decimal(10), CENT, 3 * BANK_DAY, "bithub.pl, Bitstamp, SEPA"),
    TransferTerms(
        "bitflyer",
        "BTC",
        Decimal("0.0005"),
        Decimal("0.001"),
        SATOSHI,
        HOUR,
        f"okwallet.jp/crypto20260202092739, May 2024; {_BTC_TIME}",
    ),
    TransferTerms(
        "bitflyer",
        "JPY",
        Decimal(770),
        Decimal(30_000),
        Decimal(1),
        BANK_DAY,
        "bitflyer.com/en-jp/commission, other banks, 30,000 JPY and more",
    ),
    TransferTerms(
        "binance",
        "BTC",
        Decimal("0.0005"),
        Decimal("0.001"),
        SATOSHI,
        HOUR,
        f"cryptocurrencyexchanges.cc, Kraken Withdrawal Fees/15946; {_BTC_TIME}",
    ),
    TransferTerms("binance", "USDT", Decimal(1), Decimal(10), Decimal("0.000001"), HOUR, _ASSUMED),
)
"""Minimums that no source names are assumed: twice the fee or more."""


def with_changed(known: Iterable[TransferTerms], changed: Iterable[TransferTerms]) -> tuple[TransferTerms, ...]:
    """`known`, if `changed` has nothing to say on the same exchange and currency."""
    return tuple(terms_of((*known, *changed)).values())


def terms_of(terms: Iterable[TransferTerms]) -> Mapping[tuple[str, str], TransferTerms]:
    """(exchange, currency) → terms."""
    return {(one.exchange, one.currency): one for one in terms}
