"""What all accounts of one simulated exchange share: books, public trades, numbers, and the house."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import Protocol

from market.instruments.order_matching import filled_offers
from market.instruments.orders import Side, changes_of
from market.money import ZERO
from runtime.clock import Clock
from simulators.matching.engine import BookOrder, Match, MatchingBook
from simulators.matching.listings import Listing
from simulators.matching.order_admission import ANY_PRICE
from simulators.matching.order_records import Liquidity, PublicTrade, SimulatedFill, SimulatedOrder
from simulators.matching.put_off_steps import MarketValues, PutOffSteps, VenueClock
from simulators.matching.trade_tape import TradeTape

MAKER = "maker"
CROWD = "crowd"
FEES = "fees"
HOUSE = (MAKER, CROWD, FEES)
_NUMBER_MICROSECONDS = 100_000
"""Numbers start at ten per second since 1970: more than an exchange uses while it runs."""

_MakerOrders = dict[Side, dict[int, BookOrder]]
"""The market maker's orders by ticks."""
Fills = dict[str, list[SimulatedFill]]
"""By the account's owner."""


@dataclass(frozen=True, slots=True)
class Names:
    """The exchange's ids: (number, microseconds) → id.

    `client_ids_reusable`: a client order id may come again once its order has ended.
    """

    order: Callable[[int, int], str]
    fill: Callable[[int, int], str]
    client_ids_reusable: bool = False


class VenueAccount(Protocol):
    """An account, as the venue settles its matches."""

    @property
    def balances(self) -> Mapping[str, Decimal]: ...

    def book(self, fill: SimulatedFill) -> None:
        """Book a fill: money and amounts change hands."""
        ...

    def commit_fills(self, fills: Sequence[SimulatedFill]) -> None:
        """Journal and report fills that were booked."""
        ...

    def due_stop(self, symbol: str) -> SimulatedOrder | None:
        """Return the oldest stop order whose price the last trade has reached."""
        ...

    def trigger(self, order: SimulatedOrder) -> None:
        """Send on a stop order that is due."""
        ...


class Venue:
    """Market maker and crowd are unlimited and pay no fees; everybody else has an account."""

    def __init__(self, name: str, listings: Sequence[Listing], names: Names, clock: Clock) -> None:
        self.name = name
        self.listings = {listing.market.symbol: listing for listing in listings}
        self.listings_by_id = {listing.market_id: listing for listing in listings}
        """By the exchange's own name of the market."""
        self.names = names
        self.clock = VenueClock(clock)
        # public trades are not journalled: their numbers must not come again after a restart
        self.steps = PutOffSteps(self.clock, clock.now() // _NUMBER_MICROSECONDS)
        self.books = MarketValues({symbol: MatchingBook() for symbol in self.listings}, self.steps.look)
        self.tape = TradeTape(self.listings, self.steps.look)
        self._accounts: dict[str, VenueAccount] = {}
        self._house: dict[tuple[str, str], Decimal] = {}
        self._maker_orders: dict[str, _MakerOrders] = {symbol: {"buy": {}, "sell": {}} for symbol in self.listings}
        self._house_orders = 0

    def join(self, owner: str, account: VenueAccount) -> None:
        """Add an account. Raises ValueError if the owner has one already."""
        if owner in self._accounts or owner in HOUSE:
            raise ValueError(f"{self.name} has an account of {owner} already")
        self._accounts[owner] = account

    def next_number(self) -> int:
        """Return the next number; orders and trades share one numbering."""
        return self.steps.next_number()

    def skip_to(self, number: int) -> None:
        """Skip numbers up to this one, which were used before a restart."""
        self.steps.skip_to(number)

    def quote(self, symbol: str, bids: Iterable[tuple[int, int]], asks: Iterable[tuple[int, int]]) -> None:
        """Replace the market maker's orders; levels that stay as they are keep their place in the queue."""
        book, current = self.books[symbol], self._maker_orders[symbol]
        wanted: dict[Side, dict[int, int]] = {"buy": dict(bids), "sell": dict(asks)}
        for side, levels in wanted.items():
            own = current[side]
            for ticks in [ticks for ticks, standing in own.items() if levels.get(ticks) != standing.lots]:
                book.cancel(own.pop(ticks).order_id)
        for side, levels in wanted.items():
            own = current[side]
            for ticks in [ticks for ticks in levels if ticks not in own]:
                order = BookOrder("", MAKER, side, ticks, levels[ticks])
                own[ticks] = self._submit_house(symbol, order, rests=True)
        self.fire_stops(symbol)

    def take(self, symbol: str, side: Side, lots: int) -> None:
        """Match a market order of another participant."""
        self._submit_house(symbol, BookOrder("", CROWD, side, _at_market(side), lots), rests=False)
        self.fire_stops(symbol)

    def fire_stops(self, symbol: str) -> None:
        """Send on stop orders of all accounts whose price was reached, one by one, the oldest first: the trades of one
        may trigger the next."""
        while True:
            stops = ((account, account.due_stop(symbol)) for account in self._accounts.values())
            due = [(order.number, account, order) for account, order in stops if order is not None]
            if not due:
                return
            _, account, order = min(due, key=itemgetter(0))
            account.trigger(order)

    def total_of(self, currency: str) -> Decimal:
        """Return the total of all accounts, the house and the fees charged, which never changes."""
        house = sum((amount for (_, owned), amount in self._house.items() if owned == currency), ZERO)
        return house + sum((account.balances.get(currency, ZERO) for account in self._accounts.values()), ZERO)

    def settle(self, symbol: str, taker: BookOrder, matches: list[Match]) -> Fills:
        """Move money and amounts between both sides of each match. Returns the accounts' fills, to be committed."""
        fills: Fills = {}
        listing = self.listings[symbol]
        for match in matches:
            trade = self._traded(listing, taker, match)
            for order in (taker, match.maker):
                fill = self._fill(listing, order, match, trade)
                account = self._accounts.get(order.owner)
                if account is not None:
                    account.book(fill)
                    self._earn(FEES, fill.fee_currency, fill.fee)
                    fills.setdefault(order.owner, []).append(fill)
                else:
                    for currency, change in changes_of(fill, listing.market.base, listing.market.quote_currency):
                        self._earn(order.owner, currency, change)
        return fills

    def commit(self, fills: Fills) -> None:
        """Commit fills: each account journals its own, so a kill between two journals leaves a trade of two accounts in
        one of them."""
        for owner, own in fills.items():
            self._accounts[owner].commit_fills(own)

    def _submit_house(self, symbol: str, order: BookOrder, rests: bool) -> BookOrder:
        self._house_orders += 1
        order.order_id = f"{order.owner}-{self._house_orders}"
        self.commit(self.settle(symbol, order, self.books[symbol].submit(order, rests)))
        return order

    def _traded(self, listing: Listing, taker: BookOrder, match: Match) -> PublicTrade:
        price, amount = listing.price(match.ticks), listing.amount(match.lots)
        trade = PublicTrade(self.next_number(), listing.market.symbol, taker.side, price, amount, self.clock.now())
        self.tape.write(trade)
        return trade

    def _fill(self, listing: Listing, order: BookOrder, match: Match, trade: PublicTrade) -> SimulatedFill:
        """Return one side of a match, with the fee if it is an account's. It has the number of the public trade."""
        cost = listing.cost(match.ticks, match.lots)
        liquidity: Liquidity = "maker" if order is match.maker else "taker"
        has_account = order.owner in self._accounts
        fee_currency, fee = listing.fee(order.side, cost, match.lots, liquidity)
        return SimulatedFill(
            fill_id=self.names.fill(trade.number, trade.traded_at) if has_account else "",
            number=trade.number,
            order_id=order.order_id,
            symbol=listing.market.symbol,
            side=order.side,
            price=trade.price,
            amount=trade.amount,
            cost=cost,
            fee=fee if has_account else ZERO,
            fee_currency=fee_currency,
            liquidity=liquidity,
            filled_at=trade.traded_at,
        )

    def _earn(self, owner: str, currency: str, change: Decimal) -> None:
        self._house[(owner, currency)] = self._house.get((owner, currency), ZERO) + change


def trades_of(side: Side, lots: int, levels: Iterable[tuple[int, int]]) -> int:
    """Return how many trades a market order makes if only the market maker quotes; `levels` of the other side."""
    offers = ((ticks, ticks, offered) for ticks, offered in levels)
    return sum(1 for _ in filled_offers(side, _at_market(side), lots, offers))


def _at_market(side: Side) -> int:
    """Return the limit in ticks of an order that takes any price."""
    return ANY_PRICE if side == "buy" else 0
