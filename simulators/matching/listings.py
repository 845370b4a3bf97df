"""What each simulated exchange lists, in which steps it books money, and what the test account starts with."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from functools import cache

from exchanges.simulated_coins import START_DOLLARS, amount_worth, listed_coins
from exchanges.simulated_markets import cross_markets, further_markets, simulated_bases, simulated_markets
from market.instruments.fees import base_rate, charged, fee_currency, quote_rate
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import ceil_to_step, floor_to_step
from simulators.catalogue import terms_of
from simulators.matching.order_records import Liquidity


@dataclass(frozen=True, slots=True)
class Listing:
    """One market of a simulated exchange; prices in whole ticks, amounts in whole lots.

    Cost and fee of each fill are cut off (never rounded up) at `cost_step` and `fee_step`, so that a hold for the
    limit price and its fee always suffices. A hold is for the dearer of both rates.
    """

    market: Market
    market_id: str
    """The exchange's own name of it."""
    maker_rate: Decimal
    taker_rate: Decimal
    cost_step: Decimal
    fee_step: Decimal
    start_price: float
    status: str = "online"
    """`cancel_only` or another word of the exchange's: then it takes no orders."""

    @property
    def price_decimals(self) -> int:
        return decimals_of(self.market.tick_size)

    def ticks(self, price: Decimal) -> int:
        return int(price / self.market.tick_size)

    def lots(self, amount: Decimal) -> int:
        return int(amount / self.market.lot_step)

    def price(self, ticks: int) -> Decimal:
        return ticks * self.market.tick_size

    def amount(self, lots: int) -> Decimal:
        return lots * self.market.lot_step

    def price_text(self, ticks: int) -> str:
        return scaled_text(ticks, self.price_decimals)

    def amount_text(self, lots: int) -> str:
        return scaled_text(lots, decimals_of(self.market.lot_step))

    def cost(self, ticks: int, lots: int) -> Decimal:
        """Return the quote currency that changes hands."""
        return floor_to_step(self.price(ticks) * self.amount(lots), self.cost_step)

    @property
    def dearer_rate(self) -> Decimal:
        return max(self.maker_rate, self.taker_rate)

    def fee(self, side: Side, cost: Decimal, lots: int, liquidity: Liquidity) -> tuple[str, Decimal]:
        """Return currency and amount of the fee for an order of that side."""
        rate = self.taker_rate if liquidity == "taker" else self.maker_rate
        fee = floor_to_step(charged(self.market, side, cost, self.amount(lots)) * rate, self.fee_step)
        return fee_currency(self.market, side), fee

    def hold(self, side: Side, ticks: int, lots: int) -> tuple[str, Decimal]:
        """Return currency and amount that cover the order whole, fees included."""
        if side == "buy":
            added = quote_rate(self.market, side, self.dearer_rate)
            whole = self.price(ticks) * self.amount(lots) * (1 + added)
            step = min(self.cost_step, self.fee_step) if added else self.cost_step
            return self.market.quote_currency, ceil_to_step(whole, step)
        base_fee = ceil_to_step(self.amount(lots) * base_rate(self.market, side, self.dearer_rate), self.fee_step)
        return self.market.base, self.amount(lots) + base_fee


def scaled_text(units: int, decimals: int) -> str:
    """Return whole units of 10^-decimals as plain digits, trailing zeros kept as exchanges print them."""
    digits = str(units)
    if decimals == 0:
        return digits
    # every level of every book is printed: this takes half the time of a division
    digits = digits.zfill(decimals + 1)
    return f"{digits[:-decimals]}.{digits[-decimals:]}"


def decimals_of(step: Decimal) -> int:
    """Return the digits after the point of a step that is a power of ten."""
    return max(0, -step.adjusted())


def fixed_text(number: Decimal, decimals: int) -> str:
    """Return `number` with exactly so many decimals; it must not have more."""
    text = number.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_DOWN)
    if text != number:
        raise ValueError(f"{number} has more than {decimals} decimals")
    return format(text, "f")


_DOLLARS = {"BTC": 60_000.0} | {coin.base: coin.dollars for coin in listed_coins()}
_COIN_STEP = Decimal("0.00000001")
"""The most that costs and fees in coins are cut off at: the exchanges print eight digits of them, or more."""
CROSSES = frozenset(cross_markets(simulated_bases()))
"""Listed if they are asked for."""
_START_PRICES = {"BTC/EUR": 55_555.0, "EUR/USD": 1.08, "USD/JPY": 150.0, "USDT/USD": 1.0}
_CURRENCY_VALUE = 1_000_000.0
_BASE_VALUE = 600_000.0
"""Dollars of each coin in a new test account."""


def listings_of(
    exchange: str, bases: Collection[str] | None = None, *, has_crosses: bool = False
) -> tuple[Listing, ...]:
    """Return the listings of those `bases`, and the FX markets; all if None. `has_crosses`: and the crosses, last.
    Raises KeyError if no such exchange is simulated."""
    return _listed(exchange, simulated_bases() if bases is None else tuple(bases), has_crosses)


@cache
def _listed(exchange: str, bases: tuple[str, ...], has_crosses: bool) -> tuple[Listing, ...]:
    terms = terms_of(exchange)
    tier = terms.tier_at(terms.volume)
    listed = []
    crosses = cross_markets(bases) if has_crosses else ()
    for market in (*simulated_markets(bases), *further_markets(bases), *crosses):
        if market.exchange == exchange:
            cost_step, fee_step = terms.steps_of.get(market.symbol, (terms.cost_step, terms.fee_step))
            if market.quote_currency in _DOLLARS:
                cost_step, fee_step = min(cost_step, _COIN_STEP), min(fee_step, _COIN_STEP)
            listed.append(
                Listing(
                    market=market,
                    market_id=terms.market_id(market),
                    maker_rate=tier.maker,
                    taker_rate=tier.taker,
                    cost_step=cost_step,
                    fee_step=fee_step,
                    start_price=_START_PRICES.get(market.symbol) or _start_price(market),
                )
            )
    return tuple(listed)


def opening_balances(exchange: str, *, has_crosses: bool = False) -> dict[str, Decimal]:
    """Return balances of a new test account: enough for hundreds of trades. `has_crosses`: and for crosses."""
    coins = {base: amount_worth(_BASE_VALUE, price) for base, price in _DOLLARS.items()}
    further = _currencies_of_crosses(exchange) if has_crosses else {}
    return {**coins, **further, **terms_of(exchange).money}


def _currencies_of_crosses(exchange: str) -> dict[str, Decimal]:
    codes = {market.quote_currency for market in CROSSES if market.exchange == exchange} - _DOLLARS.keys()
    return {code: amount_worth(_CURRENCY_VALUE, START_DOLLARS[code]) for code in sorted(codes)}


def dollars_of(listing: Listing) -> float:
    """Return what a unit of its base is worth when it starts."""
    quote = listing.market.quote_currency
    return listing.start_price * (_DOLLARS[quote] if quote in _DOLLARS else START_DOLLARS[quote])


def _start_price(market: Market) -> float:
    quote = market.quote_currency
    return _DOLLARS[market.base] / (_DOLLARS[quote] if quote in _DOLLARS else START_DOLLARS[quote])
