"""Every exchange that has a stream parser, by name."""

from pricefeeds.errors import FeedRejectedError
from pricefeeds.wire import binance, bitflyer, bitstamp, coinbaseexchange, kraken
from pricefeeds.wire.wire_port import WireExchange

_WIRES: dict[str, WireExchange] = {
    wire.name: wire for wire in (binance.WIRE, bitflyer.WIRE, bitstamp.WIRE, coinbaseexchange.WIRE, kraken.WIRE)
}


def wire_of(exchange: str) -> WireExchange:
    """Raise FeedRejectedError if the exchange has no parser."""
    if exchange not in _WIRES:
        raise FeedRejectedError(f"no feed for {exchange}; there are feeds for {', '.join(sorted(_WIRES))}")
    return _WIRES[exchange]
