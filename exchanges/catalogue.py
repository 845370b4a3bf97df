"""Every exchange that has a stream parser, by name."""

from exchanges.binance import book as binance
from exchanges.bitflyer import book as bitflyer
from exchanges.bitstamp import book as bitstamp
from exchanges.books.errors import FeedRejectedError
from exchanges.books.port import WireExchange
from exchanges.coinbaseexchange import book as coinbaseexchange
from exchanges.kraken import book as kraken

_WIRES: dict[str, WireExchange] = {
    wire.name: wire for wire in (binance.WIRE, bitflyer.WIRE, bitstamp.WIRE, coinbaseexchange.WIRE, kraken.WIRE)
}


def wire_of(exchange: str) -> WireExchange:
    """Raise FeedRejectedError if the exchange has no parser."""
    if exchange not in _WIRES:
        raise FeedRejectedError(f"no feed for {exchange}; there are feeds for {', '.join(sorted(_WIRES))}")
    return _WIRES[exchange]
