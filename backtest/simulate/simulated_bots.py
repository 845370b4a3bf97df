"""The bots in a backtest: the reserver that runs live, and the traders and health watches, one per exchange, over the
store in memory. What live bots learn from the store's notifications is looked up here after each step."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import partial

from backtest.detect.sightings import Sighting
from backtest.parameters import Parameters
from backtest.simulate.event_queue import EventQueue, run_to_end
from backtest.simulate.simulated_account import SimulatedAccount
from backtest.simulate.simulated_rejections import EXPIRED, RejectionCounts
from backtest.simulate.standing_refusals import BELOW_THRESHOLD, StandingRefusals
from backtest.simulate.tiered_fees import TieredFees
from bots.decide.order_decision import settings_rejection
from bots.decide.partner_budgets import partners_of
from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.exchange_health import ExchangeHealthWatch
from bots.execute.leg_executor import LegExecutor
from bots.rounds import ROUND_SECONDS
from bots.server_clock import ServerClock
from market.accounting.transfer_planning import OFF
from market.accounting.transfer_terms import terms_of
from market.decide.circuit_breaker import FailureKind
from market.decide.place_values import PlaceValues
from market.decide.settings import Settings
from market.decide.shared_sizes import Size
from market.decide.sizing import size
from market.decide.trade_bounds import most_notional
from market.instruments.markets import Market
from market.money import ZERO
from market.prices.episodes import TradeBounds, tradable_profit
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage, Leg, LegRole
from market.trade.leases import UNFENCED
from market.trade.report_checks import ReportRules
from market.trade.unwinding import advancing, markets_by_symbol
from session.exchange_entries import ExchangeEntry
from store.memory.store import MemoryTradeStore

LegKey = tuple[str, LegRole]

RETRY = round(ROUND_SECONDS * MICROSECONDS)
"""A leg that may not be sent yet is tried again so much later, as in a live bot's next round."""


class NotionalLimits:
    """Computes `most_notional` once for each pair of an asset, because every opportunity needs it."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._known: dict[tuple[str, str, str], Decimal] = {}

    def most(self, opportunity: Opportunity, settings: Settings) -> Decimal:
        if self._settings is not settings:
            self._settings = settings
            self._known.clear()
        key = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = most_notional(opportunity, settings)
        return known


class SimulatedBots:
    """All bots of one backtest; each knows at once what another learns."""

    def __init__(
        self,
        agenda: EventQueue,
        store: MemoryTradeStore,
        accounts: dict[str, SimulatedAccount],
        markets: tuple[Market, ...],
        parameters: Parameters,
        sized: Size = size,
    ) -> None:
        """Take `store`, which has the settings and whose books are open."""
        self._agenda = agenda
        self._store = store
        self._markets = markets_by_symbol(markets)
        self._decision = round(parameters.decision_ms * 1_000)
        self._fees = TieredFees(parameters.fee_tiers, parameters.volumes)
        self.cache = StateCache(store.settings.in_force())
        self.cache.transfer_terms = terms_of(parameters.transfers)
        self.cache.transfer_rules = parameters.rebalancing or OFF
        if parameters.rate_limits:
            self.cache.partners = partners_of("", {name: ExchangeEntry(name) for name in accounts}, agenda.now)
            self.cache.place_values = PlaceValues(self.cache.partners.paces())
        self.rejections = RejectionCounts()
        self.missed = 0
        """Opportunities that had expired by the time of the decision."""
        self._limits = NotionalLimits()
        self.refusals = StandingRefusals(self.cache, self._markets, self.bounds)
        self._advance = advancing(markets)
        self._health = {name: ExchangeHealthWatch(name, store, self.cache, wall_clock=agenda.now) for name in accounts}
        self._reserver = self._one_reserver(sized)
        self._traders = {name: self._executor(name, account) for name, account in accounts.items()}
        self._begun: set[LegKey] = set()
        self._busy: set[LegKey] = set()
        next(iter(self._health.values())).observe(run_to_end(store.overview()))
        self.cache.update_balances(run_to_end(store.balances.rows()))

    def best_first(self, together: list[Sighting]) -> list[Sighting]:
        """Return what was found at one moment in the order in which it is decided."""
        if len(together) == 1:
            return together
        now = self._agenda.now()
        return sorted(together, key=lambda one: self.cache.surplus(one.opportunity, now), reverse=True)

    def decide(self, one: Sighting) -> str | None:
        """Decide on an opportunity now. Returns why it is not traded, or None if an arbitrage was begun."""
        now = self._agenda.now()
        self.see_day()
        if now >= one.expires_at:
            self.missed += 1
            return EXPIRED
        # most opportunities end here, before they are whole
        reason = self.refusals.reason(one, now)
        if reason is None:
            return self._decided(one)
        self.rejections.count(reason)
        return reason

    def _decided(self, one: Sighting) -> str | None:
        """Return what the bots decide."""
        opportunity = one.opportunity
        reason = settings_rejection(opportunity, self._markets, self.cache.settings)
        if reason in (None, BELOW_THRESHOLD):
            self.refusals.let_through(one.pair)
        if reason is not None and not self._may_bring_back(opportunity, reason):
            self.rejections.reject(opportunity, reason, self._agenda.now())
            return reason
        run_to_end(self._reserver.attempt(opportunity))
        is_begun = self._follow(opportunity.opportunity_id)
        rejected = self.rejections.newest_reason(opportunity.opportunity_id)
        if not is_begun:
            self.refusals.learn(one, self._agenda.now(), rejected, partial(self._reserver.context, opportunity))
        return rejected if is_begun or rejected is not None else EXPIRED

    def _may_bring_back(self, opportunity: Opportunity, reason: str) -> bool:
        """Whether only the lower threshold of a trade that brings inventory back could be meant for it."""
        return reason == BELOW_THRESHOLD and self.cache.imbalance(opportunity) is not None

    def see_day(self) -> None:
        """Put the fees of this day in force, if exchanges have tiers."""
        if self._fees.see_day(self._agenda.now()):
            self.change(self.cache.settings)

    def see_balances(self, places: Iterable[tuple[str, str]]) -> None:
        """Learn that others than these bots moved those balances: (exchange, currency)."""
        self.cache.update_some_balances(self._store.balances.of(places))
        self.refusals.changed()

    def see_order(self, exchange: str, value: Decimal) -> None:
        """Learn that an order has ended that the rate limits and the fees count; `value` in the settlement currency."""
        budget = self.cache.partners.budgets.get(exchange)
        if budget is not None:
            budget.record_leg()
        if value:
            self._fees.add(exchange, value, self._agenda.now())

    def tradable(self, one: Sighting) -> Decimal:
        """Return what one trade on it could have had now."""
        return self.tradable_at(one, self._agenda.now())

    def tradable_at(self, one: Sighting, now: int) -> Decimal:
        """Return the same at another time, by what is known now."""
        if self.refusals.misses_nothing(one, now):
            return ZERO
        return tradable_profit(one.opportunity, self.bounds(one.opportunity))

    def bounds(self, opportunity: Opportunity) -> TradeBounds:
        """Return the bounds of one trade now."""
        buy, sell, free = opportunity.buy, opportunity.sell, self.cache.free
        return TradeBounds(
            notional=self._limits.most(opportunity, self.cache.settings),
            quote=free.get((buy.exchange, buy.quote_currency)),
            base=free.get((sell.exchange, opportunity.base)),
            minimum=max(self._least(buy), self._least(sell)),
        )

    def _least(self, leg: OpportunityLeg) -> Decimal:
        """Return the smallest order without regard to lots: needed for each rejection, so computed cheaply."""
        market = self._markets.get((leg.exchange, leg.symbol))
        return ZERO if market is None else max(market.minimum_amount, market.minimum_notional / leg.price)

    def change(self, settings: Settings) -> None:
        """Put these in force from now on, except the fees of exchanges with tiers."""
        fees = {**settings.taker_fees, **self._fees.today}
        settings = settings.model_copy(update={"taker_fees": fees})
        version = self._store.settings.in_force().version
        self.cache.settings = run_to_end(self._store.settings.change(settings, version, "backtest"))

    def _one_reserver(self, sized: Size) -> Reserver:
        return Reserver(
            store=self._store,
            markets=self._markets,
            clock=self._agenda,
            cache=self.cache,
            rejection_log=self.rejections,
            # both legs are begun together, once both are reserved
            execute=lambda _arbitrage: None,
            wall_clock=self._agenda.now,
            actor_of=lambda _base: UNFENCED,
            places_left=self.cache.places_left,
            sized=sized,
        )

    def _executor(self, exchange: str, account: SimulatedAccount) -> LegExecutor:
        record_failure = partial(self.record_failure, exchange)
        server_clock = ServerClock(self._agenda.now)
        server_clock.observe(self._agenda.now(), self._agenda.now())
        return LegExecutor(
            self._store,
            account,
            UNFENCED,
            steady_clock=self._agenda.now,
            record_failure=record_failure,
            server_clock=server_clock,
            rules=ReportRules(self._markets, lambda: self.cache.settings),
        )

    def _follow(self, identity: str) -> bool:
        """Do what a bot does when it is notified of a change of this arbitrage; False if there is nothing to do."""
        arbitrage = run_to_end(self._store.arbitrage(identity))
        if arbitrage is None:
            return False
        self.cache.update_arbitrage(arbitrage)
        self.cache.update_some_balances(self._store.balances.of(_places(arbitrage)))
        self.refusals.changed()
        if arbitrage.state in OPEN_STATES:
            self._work_on(arbitrage)
        return True

    def _work_on(self, arbitrage: Arbitrage) -> None:
        for leg in arbitrage.legs:
            key = (arbitrage.arbitrage_id, leg.role)
            if not leg.is_final and key not in self._busy:
                self._busy.add(key)
                self._agenda.schedule(self._agenda.now() + self._wait(key), partial(self._execute, key, leg))

    def _wait(self, key: LegKey) -> int:
        """Return how long the leg waits: the first two follow from the decision, one more takes another decision, and a
        leg that had to wait is tried again in the next round."""
        if key in self._begun:
            return RETRY
        return 0 if key[1] in ("buy", "sell") else self._decision

    def _execute(self, key: LegKey, leg: Leg) -> None:
        self._begun.add(key)
        work = self._granted(key) if leg.state == "reserved" else self._traders[leg.exchange].execute(key[0], leg)
        self._agenda.start(work, lambda: self._executed(key))

    async def _granted(self, key: LegKey) -> None:
        await self._store.grant(*key, UNFENCED)

    def _executed(self, key: LegKey) -> None:
        """Book each leg as it ends; what follows from the last one is done at once."""
        self._busy.discard(key)
        identity, role = key
        arbitrage = run_to_end(self._store.book(identity, self._advance, UNFENCED))
        leg = arbitrage.leg(role)
        if leg is not None:
            self._fees.see(arbitrage.opportunity, leg, self._agenda.now())
        self._follow(identity)

    def record_failure(self, exchange: str, kind: FailureKind, subject: str) -> None:
        """Count a failure of an exchange against its circuit breaker."""
        self._health[exchange].record_failure(kind, subject)
        run_to_end(self._health[exchange].write())
        self._health[exchange].observe(run_to_end(self._store.overview()))
        self.refusals.changed()


def _places(arbitrage: Arbitrage) -> Iterator[tuple[str, str]]:
    """Return the balances that its legs and their fees may have moved."""
    for leg in arbitrage.legs:
        fees = (fill.fee_currency for fill in leg.fills)
        for currency in dict.fromkeys((leg.base, leg.quote_currency, *fees)):
            yield leg.exchange, currency
