"""Refusals that last. Between two steps of any arbitrage the bots know the same and change nothing, so what refused one
opportunity of a pair of markets refuses the next one, too, unless the opportunity itself makes the difference.

A refusal is always learnt from a decision of the bots. What it says of later opportunities is proved, and asks the
rules of `market.decide` again for what the opportunity itself decides; whatever is not proved, the bots decide.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf

from backtest.detect.sightings import Sighting
from bots.decide.order_decision import early_rejection, sizing_sides
from bots.decide.state_cache import StateCache
from market.decide.decision_context import DecisionContext
from market.decide.quarantine import usual_up_to_bps
from market.decide.risk_checks import is_too_new, is_too_old, notional_left
from market.decide.settings import Settings
from market.decide.sizing import walk_terms
from market.decide.standing_shortage import PriceRange, StandingShortage, standing_shortage
from market.money import ZERO, Amount, Price
from market.prices.episodes import MarketPair, TradeBounds, tradable_profit
from market.prices.opportunities import Opportunity
from market.trade.unwinding import Markets

BELOW_THRESHOLD, COOLING_DOWN, NO_BALANCE = "below_threshold", "cooling_down", "insufficient_balance"
TOO_SMALL = "too_small"
BY_STATE = frozenset(
    (
        *("stopping", "unexplained_difference", "too_many_open", "pair_busy", COOLING_DOWN),
        *("total_limit", "asset_limit", "exchange_limit"),
    )
)
"""Reasons that depend on the pair, the settings and what is open alone, and the cool-down on the time."""
AMPLE = Amount(Decimal("1e9"))
"""More than any book shows."""

Bounds = Callable[[Opportunity], TradeBounds]


@dataclass(frozen=True, slots=True)
class Standing:
    """Holds for opportunities of one pair that no earlier check refuses."""

    reason: str
    until: float
    """Market time, microseconds."""
    shortage: StandingShortage | None = None
    """Within which; None: at any price."""
    misses_nothing: bool = False
    """Whether a trade within the bounds would be too small for both exchanges, so that no profit is missed."""


class StandingRefusals:
    """What refuses the pairs now. `changed` is to be called when the bots know anything new."""

    def __init__(self, cache: StateCache, markets: Markets, bounds: Bounds) -> None:
        self._cache = cache
        self._markets = markets
        self._bounds = bounds
        self._standing: dict[MarketPair, Standing | None] = {}
        """None: nothing could be proved."""
        self._settings: Settings | None = None
        """The settings that what follows is of."""
        self._let_through: set[MarketPair] = set()
        """Pairs of different exchanges of which the settings refuse nothing but a narrow spread."""
        self._thresholds: dict[MarketPair, float] = {}
        self._usual = inf

    def changed(self) -> None:
        self._standing.clear()

    def reason(self, one: Sighting, now: int) -> str | None:
        """Return why it is refused, if that is certain."""
        settings = self._cache.settings
        if settings is not self._settings:
            self._follow(settings)
        threshold = self._threshold(one.pair, settings)
        if one.net_bps < threshold - settings.rebalancing_bps:
            return BELOW_THRESHOLD if one.pair in self._let_through else None
        if one.net_bps < threshold:
            # it depends on what lies where
            return None
        standing = self._holding(one, now)
        if standing is None or not self._passes(one, now, settings):
            return None
        if standing.shortage is None:
            return standing.reason
        return standing.shortage.reason(one.source.asks(one.number), one.source.bids(one.number))

    def misses_nothing(self, one: Sighting, now: int) -> bool:
        """Return whether one that `reason` refused just now misses no profit for certain."""
        standing = self._holding(one, now)
        return standing is not None and standing.misses_nothing

    def of_pair(self, pair: MarketPair) -> tuple[float, bool, Standing | None]:
        """Return what a pair is refused by: the threshold in force, whether its settings refuse nothing but a narrow
        spread, and what stands; `reason` says what else has to hold."""
        settings = self._cache.settings
        if settings is not self._settings:
            self._follow(settings)
        return self._threshold(pair, settings), pair in self._let_through, self._standing.get(pair)

    def let_through(self, pair: MarketPair) -> None:
        """Learn that the settings refuse nothing of this pair but its spread; trades on one exchange have none."""
        if pair[1] != pair[3]:
            self._let_through.add(pair)

    def learn(self, one: Sighting, now: int, reason: str | None, context: Callable[[], DecisionContext]) -> None:
        """Learn from what the bots said just now, which the settings alone do not; `context` returns what they know."""
        if self._cache.settings.min_share_above_10s > 0 or not self._is_over(one, now):
            return
        if reason in BY_STATE:
            self._standing[one.pair] = self._by_state(context(), reason)
        elif reason == NO_BALANCE and not self._cache.place_values.has_any:
            # where places are short, what they cost rejects first, and changes with each opportunity
            self._standing[one.pair] = self._by_balance(context())

    def _is_over(self, one: Sighting, now: int) -> bool:
        """Return whether there is something to learn: what is known of the pair does not last, or is of other
        prices."""
        if one.pair not in self._standing:
            return True
        standing = self._standing[one.pair]
        if standing is None or standing.shortage is None:
            return standing is not None and now >= standing.until
        source, number = one.source, one.number
        return not standing.shortage.spans(source.asks(number), source.bids(number))

    def _follow(self, settings: Settings) -> None:
        self._settings = settings
        self._let_through.clear()
        self._thresholds.clear()
        self._standing.clear()
        self._usual = usual_up_to_bps(settings)

    def _threshold(self, pair: MarketPair, settings: Settings) -> float:
        """Return the threshold in force, bps, computed once for each pair: every opportunity needs it."""
        known = self._thresholds.get(pair)
        if known is None:
            base, buy, _, sell, _ = pair
            known = self._thresholds[pair] = settings.threshold(base, buy, sell)
        return known

    def _holding(self, one: Sighting, now: int) -> Standing | None:
        standing = self._standing.get(one.pair)
        if standing is None or now >= standing.until:
            return None
        shortage = standing.shortage
        if shortage is None:
            return standing
        source, number = one.source, one.number
        is_short = shortage.reason(source.asks(number), source.bids(number)) is not None
        return standing if is_short and not source.has_rates(number) and self._is_unused(one) else None

    def _is_unused(self, one: Sighting) -> bool:
        used_up = self._cache.used_up
        return not used_up or not any(name in used_up for name in one.source.quote_ids(one.number))

    def _passes(self, one: Sighting, now: int, settings: Settings) -> bool:
        """Return whether none of the checks that come first, and that look at the opportunity itself, refuses it."""
        buy_age, sell_age, since = one.buy_age, one.sell_age, now - one.event_time
        if one.net_bps > self._usual or is_too_old(max(buy_age, sell_age), since, settings):
            return False
        source, number = one.source, one.number
        is_sound = source.asks(number).is_sound and source.bids(number).is_sound
        return is_sound and not is_too_new(min(buy_age, sell_age), since)

    def _by_state(self, context: DecisionContext, reason: str) -> Standing | None:
        risk = context.risk
        # sizing may have said the same of a limit, for a reason that depends on the prices
        if risk is None or early_rejection(context, self._markets) != reason:
            return None
        ends = risk.pair_reserved_at + context.settings.cool_down_ms * 1_000
        return Standing(reason, ends - self._cache.server_ahead if reason == COOLING_DOWN else inf)

    def _by_balance(self, context: DecisionContext) -> Standing | None:
        if early_rejection(context, self._markets) is not None:
            return None
        opportunity, settings = context.opportunity, context.settings
        buy, sell = sizing_sides(context, self._markets)
        cap, _ = notional_left(context)
        shortage = standing_shortage(buy, sell, settings, cap, walk_terms(buy, sell, settings))
        if shortage is None:
            return None
        # a base that has drifted is refused at a high price alone
        dearest = replace(context, opportunity=_at(opportunity, shortage.asks.high, shortage.bids.high))
        if early_rejection(dearest, self._markets) is not None:
            return None
        return Standing(NO_BALANCE, inf, shortage, self._is_too_small(opportunity, shortage.asks, shortage.bids))

    def _is_too_small(self, opportunity: Opportunity, asks: PriceRange, bids: PriceRange) -> bool:
        """Return whether even the most that may be traded, at low prices, is below the least at high ones."""
        least = self._bounds(_at(opportunity, asks.high, bids.high))
        return tradable_profit(_at(opportunity, asks.low, bids.low), least) == ZERO


def _at(opportunity: Opportunity, ask: Decimal, bid: Decimal) -> Opportunity:
    """Return the opportunity at other prices, with ample amounts; the levels stay."""
    return replace(
        opportunity,
        buy=replace(opportunity.buy, price=Price(ask), amount=AMPLE),
        sell=replace(opportunity.sell, price=Price(bid), amount=AMPLE),
        expected_profit=1.0,
    )
