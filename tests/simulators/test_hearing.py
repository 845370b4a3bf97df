"""Whatever a client sends, the streams of Coinbase Exchange and Bitstamp answer it or ignore it, and go on."""

import json
from collections.abc import Callable, Sequence

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from exchanges.credentials import Credentials
from runtime.clock import SystemClock
from simulators.bitstamp.stream import BitstampStream
from simulators.coinbaseexchange.gateway import CoinbaseExchangeGateway
from simulators.matching.exchange_journal import Entry
from simulators.matching.listings import listings_of, opening_balances
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names, Venue
from simulators.web.subscribers import Outbox, SubscriberConnection, no_notice

NAMES = Names(order=lambda number, _micros: str(number), fill=lambda number, _micros: str(number))
KEYS = Credentials("key", "c2VjcmV0", "password", "7")

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["\u00b2", "7", "key"])
names = st.sampled_from(["level2", "user", "matches", "BTC-USD", "live_trades_btceur", "private-my_orders_btceur-7"])
values = st.recursive(
    leaves | names, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
fields = st.sampled_from(
    ["type", "channels", "product_ids", "name", "event", "data", "channel", "auth", "key", "timestamp", "signature"]
)
kinds = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["subscribe", "unsubscribe"]),
        "event": st.sampled_from(["bts:subscribe", "bts:unsubscribe", "bts:heartbeat"]),
        "data": st.dictionaries(fields, values, max_size=3),
        "channels": st.lists(names | st.dictionaries(fields, values, max_size=3), max_size=3),
    },
)
frames = st.builds(lambda more, kind: json.dumps({**more, **kind}), st.dictionaries(fields, values, max_size=4), kinds)


class MemoryJournal:
    """Stores nothing."""

    def entries(self) -> Sequence[Entry]:
        return ()

    def write(self, entry: Entry) -> None:
        pass


def exchange_of(name: str) -> SimulatedExchange:
    venue = Venue(name, listings_of(name), NAMES, SystemClock())
    return SimulatedExchange(venue, opening_balances(name), MemoryJournal())


def coinbaseexchange() -> Callable[[SubscriberConnection, str], None]:
    return CoinbaseExchangeGateway(exchange_of("coinbaseexchange"), KEYS).on_message


def bitstamp() -> Callable[[SubscriberConnection, str], None]:
    return BitstampStream(exchange_of("bitstamp"), "7").on_message


@pytest.mark.parametrize("made", [coinbaseexchange, bitstamp])
def test_nothing_that_is_received_ends_the_stream(
    made: Callable[[], Callable[[SubscriberConnection, str], None]],
) -> None:
    on_message = made()

    @settings(max_examples=300)
    @given(frames | st.text())
    def heard(text: str) -> None:
        connection = SubscriberConnection(Outbox(web.WebSocketResponse(), None), None, None, no_notice)
        on_message(connection, text)
        assert all(isinstance(channel, str) for channel in connection.channels)

    heard()
