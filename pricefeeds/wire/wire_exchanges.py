"""Every exchange whose stream can be read, by its name."""

from pricefeeds.errors import FeedRejectedError
from pricefeeds.wire import binance, bitflyer, bitstamp, coinbaseexchange, kraken
from pricefeeds.wire.wire_port import WireExchange

_WIRES: dict[str, WireExchange] = {
    wire.name: wire for wire in (binance.WIRE, bitflyer.WIRE, bitstamp.WIRE, coinbaseexchange.WIRE, kraken.WIRE)
}


def wire_of(exchange: str) -> WireExchange:
    """Raises FeedRejectedError where nobody here reads that exchange."""
    if exchange not in _WIRES:
        raise FeedRejectedError(f"no stream of {exchange} can be read, only those of {', '.join(sorted(_WIRES))}")
    return _WIRES[exchange]
