"""The faults as the matrix switches them on, and what our feed and our order path are to show of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from exchanges.catalogue import EXCHANGES
from market.prices.feed_state import FeedStatus
from simulators.faults.fault_kinds import FaultKind

POLLED = "bitflyer"
"""ccxt has no stream of its books, so that faults of streams do not concern a feed through ccxt."""
OF_REQUESTS: tuple[FaultKind, ...] = ("latency", "http_429", "http_418", "http_5xx", "ban", "maintenance")

Options = Mapping[str, object]
Withdrawal = Literal["never", "at once", "within the limit"]
Placed = Literal["filled", "partly filled", "rejected", "account rejected", "unknown"]
Found = Literal["filled", "partly filled", "none"]


@dataclass(frozen=True, slots=True)
class FeedShows:
    """What may happen to a feed: when its quote is withdrawn, which counters tell, and what it is at first then.

    "at once": with the very message, or the end of the connection, that shows the fault, and nothing between them.
    `counted` are counters or reasons of rejections, of which at least one grows.
    """

    withdrawn: tuple[Withdrawal, ...]
    counted: tuple[str, ...] = ()
    status: tuple[FeedStatus, ...] = ()
    unless: str = "if the next messages do not mend it before"
    """When it is not withdrawn, if it may be "never"."""

    @property
    def text(self) -> str:
        if self.withdrawn == ("never",):
            return "stays live"
        counted = " or ".join(f"`{name}`" for name in self.counted)
        unless = f", {self.unless}" if "never" in self.withdrawn else ""
        return f"withdrawn {self.withdrawn[-1]} ({counted}){unless}; {' or '.join(self.status)}"


@dataclass(frozen=True, slots=True)
class OrderShows:
    """What placing says, and what looking up finds of the order afterwards."""

    placed: Placed
    found: Found

    @property
    def text(self) -> str:
        found = "no order" if self.found == "none" else f"found once, {self.found}"
        return f"{self.placed}; {found}"


@dataclass(frozen=True, slots=True)
class FeedTrial:
    """A fault on the way of the prices. `cuts`: the stream is broken meanwhile, so that it must be opened anew."""

    name: str
    kind: FaultKind
    options: Options
    shows: FeedShows
    differently: Mapping[str, FeedShows] = field(default_factory=dict)
    """Exchange → what differs there."""
    options_of: Mapping[str, Options] = field(default_factory=dict)
    """Exchange → options instead."""
    seconds: float = 0.3
    """How long it is on at least."""
    cuts: bool = False
    orders: bool = False
    """Whether an order is sent meanwhile."""
    stills: bool = False
    """Whether the market stands still after it, so that no later message can tell of it."""
    is_for_stream: bool = False
    """Whether a stream that shows lost messages must show this one itself, so that REST is not compared before."""
    is_quick: bool = False
    through_ccxt: Mapping[str, FeedShows] = field(default_factory=dict)
    """Exchange → what a feed through ccxt shows, if that is not `shows`."""

    @property
    def is_told_at_once(self) -> bool:
        """Whether its sign is a message, whenever that comes, or the end of the connection. No limit has to wait for
        those, and what a limit withdraws was withdrawn because this machine is slow."""
        return self.shows.withdrawn == ("at once",) and self.shows != _LATE and not self.is_for_stream

    def expected(self, exchange: str, *, is_generic: bool = False) -> FeedShows:
        return (self.through_ccxt if is_generic else self.differently).get(exchange, self.shows)

    def exchanges(self, *, is_generic: bool = False) -> tuple[str, ...]:
        """Those that the fault concerns."""
        is_for_all = not is_generic or self.kind in OF_REQUESTS
        return tuple(name for name in EXCHANGES if is_for_all or name != POLLED)


@dataclass(frozen=True, slots=True)
class OrderTrial:
    """A fault on the way of an order. `lasts`: it is still on when the order is looked up and another one is sent."""

    name: str
    kind: FaultKind
    options: Options
    shows: OrderShows
    differently: Mapping[str, OrderShows] = field(default_factory=dict)
    is_only_for_orders: bool = False
    """Whether it strikes requests that place orders, and no others."""
    lasts: bool = False
    waits: bool = False
    """Whether an order that is not found is looked up again until it would count as never sent."""
    is_quick: bool = False
    through_ccxt: Mapping[str, OrderShows] = field(default_factory=dict)
    """Exchange → what differs once more for an order through ccxt's unified methods."""

    def expected(self, exchange: str, *, is_generic: bool = False) -> OrderShows:
        own = self.differently.get(exchange, self.shows)
        return self.through_ccxt.get(exchange, own) if is_generic else own


_LIVE = FeedShows(("never",))
_ENDED = FeedShows(("at once",), ("reconnects",), ("down",))
_UNREADABLE = FeedShows(("at once",), ("malformed",), ("resyncing",))
_GAP = FeedShows(("at once",), ("gaps",), ("resyncing",))
_GAP_OF_CONNECTION = FeedShows(("within the limit", "at once"), ("gaps",), ("resyncing",))
"""Found by the connection at once, too, but at no message of the market's own."""
_CHECKSUM = FeedShows(("at once",), ("checksums",), ("resyncing",))
_LATE = FeedShows(("at once",), ("late",), ("resyncing",))
_UNSEEN = FeedShows(("never", "at once", "within the limit"), ("rest_mismatches", "crossed"), ("resyncing",))
_SILENT = FeedShows(("within the limit",), ("resyncs",), ("stale", "resyncing"))
_UNSEEN_IN_CCXT = dict.fromkeys(EXCHANGES, _UNSEEN) | {"binance": _CHECKSUM, "okx": _ENDED}
_IGNORED = FeedShows(("never", "at once"), ("malformed",), ("resyncing",), "if ccxt does not ignore it")
_NUMBERED = {name: {"count": 1} for name in ("kraken", "binance", "bybit", "okx", "coinbase")}

FEED_TRIALS: tuple[FeedTrial, ...] = (
    FeedTrial(
        "latency",
        "latency",
        {"seconds": 30, "milliseconds": 800},
        _LIVE,
        seconds=2,
        # a book by REST that takes longer than a third of the limit counts as none
        through_ccxt={POLLED: _ENDED},
    ),
    FeedTrial("HTTP 429, and the stream breaks", "http_429", {"seconds": 2}, _ENDED, seconds=2, cuts=True),
    FeedTrial("HTTP 418, and the stream breaks", "http_418", {"seconds": 2}, _ENDED, seconds=2, cuts=True),
    FeedTrial("HTTP 5xx, and the stream breaks", "http_5xx", {"seconds": 2}, _ENDED, seconds=2, cuts=True),
    FeedTrial("ban, and the stream breaks", "ban", {"seconds": 2}, _ENDED, seconds=2, cuts=True),
    FeedTrial("maintenance", "maintenance", {"seconds": 2}, _ENDED, seconds=2, is_quick=True),
    FeedTrial(
        "garbage frame",
        "garbage_frame",
        {"count": 1},
        _UNREADABLE,
        is_quick=True,
        through_ccxt=dict.fromkeys(EXCHANGES, _IGNORED),
    ),
    FeedTrial("truncated frame", "truncated_frame", {"count": 1}, _UNREADABLE),
    FeedTrial(
        "dropped message",
        "dropped_message",
        {"count": 5},
        _UNSEEN,
        {"kraken": _CHECKSUM, "coinbase": _GAP_OF_CONNECTION, **dict.fromkeys(("binance", "bybit", "okx"), _GAP)},
        _NUMBERED,
        seconds=2,
        is_for_stream=True,
        is_quick=True,
        through_ccxt=_UNSEEN_IN_CCXT,
    ),
    FeedTrial(
        "twenty dropped messages",
        "dropped_message",
        {"count": 20},
        FeedShows(("at once", "within the limit"), ("gaps", "checksums", "crossed", "resyncs"), ("stale", "resyncing")),
        seconds=3,
    ),
    FeedTrial(
        "dropped message, then a still market",
        "dropped_message",
        {"seconds": 30},
        FeedShows(("within the limit",), ("resyncs",), ("stale", "resyncing")),
        stills=True,
        is_quick=True,
    ),
    FeedTrial("duplicated message", "duplicated_message", {"count": 5}, _LIVE, seconds=2),
    FeedTrial(
        "reordered message",
        "reordered_message",
        {"count": 3},
        _GAP,
        {"kraken": _CHECKSUM, "bitflyer": _UNSEEN, "coinbase": _GAP_OF_CONNECTION},
        _NUMBERED,
        seconds=2,
        is_for_stream=True,
        through_ccxt=_UNSEEN_IN_CCXT,
    ),
    FeedTrial("silent stream", "silent_stream", {"count": 1}, _SILENT, seconds=2, is_quick=True),
    FeedTrial(
        "no pongs", "no_pongs", {"seconds": 30}, FeedShows(("within the limit",), ("resyncs",), ("stale",)), seconds=2.5
    ),
    FeedTrial("end of the connection by age", "socket_ended", {"count": 1}, _ENDED, seconds=3.5, is_quick=True),
    FeedTrial(
        "crossed book",
        "crossed_book",
        {"count": 1},
        FeedShows(("at once",), ("crossed",), ("resyncing",)),
        is_quick=True,
    ),
    FeedTrial(
        "clock ahead, then right",
        "clock_skew",
        {"seconds": 2, "skew_seconds": 300},
        _LATE,
        {
            "coinbaseexchange": _GAP,
            "bitstamp": FeedShows(("at once",), ("late",), ("resyncing",)),
            "bitflyer": _LIVE,
        },
        seconds=3.5,
    ),
    FeedTrial(
        "clock behind, then right",
        "clock_skew",
        {"seconds": 2, "skew_seconds": -300},
        _LATE,
        {"coinbaseexchange": _GAP, "bitflyer": _LIVE},
        seconds=3.5,
    ),
    FeedTrial("disconnect during an order", "disconnect_during_order", {"count": 1}, _ENDED, orders=True),
)

_FILLED = OrderShows("filled", "filled")
_REJECTED = OrderShows("rejected", "none")
_SHUT_OUT = OrderShows("account rejected", "none")
_LOST = OrderShows("unknown", "filled")
_NEVER_CAME = OrderShows("unknown", "none")
_NO_DEADLINE = {"kraken": _FILLED}
"""Kraken's nonces are no times, and no deadline goes with the order."""

ORDER_TRIALS: tuple[OrderTrial, ...] = (
    OrderTrial("latency", "latency", {"seconds": 30, "milliseconds": 300}, _FILLED, lasts=True),
    OrderTrial(
        "latency beyond the time-out", "latency", {"count": 1, "milliseconds": 6_000}, _LOST, is_only_for_orders=True
    ),
    OrderTrial(
        "latency far beyond the time-out",
        "latency",
        {"count": 1, "milliseconds": 12_000},
        # taken after we gave up, unless a later request has used up its nonce
        _LOST,
        {"kraken": _NEVER_CAME},
        is_only_for_orders=True,
        waits=True,
    ),
    OrderTrial("HTTP 429", "http_429", {"seconds": 30}, _REJECTED),
    OrderTrial("HTTP 418", "http_418", {"seconds": 30}, _REJECTED, {"bitstamp": _SHUT_OUT}),
    OrderTrial("HTTP 5xx", "http_5xx", {"seconds": 30}, _NEVER_CAME, is_quick=True),
    OrderTrial("HTTP 502 of a proxy", "http_5xx", {"seconds": 30, "status": 502}, _NEVER_CAME),
    OrderTrial("ban", "ban", {"seconds": 30}, _REJECTED, {"bitstamp": _SHUT_OUT}),
    OrderTrial(
        "maintenance", "maintenance", {"seconds": 30}, _NEVER_CAME, {"bitstamp": _REJECTED, "binance": _REJECTED}
    ),
    OrderTrial("garbage frame", "garbage_frame", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("truncated frame", "truncated_frame", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("dropped message", "dropped_message", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("duplicated message", "duplicated_message", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("reordered message", "reordered_message", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("silent stream", "silent_stream", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("no pongs", "no_pongs", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial("crossed book", "crossed_book", {"seconds": 30}, _FILLED, lasts=True),
    OrderTrial(
        "clock ahead",
        "clock_skew",
        {"seconds": 30, "skew_seconds": 300},
        _REJECTED,
        {"kraken": _NEVER_CAME},
        lasts=True,
        through_ccxt=_NO_DEADLINE,
    ),
    OrderTrial(
        "clock behind",
        "clock_skew",
        {"seconds": 30, "skew_seconds": -300},
        _REJECTED,
        lasts=True,
        is_quick=True,
        through_ccxt=_NO_DEADLINE,
    ),
    OrderTrial(
        "acknowledgement lost, cut off", "lost_acknowledgement", {"count": 1, "manner": "dropped"}, _LOST, is_quick=True
    ),
    OrderTrial("acknowledgement lost, no answer", "lost_acknowledgement", {"count": 1, "manner": "timeout"}, _LOST),
    OrderTrial("duplicate fill report", "duplicate_fill_report", {"seconds": 30}, _FILLED, lasts=True, is_quick=True),
    OrderTrial("rejected order", "rejected_order", {"count": 1}, _REJECTED, is_quick=True),
    OrderTrial(
        "partial fill, then nothing",
        "partial_fill_then_nothing",
        {"seconds": 30},
        OrderShows("partly filled", "partly filled"),
        is_quick=True,
    ),
    OrderTrial("disconnect, order taken", "disconnect_during_order", {"count": 1, "taken": True}, _LOST, is_quick=True),
    OrderTrial(
        "disconnect, order not taken",
        "disconnect_during_order",
        {"count": 1, "taken": False},
        _NEVER_CAME,
        is_quick=True,
    ),
)
