"""Sample answers and messages from the exchanges' documentation, as another project keeps them."""

from pathlib import Path

import pytest

from exchanges.books.errors import FrameRejectedError
from exchanges.catalogue import wire_of
from exchanges.kraken.book import parse_server_time
from tests.exchanges.books.kraken_v1 import book_message
from tests.exchanges.books.recordings import FOLDER
from tests.exchanges.books.samples import levels

SAMPLES = FOLDER.parent / "xchange"


def sample(name: str) -> bytes:
    path: Path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("exchange", "name", "bid", "ask"),
    [
        ("bitflyer", "xchange-bitflyer/marketdata/example-orderbook.json", ("30000", "0.1"), ("36640", "5")),
        ("kraken", "xchange-kraken/marketdata/example-depth-data.json", ("526.26", "0.5"), ("530.75513", "0.248")),
        ("binance", "xchange-binance/__files/depth.json", ("4", "431"), ("4.000002", "12")),
        ("bitstamp", "xchange-stream-bitstamp/order-book.json", ("819.9", "0.922"), ("821.6", "0.035")),
    ],
)
def test_books_by_rest(exchange: str, name: str, bid: tuple[str, str], ask: tuple[str, str]) -> None:
    top = wire_of(exchange).parse_rest_book(sample(name))
    assert (top.bids[:1], top.asks[:1]) == (levels(bid), levels(ask))


@pytest.mark.parametrize(
    ("exchange", "name"),
    [
        # From before its books had their microsecond.
        ("bitstamp", "xchange-bitstamp/marketdata/example-full-depth-data.json"),
        ("coinbaseexchange", "xchange-coinbasepro/marketdata/example-ticker-data.json"),
        ("binance", "xchange-stream-binance/testDepthEvent.json"),
    ],
)
def test_what_is_no_book_of_today_is_rejected_by_name(exchange: str, name: str) -> None:
    with pytest.raises(FrameRejectedError, match="malformed"):
        wire_of(exchange).parse_rest_book(sample(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orderBookMessageSnapshot.json", (3, 3, None)),
        ("orderBookMessageUpdate00.json", (1, 0, 417_079_492)),
        ("orderBookMessageUpdate01.json", (0, 2, 3_647_725_291)),
        ("orderBookMessageUpdate02.json", (1, 2, 3_647_725_291)),
        ("subscriptionConfirmation.json", None),
        ("ticker.json", None),
        ("trades.json", None),
    ],
)
def test_older_messages_of_kraken(name: str, expected: tuple[int, int, int | None] | None) -> None:
    message = book_message(sample(f"xchange-stream-kraken/{name}").decode())
    shape = None if message is None else (len(message.bids), len(message.asks), message.checksum)
    assert shape == expected


def test_kraken_server_time() -> None:
    body = sample("xchange-kraken/marketdata/example-servertime-data.json")
    assert parse_server_time(body) == 1_391_835_876_000_000
