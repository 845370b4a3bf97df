"""Every exchange whose stream can be read, by its name."""

from pricefeeds.errors import FeedRefusedError
from pricefeeds.wire.port import WireExchange

_WIRES: dict[str, WireExchange] = {}


def wire_of(exchange: str) -> WireExchange:
    """Raises FeedRefusedError where nobody here reads that exchange."""
    if exchange not in _WIRES:
        raise FeedRefusedError(f"no stream of {exchange} can be read, only those of {', '.join(sorted(_WIRES))}")
    return _WIRES[exchange]
