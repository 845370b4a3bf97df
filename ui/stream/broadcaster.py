"""Publishes to all clients: each message is encoded once, and each client reads at its own pace."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from market.trade.arbitrages import Arbitrage
from session.clock import wall_now
from session.session import Session
from store.queries.trade_reader import TradeReader
from ui.live.latency_histograms import LatencyHistogram
from ui.live.live_state import KEPT_ARBITRAGES, LiveState
from ui.stream.live_clients import LiveClient, LiveMessage, MessageKind, SequenceNumbers
from ui.stream.live_messages import SHOWN_ARBITRAGES, snapshot_message
from ui.stream.missed_trades import ANSWER_SECONDS, MissedTrades, reaches_back, read_missed, reserved_since


class Broadcaster:
    """Runs on one event loop; publishing never waits for a client."""

    def __init__(
        self, session: Session, live_state: LiveState, reader: TradeReader, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """`answer_seconds`: how long the store may take to say what somebody who comes back has missed."""
        self._session = session
        self._state = live_state
        self._reader = reader
        self._answer_seconds = answer_seconds
        self._numbers = SequenceNumbers()
        self._clients: set[LiveClient] = set()
        self._snapshot: LiveMessage | None = None
        self._resynchronisations = 0
        self.deliveries = LatencyHistogram()
        """From publishing until a client's connection took the message; without snapshots."""

    def __len__(self) -> int:
        return len(self._clients)

    @property
    def pages(self) -> int:
        """Number of browser tabs; programs, such as the session's own counters, are not counted."""
        return sum(client.is_page for client in self._clients)

    @property
    def resynchronisations(self) -> int:
        """How often a client fell behind and was resynced."""
        return self._resynchronisations + sum(client.resynchronisations for client in self._clients)

    @asynccontextmanager
    async def client(self, since: int | None = None, *, is_page: bool = False) -> AsyncIterator[LiveClient]:
        """Adds a client; `since`: the sequence of the last message it received, if it reconnects."""
        client = LiveClient(since, is_page=is_page)
        self._clients.add(client)
        try:
            yield client
        finally:
            self._clients.discard(client)
            self._resynchronisations += client.resynchronisations

    def publish(self, kind: MessageKind, text: str) -> None:
        message = self._numbered(kind, text)
        self._snapshot = None
        for client in self._clients:
            client.offer(message)

    def discard_snapshot(self) -> None:
        """Discards the cached snapshot after a change that was not published."""
        self._snapshot = None

    def resynchronise(self, *, only_owed: bool = False) -> None:
        """Sends a snapshot to every client, or only to those whose last one had gaps."""
        self._snapshot = None
        for client in self._clients:
            if client.is_owed or not only_owed:
                client.resynchronise()

    async def messages(self, client: LiveClient) -> AsyncIterator[LiveMessage]:
        """The messages for the client, without end; the first is a snapshot."""
        while True:
            await client.wait()
            if client.needs_snapshot:
                # changes during this read are in the live state when the snapshot is taken
                older = await self._older_than_stored(client.since)
                client.begin()
                client.is_owed = not older.is_complete
                message = self.snapshot_message(client.since, older)
            else:
                message = client.take()
            if not client.is_owed:
                client.since = message.sequence
            yield message
            if message.kind != "snapshot":
                self.deliveries.observe(wall_now() - message.sequence)

    def snapshot_message(self, since: int | None = None, older: MissedTrades | None = None) -> LiveMessage:
        """The newest trades, and all since `since`."""
        older = older or MissedTrades()
        arbitrages = self._state.arbitrages()
        shown = SHOWN_ARBITRAGES if since is None else max(SHOWN_ARBITRAGES, _changed_since(arbitrages, since))
        if shown == SHOWN_ARBITRAGES and not older.arbitrages and older.is_complete:
            self._snapshot = self._snapshot or self._made_snapshot(arbitrages[:shown], is_complete=True)
            return self._snapshot
        known = {arbitrage.arbitrage_id for arbitrage in arbitrages}
        rest = tuple(one for one in older.arbitrages if one.arbitrage_id not in known)
        wanted = arbitrages + rest if rest else arbitrages[:shown]
        return self._made_snapshot(wanted, is_complete=older.is_complete)

    async def _older_than_stored(self, since: int | None) -> MissedTrades:
        if since is None:
            return MissedTrades()
        if not self._state.sources.mongodb:
            return MissedTrades(is_complete=False)
        if reaches_back(self._state.arbitrages(), KEPT_ARBITRAGES, since):
            return MissedTrades()
        return await read_missed(self._reader, since, self._answer_seconds)

    def _made_snapshot(self, arbitrages: tuple[Arbitrage, ...], *, is_complete: bool) -> LiveMessage:
        snapshot = replace(self._state.snapshot(), arbitrages=arbitrages)
        text = snapshot_message(self._session, snapshot, len(arbitrages))
        return self._numbered("snapshot", text, f'"is_complete":{"true" if is_complete else "false"},')

    def _numbered(self, kind: MessageKind, text: str, members: str = "") -> LiveMessage:
        """`text` is a JSON object; the sequence becomes its first member."""
        sequence = self._numbers.next()
        return LiveMessage(sequence, kind, f'{{"sequence":{sequence},{members}{text[1:]}')


def _changed_since(arbitrages: Sequence[Arbitrage], since: int) -> int:
    """How many of them, newest first, until the last that may have changed after `since`."""
    return max((place + 1 for place, one in enumerate(arbitrages) if reserved_since(one, since)), default=0)
