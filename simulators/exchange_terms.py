"""What a simulated exchange is, as data: one value, TERMS, in the `terms` of its folder.

It is written from the exchange's documents, apart from our own facts: a second opinion.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from market.instruments.markets import Market
from market.money import decimal_of

Part = Literal["ack", "order", "fill"]
"""The answer to a new order, an order's state, one of its fills."""
Names = Mapping[str, str]
"""Meaning of a field → where it is in a row; parts of a path are separated by points."""
AnswerPlace = tuple[str, str, Part, str]
"""Method, beginning of the path, part, and where its rows are in the answer."""

_BPS = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Tier:
    """Fee rates from a 30-day `volume` on (in the schedule's own currency), as fractions of the amount charged."""

    volume: Decimal
    maker: Decimal
    taker: Decimal


def tiers(*rows: tuple[int, str, str]) -> tuple[Tier, ...]:
    """Return the tiers of a schedule of (volume, maker bps, taker bps), lowest volume first."""
    return tuple(
        Tier(decimal_of(volume), decimal_of(maker) * _BPS, decimal_of(taker) * _BPS) for volume, maker, taker in rows
    )


@dataclass(frozen=True, slots=True)
class Quoting:
    """One exchange's way to quote."""

    lag: float
    """Seconds until it has followed about two thirds of a move; the smallest leads."""
    half_spread: float
    """Median in bps, at least half a tick."""
    level_dollars: float
    """Typical amount of a level far from the best one."""
    half_spread_deviation: float = 0.5
    """Standard deviation of its logarithm."""
    noise: float = 0.15
    """Standard deviation in bps of a quote around the exchange's own price."""


@dataclass(frozen=True, slots=True)
class SocketTerms:
    """The life of its sockets, in seconds. None: not known of the exchange, so it does not happen here.

    docs/exchanges.md says what each document leaves open.
    """

    ping_every: float | None = None
    pong_within: float | None = None
    """Time for the pong, after the ping."""
    subscribe_within: float | None = None
    """Time for the first subscription, after the opening."""
    lifetime: float | None = None
    notice_before: float = 0.0
    """Time from the notice to the end."""
    messages_a_second: int | None = None
    """Most messages a second, pings and pongs among them."""


@dataclass(frozen=True, slots=True)
class OrderAnswers:
    """Where it answers what of an order, for injected faults."""

    fields: Mapping[Part, Names]
    places: tuple[AnswerPlace, ...]
    fill_lists: tuple[tuple[str, str | None], ...] = ()
    """Paths that list fills, and under which name of the answer, its parts separated by points. Mappings are not among
    them: nothing comes twice."""
    says_remaining: bool = False
    """Whether its `filled` is what remains of the amount."""
    names_currencies: bool = False
    """Whether a fill's amount and cost are named by the currencies."""


@dataclass(frozen=True, slots=True)
class ExchangeTerms:
    """One simulated exchange."""

    name: str
    market_id: Callable[[Market], str]
    """The exchange's own name of a market."""
    cost_step: Decimal
    """Costs of fills are cut off at it."""
    fee_step: Decimal
    money: Mapping[str, Decimal]
    """What a new test account has beside its coins."""
    tiers: tuple[Tier, ...]
    """Modelled on the published schedule, shortened; today's real one may differ."""
    volume: Decimal
    """Assumed 30-day volume of the test account, in the schedule's currency; it stays."""
    quoting: Quoting
    answers: OrderAnswers
    sockets: SocketTerms = field(default_factory=SocketTerms)
    steps_of: Mapping[str, tuple[Decimal, Decimal]] = field(default_factory=dict)
    """Symbol → its steps of cost and fee, if they are others."""
    key_fields: tuple[Literal["password", "uid"], ...] = ()
    """Fields of an account's keys besides key and secret."""
    signs_by_private_key: bool = False
    """Whether the secret is a private key of the curve P-256, as PEM, and the key a path."""
    sends_retry_after: bool = False
    faults: Mapping[str, str] = field(default_factory=dict)
    """Kinds of faults that look different here → a description."""

    def tier_at(self, volume: Decimal) -> Tier:
        """Return the tier that an account of that volume is in."""
        return [tier for tier in self.tiers if tier.volume <= volume][-1]
