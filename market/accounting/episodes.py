"""Episodes of opportunities, and the profit that each of them missed: once per episode, within the limits. Pure.

One price gap between two markets makes an opportunity at row after row while it lasts. An episode is such an
uninterrupted run of one directed pair of markets; summing its samples would count the same profit hundreds of times.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from market.money import ZERO, decimal_of
from market.prices.opportunities import Opportunity, OpportunityLeg

DIGITS = Decimal("0.00000001")

MarketPair = tuple[str, str, str, str, str]
"""Base, exchange and symbol where it is bought, exchange and symbol where it is sold."""


@dataclass(frozen=True, slots=True)
class TradeBounds:
    """What one trade may use at most; None: unbounded or unknown."""

    notional: Decimal | None = None
    """Settlement currency: the least of `max_notional` and whatever else limits a single trade."""
    quote: Decimal | None = None
    """Free quote currency on the exchange where it is bought."""
    base: Decimal | None = None
    """Free base on the exchange where it is sold."""
    minimum: Decimal = ZERO
    """The smallest order, in base, that both exchanges take: less than that cannot be traded at all."""


@dataclass(frozen=True, slots=True)
class EpisodeSample:
    """One opportunity and its outcome. `profit`: `tradable_profit` of it. Times in microseconds."""

    pair: MarketPair
    at: int
    """Event time."""
    expires_at: int
    net_bps: float
    profit: Decimal
    reason: str | None
    """Why it was not traded; None: an arbitrage was opened."""


@dataclass(frozen=True, slots=True)
class Episode:
    """From the first to the last sample of one run; money in the settlement currency.

    `rejected` is the most that one trade on any one of its rejected sightings would have earned, at least 0, and
    `reason` why that one was rejected (of equal ones the first); None where none was rejected.
    """

    pair: MarketPair
    start: int
    end: int
    samples: int
    best_net_bps: float
    is_taken: bool
    rejected: Decimal
    reason: str | None

    @property
    def missed(self) -> Decimal:
        """0 where any sample was traded: the same gap cannot be traded twice."""
        return ZERO if self.is_taken else self.rejected


@dataclass(frozen=True, slots=True)
class MissedProfit:
    """Episodes that were not traded, and the most that one trade on each would have earned."""

    episodes: int
    profit: Decimal


def pair_of(opportunity: Opportunity) -> MarketPair:
    buy, sell = opportunity.buy, opportunity.sell
    return opportunity.base, buy.exchange, buy.symbol, sell.exchange, sell.symbol


def tradable_profit(opportunity: Opportunity, bounds: TradeBounds) -> Decimal:
    """Of what the best levels promise (`expected_profit`) the share that one trade within `bounds` could have had.

    Notional counts for the dearer of both legs at the best prices, as in sizing. Exact where no bound cuts the amount;
    else rounded to 8 digits. Fees, lots and slippage could cut it a little further: an upper bound.
    """
    shown = min(opportunity.buy.amount, opportunity.sell.amount)
    most = min((shown, *_max_base(opportunity, bounds)))
    if shown <= 0 or most <= 0 or most < bounds.minimum:
        return ZERO
    profit = decimal_of(opportunity.expected_profit)
    return profit if most == shown else (profit * most / shown).quantize(DIGITS)


def sample_of(opportunity: Opportunity, bounds: TradeBounds, reason: str | None) -> EpisodeSample:
    """`reason` None: an arbitrage was begun on it."""
    return EpisodeSample(
        pair_of(opportunity),
        opportunity.event_time,
        opportunity.expires_at,
        opportunity.net_bps,
        tradable_profit(opportunity, bounds),
        reason,
    )


class Episodes:
    """Collects samples, each once, in time order per pair. Memory grows with the number of episodes."""

    def __init__(self) -> None:
        self._ended: list[_Run] = []
        self._newest: dict[MarketPair, _Run] = {}

    def add(self, sample: EpisodeSample) -> None:
        """It belongs to the newest run of its pair where that had not expired before it: a row at which a pair does not
        pay makes no opportunity, so that a break shows only by none coming for as long as the last one lived."""
        run = self._newest.get(sample.pair)
        if run is None or sample.at > run.until:
            if run is not None:
                self._ended.append(run)
            run = self._newest[sample.pair] = _Run.of(sample)
        run.add(sample)

    def could_miss_more(self, pair: MarketPair, at: int, expected_profit: float) -> bool:
        """Whether a sighting that promises so much could change what its episode missed: where it could not, what it
        would have earned within the limits need not be worked out."""
        run = self._newest.get(pair)
        if run is None or at > run.until:
            return expected_profit > 0
        return not run.is_taken and expected_profit > run.rejected

    def all(self) -> tuple[Episode, ...]:
        """All episodes by start, then by pair, including those that may still continue."""
        runs = sorted((*self._ended, *self._newest.values()), key=lambda run: (run.start, run.pair))
        return tuple(run.episode() for run in runs)


@dataclass(slots=True)
class _Run:
    """An episode that may still continue."""

    pair: MarketPair
    start: int
    end: int
    until: int
    """A sample up to this time still belongs to it."""
    best_net_bps: float
    samples: int = 0
    is_taken: bool = False
    rejected: Decimal = ZERO
    reason: str | None = None

    @classmethod
    def of(cls, first: EpisodeSample) -> "_Run":
        return cls(first.pair, first.at, first.at, first.expires_at, first.net_bps)

    def add(self, sample: EpisodeSample) -> None:
        self.end = max(self.end, sample.at)
        self.until = max(self.until, sample.expires_at)
        self.best_net_bps = max(self.best_net_bps, sample.net_bps)
        self.samples += 1
        if sample.reason is None:
            self.is_taken = True
        elif self.reason is None or sample.profit > self.rejected:
            self.rejected, self.reason = max(sample.profit, ZERO), sample.reason

    def episode(self) -> Episode:
        return Episode(
            pair=self.pair,
            start=self.start,
            end=self.end,
            samples=self.samples,
            best_net_bps=self.best_net_bps,
            is_taken=self.is_taken,
            rejected=self.rejected,
            reason=self.reason,
        )


def episodes_of(samples: Iterable[EpisodeSample]) -> tuple[Episode, ...]:
    """The episodes of samples in time order."""
    found = Episodes()
    for sample in samples:
        found.add(sample)
    return found.all()


def missed_by_reason(episodes: Iterable[Episode]) -> dict[str, MissedProfit]:
    """Each untraded episode once, under the reason of its best sample: the sums add up to the total."""
    missed: dict[str, MissedProfit] = {}
    for episode in episodes:
        if not episode.is_taken and episode.reason is not None:
            known = missed.get(episode.reason, MissedProfit(0, ZERO))
            missed[episode.reason] = MissedProfit(known.episodes + 1, known.profit + episode.missed)
    return missed


def _max_base(opportunity: Opportunity, bounds: TradeBounds) -> Iterable[Decimal]:
    """How much base each bound allows."""
    if bounds.notional is not None:
        yield bounds.notional / max(
            _in_settlement(opportunity, opportunity.buy), _in_settlement(opportunity, opportunity.sell)
        )
    if bounds.quote is not None:
        yield bounds.quote / opportunity.buy.price
    if bounds.base is not None:
        yield bounds.base


def _in_settlement(opportunity: Opportunity, leg: OpportunityLeg) -> Decimal:
    """Its best price in the settlement currency, at the FX side that a trade would pay."""
    rate = opportunity.rate(leg.quote_currency)
    if rate is None:
        return leg.price
    return rate.paid(leg.price) if leg is opportunity.buy else rate.received(leg.price)
