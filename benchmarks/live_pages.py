"""CPU of the dashboard's live stream by markets, ticks and pages, on generated ticks, without Kafka, store and sockets.

`python -m benchmarks.live_pages [--seconds N]`. The hub gets the rows of the log in batches, ten a second, as its
reader hands them over; pulses, matrix and ledger go out as often as in a session, to pages that each show one asset.
The cost of the clients of Kafka and MongoDB and of the sockets is not in the figures. Cores are CPU seconds of this
process per second.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks.generated_ticks import ASSETS, SETTINGS, GeneratedTicks, markets
from market.prices.feed_state import FeedState
from market.time_units import MICROSECONDS
from market.trade.reservation_state import BalanceRow
from runtime.clock import SystemClock, wall_now
from session.session import Services, Session
from store.queries.trade_reader import TradeReader
from store.server.client import connect
from streams.message_format import quote_row
from streams.records import Record
from streams.topics import TICKS
from tests.ui.samples import NOWHERE
from ui.live.snapshot import Ledger
from ui.stream.live_clients import LiveClient
from ui.stream.live_hub import BOOKS_SECONDS, FETCH_WAIT_SECONDS, PULSE_SECONDS, LiveHub
from ui.stream.live_messages import ledger_message

MANY_ASSETS = (*ASSETS, *(f"X{number:02}" for number in range(len(ASSETS), 50)))
CASES = ((1, 100, 1), (4, 400, 1), (20, 2_000, 1), (50, 1_000, 1), (50, 5_000, 0), (50, 5_000, 1), (50, 5_000, 5))
"""Assets on five exchanges, ticks a second, pages."""
MAKING_MICROSECONDS = 250
"""The maximum for one row."""


@dataclass(slots=True)
class Costs:
    """CPU seconds, and what went out to pages."""

    rows: float = 0.0
    pulses: float = 0.0
    ledgers: float = 0.0
    characters: int = 0
    late: int = 0
    """Microseconds that the last batch waited: large if one core was not enough."""


def session_of(home: Path, assets: tuple[str, ...]) -> Session:
    return Session(
        "session-1", "paper", home, Services(NOWHERE, f"mongodb://{NOWHERE}", "unused"), markets(assets), "USD"
    )


def ledger_of(session: Session, empty: Ledger) -> Ledger:
    now = wall_now()
    places = sorted({(one.exchange, name) for one in session.traded for name in (one.base, one.quote_currency)})
    balances = tuple(BalanceRow(exchange, currency, Decimal(1_000), Decimal(0)) for exchange, currency in places)
    feeds = tuple(FeedState(one.exchange, one.region, one.symbol, "live", now, now, 1_000) for one in session.markets)
    opening: dict[str, dict[str, Decimal]] = {}
    for row in balances:
        opening.setdefault(row.exchange, {})[row.currency] = row.free
    return replace(empty, balances=balances, feeds=feeds, opening=opening)


def timed(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def drain(clients: Sequence[LiveClient], costs: Costs) -> None:
    for client in clients:
        if client.needs_snapshot:
            client.begin()
        while client.waiting:
            costs.characters += len(client.take().text)


async def measured(assets: tuple[str, ...], rate: int, pages: int, seconds: float) -> Costs:
    with tempfile.TemporaryDirectory() as home:
        session = session_of(Path(home), assets)
        reader = TradeReader(connect(session.services.mongodb), session.services.database)
        hub = LiveHub(session, reader)
        hub.apply_settings(SETTINGS)
        hub.live_state.ledger = ledger_of(session, hub.live_state.ledger)
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(hub.broadcaster.client(base=assets[number % len(assets)], is_page=True))
                for number in range(pages)
            ]
            costs = await _run(hub, session, clients, generated(assets, rate, seconds))
        await reader.close()
    return costs


async def _run(
    hub: LiveHub, session: Session, clients: Sequence[LiveClient], batches: Sequence[Sequence[Record]]
) -> Costs:
    """Apply each batch at the time of its rows."""
    costs, clock = Costs(), SystemClock()
    next_pulse = next_ledger = batches[0][0].time
    for records in batches:
        await clock.sleep(max(0, records[0].time - wall_now()) / MICROSECONDS)
        costs.rows += timed(partial(hub.apply_records, records))
        if records[0].time >= next_pulse:
            next_pulse += int(PULSE_SECONDS * MICROSECONDS)
            costs.pulses += timed(hub.pulse)
        if records[0].time >= next_ledger:
            next_ledger += int(BOOKS_SECONDS * MICROSECONDS)
            costs.ledgers += timed(partial(publish_ledger, hub, session))
        drain(clients, costs)
    costs.late = wall_now() - batches[-1][0].time
    return costs


def generated(assets: tuple[str, ...], rate: int, seconds: float) -> list[list[Record]]:
    """Return batches of rows of the log. Their times begin after all are made: making them takes longer than reading
    them."""
    ticks = GeneratedTicks(1, assets)
    start = wall_now() + int(rate * seconds * MAKING_MICROSECONDS) + MICROSECONDS
    batches: list[list[Record]] = []
    for number in range(round(seconds / FETCH_WAIT_SECONDS)):
        at = start + int(number * FETCH_WAIT_SECONDS * MICROSECONDS)
        quotes = [*ticks.rates(at), *(ticks.next(at) for _ in range(round(rate * FETCH_WAIT_SECONDS)))]
        batches.append([Record(TICKS, 0, number, one.base, quote_row(one), at) for one in quotes])
    return batches


def publish_ledger(hub: LiveHub, session: Session) -> None:
    """Publish as the hub does after each read of balances and feeds."""
    hub.broadcaster.publish("ledger", ledger_message(session, hub.live_state.books()))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="live_pages", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each case")
    seconds = parser.parse_args(words).seconds
    head = "markets  ticks/s  pages    rows  pulses  ledgers    all, cores   kB/s a page  late, ms"
    sys.stdout.write(f"{head}\n")
    for count, rate, pages in CASES:
        costs = asyncio.run(measured(MANY_ASSETS[:count], rate, pages, seconds))
        parts = [one / seconds for one in (costs.rows, costs.pulses, costs.ledgers)]
        sent = costs.characters / 1_000 / seconds / max(pages, 1)
        figures = "  ".join(f"{one:6.3f}" for one in parts)
        line = f"{5 * count:7}  {rate:7}  {pages:5}  {figures}  {sum(parts):12.3f}  {sent:12.1f}"
        sys.stdout.write(f"{line}  {costs.late / 1_000:8.0f}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
