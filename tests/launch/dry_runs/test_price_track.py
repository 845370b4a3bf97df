"""The prices that a dry run's rows are drawn over: of each market, few points however long the log is."""

from itertools import pairwise
from typing import Any

import pytest

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import InputPlace, input_message, source_row
from cep.apps.hosts.product_streams import read_streams
from launch.dry_runs.price_track import MOST_MARKETS, MOST_POINTS, PriceTrack
from streams.message_format import row_of
from streams.topics import TICKS

PLAIN = AppSource("plain", "from quotes select bid insert into O;")
MERGED = AppSource("merged", "from quotes as q join fills#window.length(1) as f select q.bid as b insert into O;")
SENT = AppSource("sent", "define stream S (a int); from S select a insert into O;", takes_rows=True)


def tick(number: int, exchange: str = "alpha", **changed: Any) -> dict[str, Any]:
    row = {"kind": "quote", "exchange": exchange, "symbol": "BTC/USD", "base": "BTC", "quote_currency": "USD"}
    prices = {"bid": str(100 + number), "bid_amount": "1", "ask": str(102 + number), "ask_amount": "1"}
    return {**row, **prices, "exchange_time": number, "received_time": number, "sequence": number, **changed}


def in_log(source: AppSource, row: dict[str, Any], offset: int) -> Any:
    """Return the row as it is in the app's log; None if it is not in it."""
    if not source.is_merged:
        return row
    found = source_row((TICKS, 0), offset, 0, row, read_streams(source.app))
    return None if found is None else row_of(input_message("s", found, InputPlace()))


@pytest.mark.parametrize("source", [PLAIN, MERGED], ids=lambda one: one.file_name)
def test_a_point_is_the_middle_of_a_quote(source: AppSource) -> None:
    track = PriceTrack(source)
    rows = [tick(1), tick(2, "beta"), tick(3), tick(4, kind="alive"), tick(5, kind="fx"), tick(6, bid=None)]
    for offset, row in enumerate(rows):
        found = in_log(source, row, offset)
        if found is not None:
            track.add(found)
    assert track.reported() == [
        {"exchange": "alpha", "symbol": "BTC/USD", "points": [(1, 102.0), (3, 104.0)]},
        {"exchange": "beta", "symbol": "BTC/USD", "points": [(2, 103.0)]},
    ]


def test_an_app_without_quotes_has_no_prices() -> None:
    track, probe = PriceTrack(SENT), {"kind": "probe", "base": "BTC", "received_time": 1, "id": "a"}
    track.add(in_log(SENT, probe, 0))
    assert track.reported() == []


def test_there_are_few_points_and_markets_however_long_the_log_is() -> None:
    track = PriceTrack(PLAIN)
    for number in range(5_000):
        track.add(tick(number, f"exchange-{number % (MOST_MARKETS + 5)}" if number < 100 else "exchange-0"))
    found = track.reported()
    assert len(found) == MOST_MARKETS
    points = next(one for one in found if one["exchange"] == "exchange-0")["points"]
    times = [at for at, _ in points]
    assert MOST_POINTS // 2 < len(points) <= MOST_POINTS
    assert (times[0], times == sorted(times), times[-1] > 4_900) == (0, True, True)
    # they lie evenly, also over the part that was read first
    assert max(later - earlier for earlier, later in pairwise(times)) < 120
