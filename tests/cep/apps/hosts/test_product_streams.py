"""Streams of the product: their columns, what of a topic is theirs, and what an app may not do with them."""

import pytest

from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.product_streams import PRODUCT_STREAMS, read_streams
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.language.stream_names import stream_names
from market.prices.spread_statistics import SpreadWindow
from streams.message_format import quote_row, row_of, spread_window_message
from streams.query_progress import QueryProgress, progress_row
from tests.backtest.verify.made_up import quote
from tests.market.samples import USD_MARKET


def values(stream: str, message: bytes) -> dict[str, object] | None:
    one = PRODUCT_STREAMS[stream]
    row = one.row_of(row_of(message))
    return None if row is None else dict(zip((column.name for column in one.columns), row, strict=True))


def test_a_quote_is_flat() -> None:
    made = quote(USD_MARKET, 3, 7, "99.9", "100.25")
    found = values("quotes", quote_row(made))
    assert found == {
        "exchange": "alpha",
        "symbol": "BTC/USD",
        "base": "BTC",
        "quote_currency": "USD",
        "bid": 99.9,
        "bid_amount": 5.0,
        "ask": 100.25,
        "ask_amount": 5.0,
        "exchange_time": None,
        "received_time": made.received_time,
        "sequence": 7,
    }
    assert values("ticks", quote_row(made)) == {"kind": "quote", **found}


def test_a_stream_has_its_own_kinds_of_row_alone() -> None:
    settings = b'{"kind": "settings", "received_time": 1}'
    assert values("quotes", settings) is None
    assert values("ticks", settings) is None
    assert values("quotes", b'{"kind": "alive", "exchange": "alpha", "received_time": 1}') is None
    assert values("ticks", b'{"kind": "alive", "exchange": "alpha", "received_time": 1}') is not None


def test_spreads_and_health_have_the_names_of_their_rows() -> None:
    window = SpreadWindow("BTC", "alpha", "beta", 10, 20, 1.5, 0.5, 2.5, 0.25, 3)
    assert values("spreads", spread_window_message(window)) == {
        "base": "BTC", "buy_exchange": "alpha", "sell_exchange": "beta", "start": 10, "end": 20,
        "mean_bps": 1.5, "deviation": 0.5, "max_bps": 2.5, "share_above": 0.25, "rows": 3,
    }  # fmt: skip
    progress = QueryProgress("s", "spreads", False, True, 9, 1, "runs", batch=4, batch_ms=30, batch_rows=8)
    assert values("health", progress_row(progress)) == {
        "query": "spreads", "is_active": True, "reported_at": 9, "started_at": 1,
        "batch": 4, "batch_ms": 30, "batch_rows": 8, "state_rows": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("from quotes select base insert into Out;", ("quotes",)),
        ("from quotes as q join ticks#window.length(2) as t on q.base == t.base select q.base insert into Out;",
         ("ticks", "quotes")),
        ("from every a = opportunities -> b = opportunities select a.base insert into Out;", ("opportunities",)),
        ("partition with (base of spreads) begin from spreads select base insert into Out; end;", ("spreads",)),
        ("define stream Mine (a int); from Mine select a insert into Out;", ()),
        ("CREATE STREAM Mine (a int); INSERT INTO Out SELECT base FROM health;", ("health",)),
    ],
)  # fmt: skip
def test_an_app_reads_what_it_names(text: str, read: tuple[str, ...]) -> None:
    assert tuple(stream.name for stream in read_streams(parse_app(text))) == read


def test_names_are_read_or_inserted_or_both() -> None:
    text = """define table T (a string); from quotes select base as a insert into Middle;
    partition with (a of Middle) begin from Middle select a insert into #Inner;
    from #Inner select a insert into Out; end; from Middle select a insert into T;"""
    names = stream_names(parse_app(text))
    assert names.defined == ("T",)
    assert tuple(names.read) == ("quotes", "Middle")
    assert tuple(names.inserted) == ("Middle", "Out", "T")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("define stream quotes (a int); from quotes select a insert into Out;",
         "line 1, column 1: 'quotes' is a stream of the product"),
        ("from ticks select base insert into quotes;",
         "line 1, column 36: 'quotes' is a stream of the product, and no app writes to it"),
        ("define stream fills (a int); from fills select a insert into Out;",
         "line 1, column 1: 'fills' is a stream of the product"),
        ("from quotes select bidd insert into Out;", "did you mean 'bid'?"),
        ("define stream Mine (a int); from Mine select a insert into Out;", "reads no stream of the product"),
    ],
)  # fmt: skip
def test_what_no_host_can_run_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppTextError) as found:
        app_source(text, "a")
    assert problem in str(found.value)
