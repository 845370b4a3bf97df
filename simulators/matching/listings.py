"""What each simulated exchange lists, in which steps it books money, and what the test account starts with."""

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from exchanges.simulated_markets import simulated_markets
from market.instruments.fees import base_rate, charged, fee_currency, quote_rate
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import ceil_to_step, decimal_of, floor_to_step
from simulators.matching.order_records import Liquidity
from simulators.matching.volume_tiers import assumed_volume, tier_at


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
        """Quote currency that changes hands."""
        return floor_to_step(self.price(ticks) * self.amount(lots), self.cost_step)

    @property
    def dearer_rate(self) -> Decimal:
        return max(self.maker_rate, self.taker_rate)

    def fee(self, side: Side, cost: Decimal, lots: int, liquidity: Liquidity) -> tuple[str, Decimal]:
        """Currency and amount of the fee for an order of that side."""
        rate = self.taker_rate if liquidity == "taker" else self.maker_rate
        fee = floor_to_step(charged(self.market, side, cost, self.amount(lots)) * rate, self.fee_step)
        return fee_currency(self.market, side), fee

    def hold(self, side: Side, ticks: int, lots: int) -> tuple[str, Decimal]:
        """Currency and amount that cover the order whole, fees included."""
        if side == "buy":
            added = quote_rate(self.market, side, self.dearer_rate)
            whole = self.price(ticks) * self.amount(lots) * (1 + added)
            step = min(self.cost_step, self.fee_step) if added else self.cost_step
            return self.market.quote_currency, ceil_to_step(whole, step)
        base_fee = ceil_to_step(self.amount(lots) * base_rate(self.market, side, self.dearer_rate), self.fee_step)
        return self.market.base, self.amount(lots) + base_fee


def scaled_text(units: int, decimals: int) -> str:
    """Whole units of 10^-decimals as plain digits, trailing zeros kept as exchanges print them."""
    if decimals == 0:
        return str(units)
    whole, rest = divmod(units, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}"


def decimals_of(step: Decimal) -> int:
    """Digits after the point of a step that is a power of ten."""
    digits = 0
    while step < 1:
        step, digits = step * 10, digits + 1
    return digits


def fixed_text(number: Decimal, decimals: int) -> str:
    """`number` with exactly so many decimals, none of it lost."""
    text = number.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_DOWN)
    if text != number:
        raise ValueError(f"{number} has more than {decimals} decimals")
    return format(text, "f")


_MARKET_IDS = {
    ("coinbaseexchange", "BTC/USD"): ("BTC-USD", "0.0000000000000001", "0.0000000000000001", 60_000.0),
    ("bitstamp", "BTC/EUR"): ("btceur", "0.01", "0.00001", 55_555.0),
    ("bitflyer", "BTC/JPY"): ("BTC_JPY", "1", "0.00000001", 9_000_000.0),
    ("kraken", "BTC/USD"): ("XXBTZUSD", "0.0001", "0.0001", 60_000.0),
    ("kraken", "EUR/USD"): ("ZEURZUSD", "0.0001", "0.0001", 1.08),
    ("kraken", "USD/JPY"): ("ZUSDZJPY", "0.01", "0.01", 150.0),
    ("kraken", "USDT/USD"): ("USDTZUSD", "0.0001", "0.0001", 1.0),
    ("binance", "BTC/USDT"): ("BTCUSDT", "0.00000001", "0.00000001", 60_000.0),
}


def listings_of(exchange: str) -> tuple[Listing, ...]:
    """Raises KeyError where no such exchange is simulated."""
    listed = []
    tier = tier_at(exchange, assumed_volume(exchange))
    for market in simulated_markets():
        if market.exchange == exchange:
            market_id, cost_step, fee_step, start_price = _MARKET_IDS[(exchange, market.symbol)]
            listed.append(
                Listing(
                    market=market,
                    market_id=market_id,
                    maker_rate=tier.maker,
                    taker_rate=tier.taker,
                    cost_step=decimal_of(cost_step),
                    fee_step=decimal_of(fee_step),
                    start_price=start_price,
                )
            )
    if not listed:
        raise KeyError(exchange)
    return tuple(listed)


def opening_balances(exchange: str) -> dict[str, Decimal]:
    """Balances of a new test account: enough for hundreds of trades."""
    return {
        "coinbaseexchange": {"BTC": Decimal(10), "USD": Decimal(1_000_000)},
        "bitstamp": {"BTC": Decimal(10), "EUR": Decimal(925_000)},
        "bitflyer": {"BTC": Decimal(10), "JPY": Decimal(150_000_000)},
        "kraken": {"BTC": Decimal(10), "USD": Decimal(1_000_000)},
        "binance": {"BTC": Decimal(10), "USDT": Decimal(1_000_000)},
    }[exchange]
