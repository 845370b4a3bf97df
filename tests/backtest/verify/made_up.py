"""A small recorded session, made up: two exchanges, a few ticks, every kind of decision, by the real functions."""

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from backtest.verify.recorded_session import (
    ARBITRAGES,
    EXPORTED_ARBITRAGE,
    EXPORTED_FILL,
    FILLS,
    HEAD,
    OPPORTUNITIES,
    REJECTION,
    REJECTIONS,
    SESSION,
    SETTINGS,
    SETTINGS_VERSION,
    SIGNAL,
    SIGNALS,
    SessionHead,
)
from bots.decide.reserver import Reserver
from bots.decide.state_cache import StateCache
from bots.execute.rejection_log import RejectionLog
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.orders import OrderReport
from market.money import Amount, Price
from market.prices.opportunities import Opportunity
from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg, LegRole
from market.trade.leases import UNFENCED, Actor, decision_right
from market.trade.moving_average import AverageTrade, Close
from market.trade.reservation_state import SIDES
from market.trade.unwinding import advancing, markets_by_symbol
from pricefeeds.recording.feed_recording import (
    RecordedEvent,
    RecordingHeader,
    end_line,
    event_line,
    header_line,
    part_path,
    row_text,
)
from store.memory.store import MemoryTradeStore
from store.queries.session_export import ExportedArbitrage, ExportedFill
from store.server.documents import SettingsVersion
from streams.message_format import mark_row, marker_row, opportunity_of, quote_row, row_of, settings_row
from streams.records import Record
from streams.topics import TICKS
from tests.backtest.verify.derivation import plainly_derived
from tests.market.average_rules import app_rule
from tests.market.samples import EUR_MARKET, USD_MARKET, fill_of, levels, settings_of
from tests.store.booking import finish_leg, record_sent
from tick_sets.file_names import LOG_SET
from tick_sets.sets.log_parts import ROW_SCHEMA, LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set
from tick_sets.sets.tick_set import open_tick_set

START = 1_700_000_000 * MICROSECONDS
STEP = 100_000
SESSION_ID = "0123456789abcdef"
FX_MARKET = replace(USD_MARKET, exchange="desk", symbol="EUR/USD", base="EUR", is_fx=True)
MARKETS = (USD_MARKET, EUR_MARKET, FX_MARKET)
TRADED = (USD_MARKET, EUR_MARKET)
RICH = {"alpha": {"USD": Decimal(100_000), "BTC": Decimal(10)}, "beta": {"EUR": Decimal(100_000), "BTC": Decimal(10)}}
VERSIONS = (
    settings_of(version=1),
    settings_of(version=2, min_net_bps=100.0),
    settings_of(version=3, max_slippage_bps=7.0),
)
Value = TypeVar("Value")


class SteppedClock:
    """Stands still until moved."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * MICROSECONDS)


def quote(market: Market, number: int, sequence: int, bid: str, ask: str) -> Quote:
    kind = "fx" if market.is_fx else "quote"
    time = START + number * STEP
    names = (kind, market.exchange, market.region, market.symbol, market.base, market.quote_currency)
    return Quote(*names, levels((bid, "5")), levels((ask, "5"), ("103", "9")), None, time, sequence)  # type: ignore[arg-type]  # a literal, as above


def rows() -> list[Quote | FeedMark | Settings]:
    """Return the log, a row each tenth of a second."""
    alpha, beta = USD_MARKET, EUR_MARKET
    mark = FeedMark("alive", "alpha", "us", "BTC/USD", "BTC", "USD", START + 5 * STEP, 2)
    return [
        VERSIONS[0],
        quote(FX_MARKET, 1, 1, "1.0999", "1.1001"),
        quote(alpha, 2, 1, "99.9", "100"),
        quote(beta, 3, 1, "91.5", "91.6"),
        quote(alpha, 4, 2, "99.9", "100"),
        mark,
        VERSIONS[1],
        quote(beta, 7, 2, "91.5", "91.6"),
        VERSIONS[2],
        quote(alpha, 9, 3, "99.9", "100"),
        quote(beta, 10, 3, "91.5", "91.6"),
        quote(alpha, 11, 4, "99", "102"),
    ]


def row_bytes(number: int, row: Quote | FeedMark | Settings) -> bytes:
    if isinstance(row, Settings):
        return settings_row(row, START + number * STEP, ("BTC",))
    if isinstance(row, Quote):
        return quote_row(row, ("BTC",) if row.kind == "fx" else ())
    return mark_row(row)


async def made_up_session(folder: Path) -> None:
    """Write the session's folder."""
    log = folder / "log"
    span = _write_log(folder, rows())
    messages = list(plainly_derived(open_tick_set(log / LOG_SET)))
    write_messages(log / OPPORTUNITIES, [(START + offset * STEP, value) for _, offset, value in messages])
    world = await World.traded([_opportunity(value, offset) for _, offset, value in messages])
    write_lines(log / ARBITRAGES, world.arbitrages(), EXPORTED_ARBITRAGE)
    write_lines(log / REJECTIONS, world.store.rejections.values(), REJECTION)
    write_lines(log / SIGNALS, await signals(world.store), SIGNAL)
    write_lines(log / FILLS, world.fills(), EXPORTED_FILL)
    before = (None, *VERSIONS)
    versions = [
        SettingsVersion(one.version, START - 10 * MICROSECONDS, "test", before[one.version - 1], one)
        for one in VERSIONS
    ]
    write_lines(log / SETTINGS, versions, SETTINGS_VERSION)
    (log / SESSION).write_bytes(HEAD.dump_json(SessionHead("paper", span)))


async def signals(store: MemoryTradeStore) -> list[AverageTrade]:
    """Return signals of one market of alpha, a close each five seconds."""
    for number, price in enumerate(("100", "99", "101", "98", "98.5", "102"), start=1):
        period = START + number * 5 * MICROSECONDS
        close = Close("alpha", "us", "BTC/USD", Price(Decimal(price)), period, period, "us")
        await store.averages.record_closes([close], app_rule(), with_order=False, by=UNFENCED)
    return await store.averages.trades()


def write_lines(path: Path, values: Iterable[Value], adapter: TypeAdapter[Value]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(adapter.dump_json(value) + b"\n" for value in values))


def write_messages(path: Path, messages: Sequence[tuple[int, bytes]]) -> None:
    """Write (time, value)."""
    columns = [[0] * len(messages), list(range(len(messages))), [time for time, _ in messages]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ROW_SCHEMA, strict=False)]
    values = pa.array([value for _, value in messages], pa.binary())
    pq.write_table(pa.Table.from_arrays([*arrays, values], schema=ROW_SCHEMA), path)


def _write_log(folder: Path, log: Sequence[Quote | FeedMark | Settings]) -> LogSpan:
    values = [row_bytes(number, row) for number, row in enumerate(log)]
    values.append(marker_row("end", "BTC", SESSION_ID, START + len(log) * STEP))
    parts = LogParts(folder / "log" / "raw")
    parts.write(TICKS, [Record(TICKS, 0, number, None, value, START) for number, value in enumerate(values)])
    span = LogSpan(SESSION_ID, MARKETS, "USD", 1, {0: 0}, None, {"BTC": len(values) - 1}, START)
    build_tick_set(parts, span, folder / "log" / LOG_SET)
    for exchange in ("alpha", "beta"):
        write_feed(folder / exchange, [row for row in log if not isinstance(row, Settings)])
    return span


def write_feed(folder: Path, log: Sequence[Quote | FeedMark]) -> None:
    folder.mkdir()
    header = RecordingHeader(SESSION_ID, folder.name, MARKETS)
    own = [row for row in log if row.exchange == folder.name]
    notes = [event_line(RecordedEvent(row.symbol, "row", row.received_time, row_text(row))) for row in own]
    text = b"".join((header_line(header), *notes, end_line("closed")))
    part_path(folder, folder.name, 1).write_bytes(gzip.compress(text))


def _opportunity(value: bytes, offset: int) -> Opportunity:
    found = opportunity_of(row_of(value), START + offset * STEP)
    assert isinstance(found, Opportunity)
    return found


@dataclass
class World:
    """One process that decides, both bots and their store."""

    clock: SteppedClock
    store: MemoryTradeStore
    notes: RejectionLog
    reserver: Reserver
    bots: dict[str, Actor]
    """By exchange."""

    @classmethod
    async def traded(cls, opportunities: list[Opportunity]) -> "World":
        """Trade: one closed, one of which no order left, one whose second order filled nothing and was replaced; and
        one rejected by each of: the settings, the liquidity that is left, a bot that takes no new trade."""
        world = await cls._opened()
        closed, used_up, _, rejected, unfilled, vetoed, single = opportunities
        await world._close(closed)
        await world._attempt(used_up)
        await world._settle(2)
        await world._attempt(rejected)
        await world._settle(3)
        await world._leave_unposted(unfilled)
        await world.store.leases.set_veto(world.bots["beta"], "account_rejected")
        await world._attempt(vetoed)
        await world.store.leases.set_veto(world.bots["beta"], None)
        await world._replace_sell(single)
        await world.notes.write(world.store, 0)
        return world

    @classmethod
    async def _opened(cls) -> "World":
        clock = SteppedClock()
        store = MemoryTradeStore(clock)
        store.are_steps_recorded = True
        await store.settings.create(VERSIONS[0])
        for exchange, balances in RICH.items():
            await store.balances.replace(exchange, balances, "before", UNFENCED)
        cache = StateCache(VERSIONS[0])
        cache.update_balances(await store.balances.rows())
        notes = RejectionLog(cache.bounds_of)
        deciding = await store.leases.acquire(decision_right(0), "decider")
        assert deciding is not None
        reserver = Reserver(
            store,
            markets_by_symbol(TRADED),
            clock,
            cache,
            notes,
            execute=lambda _: None,
            actor_of=lambda _: deciding.actor,
            places_left=lambda _, __: (None, None),
            wall_clock=clock.now,
        )
        world = cls(clock, store, notes, reserver, {})
        await world._take_leases()
        return world

    async def _take_leases(self) -> None:
        """Take leases as each bot does, which then takes new trades; again under another token."""
        for exchange in RICH:
            lease = await self.store.leases.acquire(exchange, f"bot-{exchange}")
            assert lease is not None
            self.bots[exchange] = lease.actor
            await self.store.leases.set_veto(lease.actor, None)

    async def _settle(self, version: int) -> None:
        await self.store.settings.change(VERSIONS[version - 1], version - 1, "test")
        self.reserver.cache.settings = VERSIONS[version - 1]

    async def _attempt(self, opportunity: Opportunity) -> None:
        self.clock.time = max(self.clock.time, opportunity.event_time + 10_000)
        self.reserver.cache.replace_open(await self.store.open_arbitrages())
        await self.reserver.attempt(opportunity)

    async def _close(self, opportunity: Opportunity) -> None:
        await self._attempt(opportunity)
        for role in SIDES:
            self.clock.time += 1_000
            leg = await self._leg(opportunity, role)
            await record_sent(self.store, opportunity.opportunity_id, role, f"order-{role}", self.bots[leg.exchange])
            await self._fill(opportunity, leg)

    async def _leave_unposted(self, opportunity: Opportunity) -> None:
        await self._attempt(opportunity)
        for role in SIDES:
            stopped = OrderReport("", True, Amount(Decimal(0)), (), is_posted=False, reason="halted")
            await self._finish(opportunity, await self._leg(opportunity, role), stopped)

    async def _replace_sell(self, opportunity: Opportunity) -> None:
        """Replace the sell: its replacement is reserved while nobody acts for its exchange, and granted to whoever does
        then."""
        await self._attempt(opportunity)
        buy, sell = [await self._leg(opportunity, role) for role in SIDES]
        await self._fill(opportunity, buy, "2")
        self.clock.time += 4 * MICROSECONDS
        await self._finish(opportunity, sell, OrderReport("order-sell", True, Amount(Decimal(0)), ()))
        assert (await self._leg(opportunity, "complete")).state == "reserved"
        await self._take_leases()
        added = await self.store.grant(opportunity.opportunity_id, "complete", self.bots["beta"])
        assert added is not None
        assert added.token == self.bots["beta"].token == 2
        await self._fill(opportunity, added, "2")

    async def _leg(self, opportunity: Opportunity, role: LegRole) -> Leg:
        arbitrage = await self.store.arbitrage(opportunity.opportunity_id)
        leg = None if arbitrage is None else arbitrage.leg(role)
        assert leg is not None
        return leg

    async def _fill(self, opportunity: Opportunity, leg: Leg, fill_id: str = "1") -> None:
        """Fill all of it."""
        market = USD_MARKET if leg.exchange == "alpha" else EUR_MARKET
        seen = opportunity.buy if leg.side == "buy" else opportunity.sell
        fill = fill_of(market, leg.side, leg.amount, seen.price, Decimal("0.001"), fill_id)
        posted_at = leg.times["granted"] + 500
        report = OrderReport(f"order-{leg.role}", True, Amount(leg.amount), (fill,), posted_at=posted_at)
        await self._finish(opportunity, leg, report)

    async def _finish(self, opportunity: Opportunity, leg: Leg, report: OrderReport) -> None:
        by = self.bots[leg.exchange]
        await finish_leg(self.store, opportunity.opportunity_id, leg.role, report, advancing(TRADED), by)

    def arbitrages(self) -> list[ExportedArbitrage]:
        steps = self.store.steps
        return [ExportedArbitrage(one, tuple(steps[name])) for name, one in self.store._arbitrages.items()]

    def fills(self) -> list[ExportedFill]:
        arbitrages = self.store._arbitrages.values()
        return [ExportedFill(one.arbitrage_id, fill) for one in arbitrages for leg in one.legs for fill in leg.fills]
