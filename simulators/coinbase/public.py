"""Coinbase's market data by REST: time, products, books, trades, candles; of version 2 what clients ask for."""

from collections.abc import Mapping
from uuid import uuid5

from market.time_units import MICROSECONDS
from simulators.coinbase.endpoints import PREFIX, CoinbaseEndpoint, Fields, Row, is_between, texts_field
from simulators.coinbase.rows import FIAT, IDS, book_row, candle_row, product_row, trade_row
from simulators.coinbase.stream import CoinbaseStream
from simulators.matching.candles import Interval
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import best_texts, count_field, iso_text, known, listing_named, text_field

_MINUTE, _HOUR = 60, 3_600
_GRANULARITIES: Mapping[str, int] = {
    "ONE_MINUTE": _MINUTE,
    "FIVE_MINUTE": 5 * _MINUTE,
    "FIFTEEN_MINUTE": 15 * _MINUTE,
    "THIRTY_MINUTE": 30 * _MINUTE,
    "ONE_HOUR": _HOUR,
    "TWO_HOUR": 2 * _HOUR,
    "FOUR_HOUR": 4 * _HOUR,
    "SIX_HOUR": 6 * _HOUR,
    "ONE_DAY": 24 * _HOUR,
}
_MOST_CANDLES, _MOST_TRADES, _WHOLE_BOOK = 350, 1_000, 1_000
_TYPES = ("UNKNOWN_PRODUCT_TYPE", "SPOT", "FUTURE")
_NAMES = {"BTC": "Bitcoin", "USD": "US Dollar"}


class CoinbasePublic:
    def __init__(self, exchange: SimulatedExchange, stream: CoinbaseStream) -> None:
        self._exchange = exchange
        self._listings: Mapping[str, Listing] = exchange.listings_by_id
        self._stream = stream

    def endpoints(self) -> list[CoinbaseEndpoint]:
        """Return those without a key; `keyed` has the same with one."""
        return [
            CoinbaseEndpoint("GET", f"{PREFIX}/time", self._time),
            *self._at(f"{PREFIX}/market"),
            CoinbaseEndpoint("GET", "/v2/time", self._old_time),
            CoinbaseEndpoint("GET", "/v2/currencies", self._fiat),
            CoinbaseEndpoint("GET", "/v2/currencies/crypto", self._crypto),
            CoinbaseEndpoint("GET", "/v2/exchange-rates", self._rates, known("currency")),
        ]

    def keyed(self) -> list[CoinbaseEndpoint]:
        best = CoinbaseEndpoint("GET", f"{PREFIX}/best_bid_ask", self._best, known("product_ids"))
        return [best, *self._at(PREFIX)]

    def _at(self, path: str) -> list[CoinbaseEndpoint]:
        of_lists = known("limit", "offset", "product_type", "product_ids")
        of_book = known("product_id", "limit", "aggregation_price_increment")
        of_candles, of_trades = known("start", "end", "granularity", "limit"), known("limit", "start", "end")
        one = f"{path}/products/{{product_id}}"
        return [
            CoinbaseEndpoint("GET", f"{path}/product_book", self._book, of_book),
            CoinbaseEndpoint("GET", f"{path}/products", self._products, of_lists),
            CoinbaseEndpoint("GET", one, self._product),
            CoinbaseEndpoint("GET", f"{one}/candles", self._candles, of_candles),
            CoinbaseEndpoint("GET", f"{one}/ticker", self._trades, of_trades),
        ]

    def _listing(self, fields: Fields) -> Listing:
        listing = listing_named(self._listings, text_field(fields, "product_id"))
        self._exchange.venue.steps.look(listing.market.symbol)
        return listing

    def _time(self, _: Fields) -> Row:
        now = self._exchange.clock.now()
        seconds, milliseconds = now // MICROSECONDS, now // 1_000
        return {"iso": iso_text(now), "epochSeconds": str(seconds), "epochMillis": str(milliseconds)}

    def _old_time(self, _: Fields) -> Row:
        now = self._exchange.clock.now()
        return {"data": {"iso": iso_text(now), "epoch": now // MICROSECONDS}}

    def _currencies(self) -> list[str]:
        markets = [listing.market for listing in self._listings.values()]
        return list(dict.fromkeys(name for market in markets for name in (market.base, market.quote_currency)))

    def _fiat(self, _: Fields) -> Row:
        names = [name for name in self._currencies() if name in FIAT]
        return {"data": [{"id": name, "name": _NAMES.get(name, name), "min_size": "0.01"} for name in names]}

    def _crypto(self, _: Fields) -> Row:
        named = [name for name in self._currencies() if name not in FIAT]
        return {
            "data": [
                {
                    "asset_id": str(uuid5(IDS, f"asset:{name}")),
                    "code": "CGLD" if name == "CELO" else name,
                    "name": _NAMES.get(name, name),
                    "color": "#0433FF",
                    "sort_index": number,
                    "exponent": 8,
                    "type": "crypto",
                    "address_regex": "",
                }
                for number, name in enumerate(named, 100)
            ]
        }

    def _rates(self, fields: Fields) -> Row:
        if fields.get("currency", "USD") != "USD":
            raise RequestRejectedError("invalid_request", "currency")
        # what a dollar is worth; only its own rate is simulated
        return {"data": {"currency": "USD", "rates": {"USD": "1.0"}}}

    def _products(self, fields: Fields) -> Row:
        kind, wanted = str(fields.get("product_type", "SPOT")), texts_field(fields, "product_ids")
        if kind not in _TYPES:
            raise RequestRejectedError("invalid_request", "product_type")
        listings = () if kind == "FUTURE" else self._listings.values()
        offset, limit = count_field(fields, "offset", 0), count_field(fields, "limit", len(self._listings))
        found = [row for row in listings if not wanted or row.market_id in wanted][offset : offset + limit]
        return {"products": [self._row(listing) for listing in found], "num_products": len(found)}

    def _product(self, fields: Fields) -> Row:
        return self._row(self._listing(fields))

    def _row(self, listing: Listing) -> Row:
        return product_row(listing, self._stream.figures(listing))

    def _book(self, fields: Fields) -> Row:
        listing, limit = self._listing(fields), count_field(fields, "limit", _WHOLE_BOOK)
        book, now = self._exchange.books[listing.market.symbol], self._exchange.clock.now()
        return {"pricebook": book_row(listing, book, min(limit or _WHOLE_BOOK, _WHOLE_BOOK), now)}

    def _best(self, fields: Fields) -> Row:
        wanted, now = texts_field(fields, "product_ids"), self._exchange.clock.now()
        for name in wanted:
            listing_named(self._listings, name)
        found = [row for row in self._listings.values() if not wanted or row.market_id in wanted]
        for listing in found:
            self._exchange.venue.steps.look(listing.market.symbol)
        books = self._exchange.books
        return {"pricebooks": [book_row(listing, books[listing.market.symbol], 1, now) for listing in found]}

    def _trades(self, fields: Fields) -> Row:
        listing, limit = self._listing(fields), min(count_field(fields, "limit", 100) or 100, _MOST_TRADES)
        since, until = (_bound(fields, name) for name in ("start", "end"))
        newest = self._exchange.tape.newest(listing.market.symbol, _MOST_TRADES)
        found = [trade for trade in newest if is_between(trade.traded_at, since, until)]
        bid, ask = best_texts(listing, self._exchange.books[listing.market.symbol])
        rows = [{**trade_row(trade, listing), "bid": "", "ask": "", "exchange": "coinbase"} for trade in found[:limit]]
        return {"trades": rows, "best_bid": bid, "best_ask": ask}

    def _candles(self, fields: Fields) -> Row:
        """Return candles, newest first; times in which nothing was traded have none."""
        listing, word = self._listing(fields), text_field(fields, "granularity")
        if word not in _GRANULARITIES:
            raise RequestRejectedError("invalid_request", "granularity")
        seconds = _GRANULARITIES[word]
        since, until = (_bound(fields, name) for name in ("start", "end"))
        if since is None or until is None:
            raise RequestRejectedError("invalid_request", "start or end")
        if (until - since) // (seconds * MICROSECONDS) > _MOST_CANDLES:
            raise RequestRejectedError("misused", f"number of candles requested should be less than {_MOST_CANDLES}")
        candles = self._exchange.tape.candles[listing.market.symbol].traded(Interval(seconds))
        found = [candle for candle in candles if is_between(candle.began, since, until)]
        limit = count_field(fields, "limit", _MOST_CANDLES)
        return {"candles": [candle_row(candle) for candle in found[::-1][:limit]]}


def _bound(fields: Fields, name: str) -> int | None:
    """Return a time in whole seconds as microseconds; None if there is none. Raises RequestRejectedError."""
    return count_field(fields, name, 0) * MICROSECONDS if name in fields else None
