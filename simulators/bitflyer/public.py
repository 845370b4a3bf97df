"""bitFlyer's public calls: markets, board, ticker, executions and the state of the exchange."""

from collections.abc import Iterable
from decimal import Decimal
from itertools import islice, takewhile
from typing import TypeVar

from market.instruments.orders import Side
from market.money import ZERO, total
from simulators.bitflyer.rows import (
    DEEPEST,
    FIRST_EXECUTION,
    Row,
    execution_row,
    rest_time,
    stream_time,
    whole_board,
)
from simulators.market.traded_day import TradedDay
from simulators.matching.listings import Listing
from simulators.matching.order_records import PublicTrade, SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.trade_tape import KEPT
from simulators.web.exchange_gateway import Call, Fields, MarketStep, best_level, count_field, known, listing_named
from simulators.web.json_digits import with_point

_DEFAULT_PRODUCT = "BTC_JPY"
_LONGEST_PAGE = 500

Item = TypeVar("Item")


class BitflyerProducts:
    """The exchange's listings and their trades, by product code."""

    def __init__(self, exchange: SimulatedExchange) -> None:
        self.exchange = exchange
        self._days = {symbol: TradedDay() for symbol in exchange.listings}
        self._ticks = 0

    def one(self, fields: Fields) -> Listing:
        """Return the listing. Raises RequestRejectedError."""
        return listing_named(self.exchange.listings_by_id, str(fields.get("product_code") or _DEFAULT_PRODUCT))

    def tick(self) -> None:
        """Count a step of any market."""
        self._ticks += 1

    def add_step(self, step: MarketStep) -> None:
        for trade in step.trades:
            self._days[step.symbol].add(trade)

    def executions(self, trades: Iterable[PublicTrade], *, is_stream: bool) -> list[Row]:
        write = stream_time if is_stream else rest_time
        return [execution_row(trade, self._own(trade), write(trade.traded_at)) for trade in trades]

    def ticker(self, listing: Listing, *, is_stream: bool) -> Row:
        book, now = self.exchange.books[listing.market.symbol], self.exchange.clock.now()
        (bid, bid_lots), (ask, ask_lots) = best_level(book, "buy"), best_level(book, "sell")
        newest = self.exchange.tape.newest(listing.market.symbol, 1)
        day = self._days[listing.market.symbol].figures(now)
        volume = ZERO if day is None else day.volume
        return {
            "product_code": listing.market_id,
            "state": "RUNNING",
            "timestamp": stream_time(now) if is_stream else rest_time(now),
            "tick_id": self._ticks,
            "best_bid": with_point(listing.price(bid)),
            "best_ask": with_point(listing.price(ask)),
            "best_bid_size": with_point(listing.amount(bid_lots)),
            "best_ask_size": with_point(listing.amount(ask_lots)),
            "total_bid_depth": with_point(self._depth(listing, "buy")),
            "total_ask_depth": with_point(self._depth(listing, "sell")),
            "market_bid_size": with_point(ZERO),
            "market_ask_size": with_point(ZERO),
            "ltp": with_point(newest[0].price if newest else listing.price(bid)),
            "volume": with_point(volume),
            "volume_by_product": with_point(volume),
        }

    def _depth(self, listing: Listing, side: Side) -> Decimal:
        levels = self.exchange.books[listing.market.symbol].levels(side, DEEPEST)
        return total(listing.amount(lots) for _, lots in levels)

    def _own(self, trade: PublicTrade) -> SimulatedFill | None:
        fills = self.exchange.customer.known_fills([str(FIRST_EXECUTION + trade.number)])
        return fills[0] if fills else None


class BitflyerPublic:
    def __init__(self, products: BitflyerProducts) -> None:
        self._products = products

    def calls(self) -> dict[str, Call]:
        """Return the calls by path below /v1/."""
        product = known("product_code")
        calls = {
            "getmarkets": Call(self._markets),
            "getboard": Call(self._board, product),
            "getticker": Call(self._ticker, product),
            "getexecutions": Call(self._executions, known("product_code", "count", "before", "after")),
            "gethealth": Call(lambda fields: self._state(fields, {"status": "NORMAL"}), product),
            "getboardstate": Call(
                lambda fields: self._state(fields, {"health": "NORMAL", "state": "RUNNING"}), product
            ),
            # Nothing is listed beyond Japan.
            "getmarkets/usa": Call(lambda _fields: []),
            "getmarkets/eu": Call(lambda _fields: []),
        }
        shorter = ("getmarkets", "getboard", "getticker", "getexecutions", "getmarkets/usa", "getmarkets/eu")
        return calls | {name.removeprefix("get"): calls[name] for name in shorter}

    def _markets(self, _fields: Fields) -> object:
        return [{"product_code": name, "market_type": "Spot"} for name in self._products.exchange.listings_by_id]

    def _board(self, fields: Fields) -> object:
        listing = self._products.one(fields)
        return whole_board(listing, self._products.exchange.books[listing.market.symbol])

    def _ticker(self, fields: Fields) -> object:
        return self._products.ticker(self._products.one(fields), is_stream=False)

    def _executions(self, fields: Fields) -> object:
        trades = self._products.exchange.tape.newest(self._products.one(fields).market.symbol, KEPT)
        numbered = [(FIRST_EXECUTION + trade.number, trade) for trade in trades]
        return self._products.executions(page_of(numbered, fields), is_stream=False)

    def _state(self, fields: Fields, state: Row) -> object:
        self._products.one(fields)
        return state


def page_of(numbered_newest_first: Iterable[tuple[int, Item]], fields: Fields) -> list[Item]:
    """Return the items with ids below `before` and above `after`, at most `count` (default 100, maximum 500)."""
    before, after = count_field(fields, "before", 0), count_field(fields, "after", 0)
    newer = takewhile(lambda numbered: numbered[0] > after, numbered_newest_first)
    found = (item for number, item in newer if not before or number < before)
    return list(islice(found, min(count_field(fields, "count", 100), _LONGEST_PAGE)))
