import httpx
import pytest
from fastapi import FastAPI

from market.prices.candles import INTERVALS
from runtime.clock import wall_now
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.ui.samples import FX_MARKET, quote, record
from ui.services.dashboard import dashboard_of

SECOND, MINUTE = INTERVALS["1s"], INTERVALS["1m"]
ALPHA = {"exchange": "alpha", "symbol": "BTC/USD"}
PAIR = {"buy_exchange": "alpha", "buy_symbol": "BTC/USD", "sell_exchange": "beta", "sell_symbol": "BTC/EUR"}
NOW = wall_now() // MINUTE * MINUTE - 3 * MINUTE
"""The start of a minute that is over."""


@pytest.fixture
async def quoted(application: FastAPI) -> None:
    """Two and a half minutes of quotes, one every ten seconds, that rise; FX first."""
    hub = dashboard_of(application).hub
    for number in range(15):
        at = NOW + number * 10 * SECOND
        books = (
            (FX_MARKET, "1.1", "1.1"),
            (USD_MARKET, str(100 + number), str(102 + number)),
            (EUR_MARKET, "99", "100"),
        )
        hub.apply_records([record(quote(*book, at)) for book in books])


async def all_rows(api: httpx.AsyncClient, path: str, **asked: str) -> tuple[list[dict[str, object]], int]:
    """Return the rows of all pages, newest first, and how many pages there were."""
    rows: list[dict[str, object]] = []
    cursor, pages = None, 0
    while True:
        page = (await api.get(path, params=asked | ({} if cursor is None else {"cursor": cursor}))).json()
        rows, pages, cursor = rows + page["items"], pages + 1, page["next_cursor"]
        if cursor is None:
            return rows, pages


@pytest.mark.usefixtures("quoted")
async def test_candles_come_newest_first_with_exact_prices(api: httpx.AsyncClient) -> None:
    page = (await api.get("/api/candles", params=ALPHA)).raise_for_status().json()
    assert [row["start"] for row in page["items"]] == [NOW + 2 * MINUTE, NOW + MINUTE, NOW]
    newest, _, oldest = page["items"]
    assert (oldest["open"], oldest["high"], oldest["low"], oldest["close"]) == ("101", "106", "101", "106")
    assert (newest["close"], newest["bid"], newest["ask"], newest["quotes"]) == ("115", "114", "116", 3)
    assert (page["interval"], page["next_cursor"], oldest["is_over"]) == ("1m", None, True)


@pytest.mark.usefixtures("quoted")
@pytest.mark.parametrize("limit", ["1", "2", "1000"])
async def test_pages_have_every_candle_once(api: httpx.AsyncClient, application: FastAPI, limit: str) -> None:
    await dashboard_of(application).hub.candles.write()
    whole, _ = await all_rows(api, "/api/candles", **ALPHA, interval="1s")
    rows, _ = await all_rows(api, "/api/candles", **ALPHA, interval="1s", limit=limit)
    assert rows == whole
    assert [row["start"] for row in rows] == [NOW + number * 10 * SECOND for number in reversed(range(15))]


@pytest.mark.usefixtures("quoted")
async def test_a_span_has_the_candles_that_begin_in_it(api: httpx.AsyncClient) -> None:
    span = {"from": str(NOW + 1), "until": str(NOW + 2 * MINUTE)}
    page = (await api.get("/api/candles", params=ALPHA | span)).json()
    assert [(row["start"], row["open"]) for row in page["items"]] == [(NOW + MINUTE, "107")]


@pytest.mark.usefixtures("quoted")
async def test_the_spread_is_after_fx_and_before_fees(api: httpx.AsyncClient) -> None:
    rows, _ = await all_rows(api, "/api/candles/spread", **PAIR, limit="1")
    assert [row["start"] for row in rows] == [NOW + 2 * MINUTE, NOW + MINUTE, NOW]
    # sold for 99 EUR × 1.1 = 108.9 USD, bought at 102 USD at first and at 107 at last
    assert (rows[2]["open"], rows[2]["close"], rows[2]["samples"]) == ("676.4706", "177.5701", 6)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("exchange=alpha&symbol=DOGE/USD", "alpha has no market 'DOGE/USD' in this session; it has BTC/USD."),
        ("exchange=nowhere&symbol=BTC/USD", "no exchange 'nowhere'"),
        ("exchange=alpha&symbol=BTC/USD&interval=7m", "interval"),
        ("exchange=alpha&symbol=BTC/USD&limit=1001", "limit"),
        ("exchange=alpha&symbol=BTC/USD&cursor=abc", "cursor is unknown"),
        ("exchange=alpha&symbol=BTC/USD&from=-1", "from"),
        ("exchange=alpha&symbol=BTC/USD&to=1", "No parameter 'to'"),
        ("symbol=BTC/USD", "exchange"),
    ],
)
async def test_a_mistake_is_named(api: httpx.AsyncClient, query: str, words: str) -> None:
    answer = await api.get(f"/api/candles?{query}")
    assert answer.status_code == 422
    assert words in answer.text


async def test_a_spread_is_between_two_markets_of_one_asset(api: httpx.AsyncClient) -> None:
    same = PAIR | {"sell_exchange": "alpha", "sell_symbol": "BTC/USD"}
    other = PAIR | {"sell_exchange": "fx", "sell_symbol": "EUR/USD"}
    for asked in (same, other):
        answer = await api.get("/api/candles/spread", params=asked)
        assert (answer.status_code, answer.json()["detail"]) == (
            422,
            "A spread is between two different markets of one asset.",
        )


@pytest.mark.usefixtures("quoted")
async def test_a_book_says_what_an_order_would_get(api: httpx.AsyncClient) -> None:
    book = (await api.get("/api/books", params=ALPHA | {"amount": "3"})).raise_for_status().json()
    assert book["asks"]["levels"] == [{"price": "116", "amount": "2", "taken": "2"}]
    assert book["asks"]["walk"] == {
        "amount": "3",
        "filled": "2",
        "cost": "232",
        "mean_price": "116",
        "worst": "116",
        "slippage_bps": "0",
    }
    assert book["bids"]["walk"]["cost"] == "228"
    without = (await api.get("/api/books", params=ALPHA)).json()
    assert (without["bids"]["walk"], without["bids"]["levels"][0]["taken"]) == (None, "0")


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "1e99", "many"])
@pytest.mark.usefixtures("quoted")
async def test_an_amount_is_a_number_above_nothing(api: httpx.AsyncClient, amount: str) -> None:
    answer = await api.get("/api/books", params=ALPHA | {"amount": amount})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("amount: ")


async def test_a_market_without_a_quote_has_no_book_and_no_candles(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/books", params=ALPHA)).status_code == 404
    assert (await api.get("/api/candles", params=ALPHA)).json()["items"] == []
