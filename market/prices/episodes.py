"""Episodes of opportunities, and the profit that each of them missed: once per episode, within the limits. Pure.

One price gap between two markets makes an opportunity at row after row while it lasts. An episode is such an
uninterrupted run of one directed pair of markets; summing its samples would count the same profit hundreds of times.
This is the one definition: pages, counts, missed profit, live sessions and backtests use it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from market.money import ZERO, decimal_of
from market.prices.opportunities import Opportunity, OpportunityLeg

DIGITS = Decimal("0.00000001")

MarketPair = tuple[str, str, str, str, str]
"""Base, exchange and symbol where it is bought, exchange and symbol where it is sold."""

EpisodeOutcome = Literal["taken", "rejected", "expired", "undecided"]

EXPIRED = "expired"
"""No rejection: it was over before anybody decided."""


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
    opportunity_id: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """From the first to the last sample of one run; money in the settlement currency, times in microseconds.

    `rejected` is the most that one trade on any one of its rejected sightings would have earned, at least 0, and
    `reason` why that one was rejected (of equal ones the first); None if none was rejected.
    """

    pair: MarketPair
    start: int
    end: int
    samples: int
    best_net_bps: float
    is_taken: bool
    rejected: Decimal
    reason: str | None
    until: int = 0
    """A sample up to this time still belongs to it."""
    profit: Decimal = ZERO
    """The most that one trade on any one of its sightings, rejected or not, would have earned; a backtest works it out
    for the rejected ones alone."""
    rejected_at: int = 0
    """Event time of the sighting that `rejected` and `reason` are of."""
    first_id: str = ""
    best_id: str = ""
    """The opportunity with the widest spread."""

    @property
    def missed(self) -> Decimal:
        """0 if any sample was traded: the same gap cannot be traded twice."""
        return ZERO if self.is_taken else self.rejected

    @property
    def outcome(self) -> EpisodeOutcome:
        """`expired`: nobody had decided on its best sighting in time; `undecided`: on none of them by now."""
        if self.is_taken:
            return "taken"
        if self.reason is None:
            return "undecided"
        return "expired" if self.reason == EXPIRED else "rejected"


@dataclass(frozen=True, slots=True)
class MissedProfit:
    """Episodes that were not traded, and the most that one trade on each would have earned."""

    episodes: int
    profit: Decimal


def pair_of(opportunity: Opportunity) -> MarketPair:
    buy, sell = opportunity.buy, opportunity.sell
    return opportunity.base, buy.exchange, buy.symbol, sell.exchange, sell.symbol


def tradable_profit(opportunity: Opportunity, bounds: TradeBounds) -> Decimal:
    """Return the share of `expected_profit`, which the best levels promise, that one trade within `bounds` could have
    had.

    Notional counts for the dearer of both legs at the best prices, as in sizing. Exact if no bound cuts the amount;
    else rounded to 8 digits. Fees, lots and slippage could cut it a little further: an upper bound.
    """
    shown = min(opportunity.buy.amount, opportunity.sell.amount)
    most = min((shown, *_max_base(opportunity, bounds)))
    if shown <= 0 or most <= 0 or most < bounds.minimum:
        return ZERO
    profit = decimal_of(opportunity.expected_profit)
    return profit if most == shown else (profit * most / shown).quantize(DIGITS)


class Episodes:
    """Collects samples, each once, in time order per pair. Memory grows with the number of episodes."""

    def __init__(self) -> None:
        self._ended: list[EpisodeRun] = []
        self._newest: dict[MarketPair, EpisodeRun] = {}

    def add(self, sample: EpisodeSample) -> None:
        """Add a sample to the newest run of its pair if that goes on at its time, else begin a run."""
        run = self.run_at(sample.pair, sample.at, sample.opportunity_id)
        run.see(sample.at, sample.expires_at, sample.net_bps, sample.opportunity_id)
        run.decide(sample.reason, sample.at, sample.profit)

    def run_at(self, pair: MarketPair, at: int, opportunity_id: str = "") -> "EpisodeRun":
        """Return the run of a pair that goes on at that time, or a new one that begins with this opportunity."""
        run = self._newest.get(pair)
        if run is None or not run.goes_on_at(at):
            if run is not None:
                self._ended.append(run)
            run = self._newest[pair] = EpisodeRun(pair, at, opportunity_id)
        return run

    def all(self) -> tuple[Episode, ...]:
        """All episodes by start, then by pair, including those that may still continue."""
        runs = sorted((*self._ended, *self._newest.values()), key=lambda run: (run.start, run.pair))
        return tuple(run.episode() for run in runs)


@dataclass(slots=True, eq=False)
class EpisodeRun:
    """An episode that may still continue. What is decided on its sightings may come in any order."""

    pair: MarketPair
    start: int
    first_id: str = ""
    end: int = 0
    until: int = 0
    """A sample up to this time still belongs to it."""
    best_net_bps: float = float("-inf")
    best_id: str = ""
    samples: int = 0
    is_taken: bool = False
    profit: Decimal = ZERO
    rejected: Decimal = ZERO
    reason: str | None = None
    rejected_at: int = 0

    @classmethod
    def of(cls, episode: Episode) -> "EpisodeRun":
        """To go on from."""
        return cls(
            pair=episode.pair,
            start=episode.start,
            first_id=episode.first_id,
            end=episode.end,
            until=episode.until,
            best_net_bps=episode.best_net_bps,
            best_id=episode.best_id,
            samples=episode.samples,
            is_taken=episode.is_taken,
            profit=episode.profit,
            rejected=episode.rejected,
            reason=episode.reason,
            rejected_at=episode.rejected_at,
        )

    def goes_on_at(self, at: int) -> bool:
        """Whether a sample of that time belongs to it: a row at which a pair does not pay makes no opportunity, so that
        a break shows only by none coming for as long as the last one lived."""
        return at <= self.until or self.samples == 0

    def could_miss_more(self, expected_profit: float) -> bool:
        """Return whether a sighting that promises so much could change what the episode missed: if it could not, what
        it would have earned within the limits need not be worked out."""
        return not self.is_taken and expected_profit > self.rejected

    def see(self, at: int, expires_at: int, net_bps: float, opportunity_id: str = "") -> None:
        """One more sighting."""
        self.end = max(self.end, at)
        self.until = max(self.until, expires_at)
        self.samples += 1
        if net_bps > self.best_net_bps:
            self.best_net_bps, self.best_id = net_bps, opportunity_id

    def see_many(self, end: int, until: int, best_net_bps: float, samples: int) -> None:
        """Add so many sightings at once, the widest of which has that spread, and none an id."""
        self.end = max(self.end, end)
        self.until = max(self.until, until)
        self.samples += samples
        if best_net_bps > self.best_net_bps:
            self.best_net_bps, self.best_id = best_net_bps, ""

    def decide(self, reason: str | None, at: int, profit: Decimal) -> None:
        """Record what became of the sighting of the time `at`, on which one trade would have earned `profit`; `reason`
        None: it was traded."""
        self.profit = max(self.profit, profit)
        if reason is None:
            self.is_taken = True
            return
        if self.reason is not None and profit < self.rejected:
            return
        decided = (max(profit, ZERO), -at, reason != EXPIRED)
        if self.reason is None or decided > _rank(self.rejected, self.rejected_at, self.reason)[:3]:
            self.rejected, self.rejected_at, self.reason = decided[0], at, reason

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
            until=self.until,
            profit=self.profit,
            rejected_at=self.rejected_at,
            first_id=self.first_id,
            best_id=self.best_id,
        )


def merged(one: Episode, other: Episode) -> Episode:
    """Two states of one episode in one, whichever came first: no field ever goes back, so that a state that is written
    again changes nothing."""
    chosen = max(one, other, key=lambda each: (each.reason is not None, *_rank_of(each)))
    widest = max(one, other, key=lambda each: (each.best_net_bps, each.best_id))
    return replace(
        one,
        end=max(one.end, other.end),
        until=max(one.until, other.until),
        samples=max(one.samples, other.samples),
        best_net_bps=widest.best_net_bps,
        best_id=widest.best_id,
        is_taken=one.is_taken or other.is_taken,
        profit=max(one.profit, other.profit),
        rejected=chosen.rejected,
        reason=chosen.reason,
        rejected_at=chosen.rejected_at,
    )


def missed_by_reason(episodes: Iterable[Episode]) -> dict[str, MissedProfit]:
    """Each untraded episode once, under the reason of its best sample: the sums add up to the total."""
    missed: dict[str, MissedProfit] = {}
    for episode in episodes:
        if not episode.is_taken and episode.reason is not None:
            known = missed.get(episode.reason, MissedProfit(0, ZERO))
            missed[episode.reason] = MissedProfit(known.episodes + 1, known.profit + episode.missed)
    return missed


def _rank_of(episode: Episode) -> tuple[Decimal, int, bool, str]:
    return _rank(episode.rejected, episode.rejected_at, episode.reason or "")


def _rank(profit: Decimal, at: int, reason: str) -> tuple[Decimal, int, bool, str]:
    """Return a rejected sighting's rank; of two the higher one counts: the dearer, of equal ones the first, and of one
    sighting what a check said rather than that nobody had decided yet."""
    return profit, -at, reason != EXPIRED, reason


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
