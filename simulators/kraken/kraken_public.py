"""Kraken's public calls: time and status, assets and pairs, tickers, depth and trades."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal

from market.time_units import MICROSECONDS
from simulators.kraken.kraken_day import KrakenDay
from simulators.kraken.kraken_rows import altname, asset_rows, pair_row, public_trade_row, wsname
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.web.api_calls import Call, Fields, known
from simulators.web.exchange_gateway import count_field, decimal_field, levels_of, listing_named, text_field

_DEEPEST = 500
# `since` is in seconds or in nanoseconds, as `last` is.
_FEWEST_NANOSECONDS = 10**15
_LATEST = Decimal(10**20)


class KrakenPairs:
    """The exchange's listings by any of the names that Kraken takes."""

    def __init__(self, listings: Iterable[Listing]) -> None:
        self.listings = tuple(listings)
        self._by_name = {name: row for row in self.listings for name in (row.market_id, altname(row), wsname(row))}

    def one(self, name: str) -> Listing:
        """Raises RequestRejectedError."""
        return listing_named(self._by_name, name)

    def all_in(self, fields: Fields) -> list[Listing]:
        """Those that `pair` lists, all where it is missing. Raises RequestRejectedError."""
        names = str(fields.get("pair") or "")
        return [self.one(name) for name in names.split(",")] if names else list(self.listings)


class KrakenPublic:
    def __init__(self, exchange: SimulatedExchange, pairs: KrakenPairs, days: Mapping[str, KrakenDay]) -> None:
        self._exchange = exchange
        self._pairs = pairs
        self._days = days

    def calls(self) -> dict[str, Call]:
        return {
            "Time": Call(self._time),
            "SystemStatus": Call(self._status),
            "Assets": Call(self._assets, known("asset", "aclass")),
            "AssetPairs": Call(self._asset_pairs, known("pair", "info")),
            "Ticker": Call(self._ticker, known("pair")),
            "Depth": Call(self._depth, known("pair", "count")),
            "Trades": Call(self._trades, known("pair", "since", "count")),
        }

    def _time(self, _fields: Fields) -> object:
        now = self._exchange.clock.now() // MICROSECONDS
        moment = datetime.fromtimestamp(now, UTC)
        return {"unixtime": now, "rfc1123": f"{moment:%a}, {moment.day:2d} {moment:%b %y %H:%M:%S} +0000"}

    def _status(self, _fields: Fields) -> object:
        moment = datetime.fromtimestamp(self._exchange.clock.now() // MICROSECONDS, UTC)
        return {"status": "online", "timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}

    def _assets(self, fields: Fields) -> object:
        rows = asset_rows()
        if not fields.get("asset"):
            return rows
        by_name = {str(name): asset_id for asset_id, row in rows.items() for name in (asset_id, row["altname"])}
        wanted = str(fields["asset"]).split(",")
        if not set(wanted) <= set(by_name):
            raise RequestRejectedError("invalid_request", "asset")
        return {by_name[name]: rows[by_name[name]] for name in wanted}

    def _asset_pairs(self, fields: Fields) -> object:
        return {listing.market_id: pair_row(listing) for listing in self._pairs.all_in(fields)}

    def _ticker(self, fields: Fields) -> object:
        return {row.market_id: self._days[row.market.symbol].rest_row() for row in self._pairs.all_in(fields)}

    def _depth(self, fields: Fields) -> object:
        listing = self._pairs.one(text_field(fields, "pair"))
        book, now = self._exchange.books[listing.market.symbol], self._exchange.clock.now() // MICROSECONDS
        sides = levels_of(listing, book, min(count_field(fields, "count", 100), _DEEPEST))
        return {listing.market_id: {name: [[*level, now] for level in levels] for name, levels in sides.items()}}

    def _trades(self, fields: Fields) -> object:
        """Oldest first: those after `since`, else the newest; `last` is where to go on."""
        listing, count = self._pairs.one(text_field(fields, "pair")), min(count_field(fields, "count", KEPT), KEPT)
        trades = self._exchange.tape.newest(listing.market.symbol, KEPT)[::-1]
        if not fields.get("since"):
            trades = trades[-count:] if count else []
        else:
            since = moment_field(fields, "since")
            micros = since / 1_000 if since >= _FEWEST_NANOSECONDS else since * MICROSECONDS
            trades = [trade for trade in trades if trade.traded_at > micros][:count]
        now = trades[-1].traded_at if trades else self._exchange.clock.now()
        return {listing.market_id: [public_trade_row(trade, listing) for trade in trades], "last": str(now * 1_000)}


def moment_field(fields: Fields, name: str) -> Decimal:
    """A time since 1970, in whatever unit. Raises RequestRejectedError."""
    moment = decimal_field(fields, name, "invalid_request")
    if not 0 <= moment <= _LATEST:
        raise RequestRejectedError("invalid_request", name)
    return moment
