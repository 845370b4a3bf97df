"""Kraken's checksum of a book, as its readers work it out from printed levels."""

import itertools
from collections.abc import Iterable
from zlib import crc32


def checksum(asks: Iterable[tuple[str, str]], bids: Iterable[tuple[str, str]]) -> int:
    """Return CRC32 as Kraken defines it: digits of price and amount of ten asks, then ten bids, leading zeros
    stripped."""
    digits = [
        _digits(price) + _digits(amount) for levels in (asks, bids) for price, amount in itertools.islice(levels, 10)
    ]
    return crc32("".join(digits).encode())


def _digits(text: str) -> str:
    return text.replace(".", "").lstrip("0")
