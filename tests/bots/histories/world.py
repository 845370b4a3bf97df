"""Everything of one history: the store, both exchanges, the bots' processes, and the one time that moves them."""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random
from typing import ClassVar, Literal, TypeVar

from bots.loop import BotLoop
from market.decide.kill_switch import TradingState
from market.decide.settings import Settings
from market.instruments.cycles import Cycle, CycleLeg
from market.instruments.markets import Market
from market.instruments.orders import Fill
from market.prices.cycle_opportunities import CycleOpportunity, CycleOpportunityLeg
from market.prices.opportunities import Opportunity, OpportunityLeg
from market.trade.arbitrages import Arbitrage
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import Lease
from market.trade.reservation_state import BalanceRow
from runtime import backoff
from store.memory.store import MemoryTradeStore
from tests.bots.histories.exchange_model import FEE_RATE, ExchangeModel
from tests.bots.histories.gates import Fate, Gate, Step
from tests.bots.histories.process import Process, bot_of
from tests.bots.histories.stepped_loop import SteppedLoop, StoreClock, Time
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of

BITFLYER_MARKET = replace(EUR_MARKET, exchange="bitflyer", fee_side="base")
"""On an exchange without client order ids."""


def crosses_of(market: Market) -> tuple[Market, Market]:
    """Return ETH in both currencies of `market`, at its exchange."""
    quote = market.quote_currency
    eth = replace(market, base="ETH", symbol=f"ETH/{quote}")
    return eth, replace(
        eth, symbol="ETH/BTC", quote_currency="BTC", tick_size=Decimal("0.00001"), minimum_notional=Decimal("0.0001")
    )


MARKETS = tuple(one for market in (USD_MARKET, EUR_MARKET, BITFLYER_MARKET) for one in (market, *crosses_of(market)))
OPENING = {
    "alpha": {"USD": Decimal(200_000), "BTC": Decimal(30), "ETH": Decimal(3)},
    "beta": {"EUR": Decimal(200_000), "BTC": Decimal(30)},
    "bitflyer": {"EUR": Decimal(200_000), "BTC": Decimal(30)},
}
"""Less ETH than a whole trade on a cycle sells of it."""
SETTINGS = settings_of(
    enabled_exchanges=tuple(OPENING),
    taker_fees=dict.fromkeys(OPENING, FEE_RATE),
    max_notional=2_000,
    cool_down_ms=0,
    max_quote_age_ms=86_400_000,
    reconcile_ms=1_000,
    ma_trading="off",
)
CYCLE_PRICES: Mapping[str, str] = {"BTC/USD": "6000", "ETH/BTC": "0.05", "ETH/USD": "310"}


MOST_STEPS = 20_000
"""More without time passing is a bot that never rests."""

Blow = Fate | Literal["hang", "crash", "crash_after", "pause", "pause_after", "end"]
"""A fate of one call, or of the process that makes it: `…_after` its effect, before its answer; else before both."""
Answer = TypeVar("Answer")
Store = type[MemoryTradeStore]


def cycles_with(second: Market) -> tuple[Cycle, Cycle]:
    """Return the cycle within alpha, whose last leg waits, and the same with its second leg at `second`."""
    eth_usd, eth_btc = crosses_of(USD_MARKET)
    first, last = CycleLeg(USD_MARKET, "buy"), CycleLeg(eth_usd, "sell")
    middles = eth_btc, crosses_of(second)[1]
    within, across = (Cycle((first, CycleLeg(middle, "buy"), last)) for middle in middles)
    return within, across


@dataclass(frozen=True, slots=True)
class Strike:
    """What befalls the next step of an exchange's processes that fits."""

    exchange: str
    what: str
    """Part of the step's name."""
    is_answer: bool
    blow: Blow

    def hits(self, process: Process, step: Step) -> bool:
        return process.exchange == self.exchange and self.what in step.what and step.is_answer == self.is_answer


@dataclass(eq=False)
class World:
    """Nothing happens in it unless told."""

    open: ClassVar[list["World"]] = []
    """Those not closed yet."""
    second: Market = EUR_MARKET
    """Where the other leg is traded; the first is alpha."""
    settings: Settings = SETTINGS
    make_store: Store = MemoryTradeStore
    make_exchange: type[ExchangeModel] = ExchangeModel
    make_bot: type[BotLoop] = BotLoop
    watched: tuple[Cycle, ...] = ()
    """Cycles that are traded too."""
    time: Time = field(default_factory=Time)
    strikes: list[Strike] = field(default_factory=list)
    blows: dict[int, Blow] = field(default_factory=dict)
    """What befalls the n-th step of all."""
    passed: int = 0
    """How many steps went on, or had a blow, so far."""
    processes: list[Process] = field(default_factory=list)
    offers: int = 0
    states: list[tuple[int, TradingState]] = field(default_factory=list)
    """(since when by the store's clock, trading state), oldest first."""
    clocks: list[tuple[int, int]] = field(default_factory=list)
    """(since when by the store's clock, how far it was ahead from then on), oldest first."""
    leases: dict[str, list[tuple[int, Lease]]] = field(default_factory=dict)
    """What a lease is of → (since when by the store's clock, as it was then), oldest first."""

    def __post_init__(self) -> None:
        World.open.append(self)
        backoff.CHANCE.seed(1)
        self.store_clock = StoreClock(self.time)
        self.store = self.make_store(self.store_clock)
        self.exchanges = {
            market.exchange: self.make_exchange(
                (market, *crosses_of(market)), self.time, dict(OPENING[market.exchange])
            )
            for market in (USD_MARKET, self.second)
        }
        self.names = tuple(self.exchanges)
        self.ask(self.store.settings.create(self.settings))
        self.states.append((self.store_clock.now(), self.settings.trading_state))
        self.clocks.append((self.store_clock.now(), 0))

    def ask(self, question: Coroutine[object, object, Answer]) -> Answer:
        """Return what the store says, beside all gates."""
        loop = SteppedLoop(self.time)
        task = loop.create_task(question)
        loop.run_ready()
        return task.result()

    def arbitrages(self) -> list[Arbitrage]:
        return self.ask(self.store.session_arbitrages())

    def cycles(self) -> list[CycleTrade]:
        return list(self.store.cycle_trades.values())

    def trades(self) -> list[Arbitrage | CycleTrade]:
        """Return all of pairs and of cycles."""
        return [*self.arbitrages(), *self.cycles()]

    def ledger(self) -> list[Fill]:
        return self.ask(self.store.fills())

    def balance_rows(self) -> list[BalanceRow]:
        return self.ask(self.store.balances.rows())

    def change_settings(self, changes: dict[str, object]) -> None:
        """As by REST."""
        current = self.store.settings.versions[-1][0]
        changed = current.model_copy(update=changes)
        self.ask(self.store.settings.change(changed, current.version, "somebody"))
        self.states.append((self.store_clock.now(), changed.trading_state))
        for process in self.processes:
            process.run_ready()

    def set_store_clock_forward(self, micros: int) -> None:
        self.store_clock.ahead += micros
        self.clocks.append((self.store_clock.now(), self.store_clock.ahead))

    def moment_of(self, by_store: int) -> int:
        """Return the moment at which the store's clock showed this."""
        return by_store - next((ahead for since, ahead in reversed(self.clocks) if since <= by_store), 0)

    def leases_at(self, moment: int, of: str) -> list[Lease]:
        """As it was at that time of the store; in the moment of a change, before and after it."""
        known = self.leases.get(of, [])
        before = [lease for since, lease in known if since < moment]
        return [*before[-1:], *(lease for since, lease in known if since == moment)]

    # ---- processes

    def start(self, exchange: str) -> Process:
        process = Process(f"{exchange}-{len(self.processes) + 1}", exchange, SteppedLoop(self.time), Gate())
        self.processes.append(process)
        exchange_model = self.exchanges[exchange]
        process.begin(bot_of(process, self.store, exchange_model, MARKETS, self.time, self.make_bot, self.watched))
        return process

    def alive(self, exchange: str | None = None) -> list[Process]:
        return [one for one in self.processes if not one.is_over and exchange in (None, one.exchange)]

    # ---- the market

    def offer(self, is_buy_first: bool = True, amount: str = "0.3") -> Opportunity:
        """Return an opportunity, now: buy at the first exchange, sell at the second, or the other way; all hear of it
        but those that only stand by."""
        self.offers += 1
        usd, eur = ("6000", "5618") if is_buy_first else ("6200", "5400")
        books = [(USD_MARKET, levels((usd, amount))), (self.second, levels((eur, amount)))]
        buy, sell = books if is_buy_first else reversed(books)
        opportunity = opportunity_of(
            buy, sell, identity=f"opportunity-{self.offers}", event_time=self.time.now(), sequence=self.offers
        )
        self._tell(opportunity)
        return opportunity

    def offer_cycle(self, place: int = 0, amount: str = "20") -> CycleOpportunity:
        """Return a cycle that pays now, of `watched`; all hear of it but those that only stand by."""
        self.offers += 1
        cycle, now = self.watched[place], self.time.now()
        found = CycleOpportunity(
            opportunity_id=f"cycle-{self.offers}",
            cycle_id=cycle.cycle_id,
            legs=tuple(self._seen(leg, amount) for leg in cycle.legs),
            settings_version=1,
            net_bps=100.0,
            event_time=now,
            detected_time=now,
            expires_at=now + 500_000,
            offset=self.offers,
        )
        self._tell(found)
        return found

    def _seen(self, leg: CycleLeg, amount: str) -> CycleOpportunityLeg:
        market = leg.market
        book = levels((CYCLE_PRICES[market.symbol], amount))
        quote = OpportunityLeg(
            exchange=market.exchange,
            symbol=market.symbol,
            quote_currency=market.quote_currency,
            price=book[0].price,
            amount=book[0].amount,
            levels=book,
            quote_id=f"{market.exchange}:{market.symbol}:{self.offers}",
            age=0,
            exchange_time=None,
            received_time=self.time.now(),
        )
        return CycleOpportunityLeg(leg.side, quote)

    def _tell(self, signal: Opportunity | CycleOpportunity) -> None:
        for process in self.alive():
            if process.is_acting:
                process.signals.put_nowait(signal)
                process.run_ready()

    # ---- time and steps

    def pass_step(self, process: Process, step: Step, fate: Fate = "through") -> None:
        """Let one call go on, unless a blow or a strike was meant for it."""
        blow = self.blows.get(self.passed, fate)
        self.passed += 1
        strike = next((one for one in self.strikes if one.hits(process, step)), None)
        if strike is not None:
            self.strikes.remove(strike)
            blow = strike.blow
        self._befall(process, step, blow)

    def _befall(self, process: Process, step: Step, blow: Blow) -> None:
        if blow in ("through", "held", "failed"):
            step.passed.set_result(blow)
            process.run_ready()
        elif blow == "hang":
            process.hanging.add(step)
        elif blow == "end":
            process.end()
        else:
            if blow in ("crash_after", "pause_after"):
                step.passed.set_result("held")
                process.run_ready()
            if blow in ("crash", "crash_after"):
                process.die()
            else:
                process.is_paused = True
        self._note_leases()

    def _note_leases(self) -> None:
        now = self.store_clock.now()
        for name, lease in self.store.leases.kept.items():
            known = self.leases.setdefault(name, [])
            if not known or known[-1][1] != lease:
                known.append((now, lease))

    def calm(self, random: Random | None = None) -> None:
        """All that goes on without time passing: oldest step first, or in the order that `random` likes."""
        for _ in range(MOST_STEPS):
            waiting = [(process, step) for process in self.processes for step in process.steps]
            if not waiting:
                return
            self.pass_step(*(waiting[0] if random is None else random.choice(waiting)))
        raise AssertionError("the bots never rest")

    def run(self, seconds: float, random: Random | None = None) -> None:
        """So much time passes, and all that goes on in it."""
        end = self.time.now() + round(seconds * 1_000_000)
        self.calm(random)
        while (moment := self._next_moment()) is not None and moment <= end:
            self._move_to(moment)
            self.calm(random)
        self._move_to(end)

    def let_pass(self, seconds: float) -> None:
        """Time passes, and every call waits on."""
        self._move_to(self.time.now() + round(seconds * 1_000_000))

    def _move_to(self, moment: int) -> None:
        self.time.micros = max(moment, self.time.micros)
        for exchange in self.exchanges.values():
            exchange.let_arrive()
        for process in self.processes:
            process.run_ready()

    def _next_moment(self) -> int | None:
        timers = [one.loop.next_timer() for one in self.processes if not one.is_over and not one.is_paused]
        arrivals = [exchange.next_arrival() for exchange in self.exchanges.values()]
        return min((one for one in (*timers, *arrivals) if one is not None), default=None)

    def mend(self) -> None:
        """Nothing fails any more, and every exchange has a bot."""
        self.strikes.clear()
        self.blows.clear()
        for exchange in self.exchanges.values():
            exchange.show_everything()
        for process in self.alive():
            process.hanging.clear()
            process.wake()
        for name in self.exchanges:
            if not self.alive(name):
                self.start(name)

    def close(self) -> None:
        for process in self.alive():
            process.die()
        if self in World.open:
            World.open.remove(self)
