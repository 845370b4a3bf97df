"""Publishes to all clients: each message is encoded once, and each client reads at its own pace."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from market.trade.arbitrages import Arbitrage
from runtime.clock import wall_now
from session.session import Session
from store.queries.trade_reader import TradeReader
from ui.live.latency_histograms import LatencyHistogram
from ui.live.state import KEPT_ARBITRAGES, LiveState
from ui.rows.matrix import MatrixRow, matrix_row
from ui.stream.live_clients import LiveClient, LiveMessage, MessageKind, SequenceNumbers
from ui.stream.live_messages import SHOWN_ARBITRAGES, assets_message, snapshot_message
from ui.stream.missed_trades import ANSWER_SECONDS, MissedTrades, reaches_back, read_missed, reserved_since


class Broadcaster:
    """Runs on one event loop; publishing never waits for a client."""

    def __init__(
        self, session: Session, live_state: LiveState, reader: TradeReader, answer_seconds: float = ANSWER_SECONDS
    ) -> None:
        """`answer_seconds`: how long the store may take to find what a reconnecting client has missed."""
        self._session = session
        self._state = live_state
        self._reader = reader
        self._answer_seconds = answer_seconds
        self._numbers = SequenceNumbers()
        self._clients: set[LiveClient] = set()
        self._snapshots: dict[str | None, LiveMessage] = {}
        """By the asset shown."""
        self._assets: dict[str, MatrixRow] = {}
        """The rows as they were last published."""
        self._resynchronisations = 0
        self.deliveries = LatencyHistogram()
        """Time from publishing until a client's connection took the message; without snapshots."""

    def __len__(self) -> int:
        return len(self._clients)

    @property
    def pages(self) -> int:
        """Number of browser tabs; programs, such as the session's own counters, are not counted."""
        return sum(client.is_page for client in self._clients)

    @property
    def bases(self) -> set[str | None]:
        """The assets whose prices clients show; None: those of all."""
        return {client.base for client in self._clients if not client.trades_alone}

    @property
    def resynchronisations(self) -> int:
        """How often a client fell behind and was resynced."""
        return self._resynchronisations + sum(client.resynchronisations for client in self._clients)

    @asynccontextmanager
    async def client(
        self,
        since: int | None = None,
        *,
        base: str | None = None,
        is_page: bool = False,
        trades_alone: bool = False,
    ) -> AsyncIterator[LiveClient]:
        """Add a client; `since`: the sequence of the last message it received, if it reconnects. `base`: the asset
        that it shows, empty for the session's first; None: all. `trades_alone`: it shows no prices."""
        shown = next(iter(self._session.bases), "") if base == "" else base
        client = LiveClient(since, base=shown, is_page=is_page, trades_alone=trades_alone)
        self._clients.add(client)
        try:
            yield client
        finally:
            self._clients.discard(client)
            self._resynchronisations += client.resynchronisations

    def publish(self, kind: MessageKind, text: str) -> None:
        """Publish to all clients."""
        self._offer(self._numbered(kind, text), self._clients)

    def publish_to(self, base: str | None, kind: MessageKind, text: str) -> None:
        """Publish to the clients that show `base`."""
        self._offer(self._numbered(kind, text), [client for client in self._clients if client.base == base])

    def publish_assets(self) -> None:
        """Publish the rows of the matrix that changed since the last time."""
        rows = self._matrix_rows()
        changed = [row for base, row in rows.items() if self._assets.get(base) != row]
        self._assets = rows
        if changed:
            self.publish("assets", assets_message(changed))

    def discard_snapshot(self) -> None:
        """Discard the cached snapshots after a change that was not published."""
        self._snapshots.clear()

    def _offer(self, message: LiveMessage, clients: Iterable[LiveClient]) -> None:
        self.discard_snapshot()
        for client in clients:
            client.offer(message)

    def resynchronise(self, *, only_owed: bool = False) -> None:
        """Send a snapshot to every client, or only to those whose last one had gaps."""
        self.discard_snapshot()
        for client in self._clients:
            if client.is_owed or not only_owed:
                client.resynchronise()

    async def messages(self, client: LiveClient) -> AsyncIterator[LiveMessage]:
        """Yield the messages for the client, without end; the first is a snapshot."""
        while True:
            await client.wait()
            if client.needs_snapshot:
                # changes during this read are in the live state when the snapshot is taken
                older = await self._older_than_stored(client.since)
                client.begin()
                client.is_owed = not older.is_complete
                message = self.snapshot_message(client.since, older, client.base)
            else:
                message = client.take()
            if not client.is_owed:
                client.since = message.sequence
            yield message
            if message.kind != "snapshot":
                self.deliveries.observe(wall_now() - message.sequence)

    def snapshot_message(
        self, since: int | None = None, older: MissedTrades | None = None, base: str | None = None
    ) -> LiveMessage:
        """Return the newest trades, and all since `since`, with the markets of `base`; None: of every asset."""
        older = older or MissedTrades()
        arbitrages = self._state.arbitrages()
        shown = SHOWN_ARBITRAGES if since is None else max(SHOWN_ARBITRAGES, _changed_since(arbitrages, since))
        if shown == SHOWN_ARBITRAGES and not older.arbitrages and older.is_complete:
            if base not in self._snapshots:
                self._snapshots[base] = self._made_snapshot(base, arbitrages[:shown], is_complete=True)
            return self._snapshots[base]
        known = {arbitrage.arbitrage_id for arbitrage in arbitrages}
        rest = tuple(one for one in older.arbitrages if one.arbitrage_id not in known)
        wanted = arbitrages + rest if rest else arbitrages[:shown]
        return self._made_snapshot(base, wanted, is_complete=older.is_complete)

    async def _older_than_stored(self, since: int | None) -> MissedTrades:
        if since is None:
            return MissedTrades()
        if not self._state.sources.mongodb:
            return MissedTrades(is_complete=False)
        if reaches_back(self._state.arbitrages(), KEPT_ARBITRAGES, since):
            return MissedTrades()
        return await read_missed(self._reader, since, self._answer_seconds)

    def _made_snapshot(self, base: str | None, arbitrages: tuple[Arbitrage, ...], *, is_complete: bool) -> LiveMessage:
        snapshot = replace(self._state.snapshot(base), arbitrages=arbitrages)
        assets = list(self._matrix_rows().values())
        text = snapshot_message(self._session, snapshot, self._state.books(), assets, len(arbitrages))
        # a client with this snapshot may have another price than was published last
        self._assets.clear()
        return self._numbered("snapshot", text, f'"is_complete":{"true" if is_complete else "false"},')

    def _matrix_rows(self) -> dict[str, MatrixRow]:
        return {line.base: matrix_row(line) for line in self._state.lines()}

    def _numbered(self, kind: MessageKind, text: str, members: str = "") -> LiveMessage:
        """Return a numbered message. `text` is a JSON object; the sequence becomes its first member."""
        sequence = self._numbers.next()
        return LiveMessage(sequence, kind, f'{{"sequence":{sequence},{members}{text[1:]}')


def _changed_since(arbitrages: Sequence[Arbitrage], since: int) -> int:
    """Return how many of them, newest first, to go through until the last that may have changed after `since`."""
    return max((place + 1 for place, one in enumerate(arbitrages) if reserved_since(one, since)), default=0)
