"""The simulated markets with each exchange's size rules and fees, and those that paper mode trades."""

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from exchanges.catalogue import all_facts
from exchanges.ports.facts import ExchangeFacts
from exchanges.simulated_coins import listed_coins
from market.instruments.markets import FeeSide, Market
from market.money import decimal_of

_EIGHT_DIGITS = Decimal("0.00000001")
_CURRENCY_STEP = Decimal("0.0001")
_BITCOIN = ("BTC",)


def paper_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return the markets traded if no exchange is named, then the FX markets that convert euro and yen to dollars."""
    traded = [market for facts in all_facts() if facts.paper.is_usual for market in _traded_at(facts, bases)]
    euro = _market("kraken", "us", "EUR/USD", "0.00001", "0.5", "0.5", "quote", is_fx=True)
    yen = _market("kraken", "us", "USD/JPY", "0.001", "5", "20", "quote", is_fx=True)
    # cycles trade them: amounts have the digits in which Kraken keeps balances of these currencies
    return (*traded, *(replace(market, lot_step=_CURRENCY_STEP) for market in (euro, yen)))


def simulated_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return the paper markets, those in USDT (which is not the dollar), and the FX market between both."""
    return (
        *paper_markets(bases),
        *(market for facts in all_facts() if not facts.paper.is_usual for market in _traded_at(facts, bases)),
        _market("kraken", "us", "USDT/USD", "0.00001", "5", "0.5", "quote", is_fx=True),
    )


def further_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return what the simulated exchanges list beside `simulated_markets`, for other people's clients: no session of
    ours subscribes to it."""
    bitcoin = _market("bitstamp", "eu", "BTC/USD", "1", "0.00000001", "10", "quote")
    return (bitcoin,) if bitcoin.base in bases else ()


def cross_markets(bases: Collection[str] = _BITCOIN) -> tuple[Market, ...]:
    """Return what the simulated exchanges list beside all of these if crosses are asked for: coins priced in a
    coin, and in a second currency, so that there are cycles within each exchange."""
    facts = {one.name: one for one in all_facts()}
    listed = []
    for line in _CROSSES.strip().splitlines():
        exchange, symbol, tick_size, lot_step, minimum_amount, minimum_notional = line.split()
        paper = facts[exchange].paper
        sizes = tick_size, minimum_amount, minimum_notional
        market = _market(exchange, paper.region, symbol, *sizes, paper.fee_side)
        if {market.base, market.quote_currency} - {"EUR"} <= set(bases):
            listed.append(replace(market, lot_step=decimal_of(lot_step)))
    return tuple(listed)


def simulated_bases() -> tuple[str, ...]:
    """Return the assets that every simulated exchange lists."""
    return (*_BITCOIN, *(coin.base for coin in listed_coins()))


def taker_fees() -> dict[str, Decimal]:
    """Taker fee by exchange, a fraction of the notional, for the default settings."""
    return {facts.name: facts.taker_fee for facts in all_facts() if facts.paper.is_usual}


def simulated_taker_fees() -> dict[str, Decimal]:
    """Taker fees of all simulated exchanges."""
    return {facts.name: facts.taker_fee for facts in all_facts()}


def _traded_at(facts: ExchangeFacts, bases: Collection[str]) -> list[Market]:
    """In the order of the list, whatever the order of `bases`."""
    paper = facts.paper
    sizes = paper.tick_size, paper.minimum_amount, paper.minimum_notional
    bitcoin = _market(facts.name, paper.region, paper.symbol, *sizes, paper.fee_side)
    bitcoin = replace(bitcoin, lot_step=decimal_of(paper.lot_step))
    price_steps, lot_steps = _steps(paper.price_decimals), _steps(paper.amount_decimals)
    coins = [
        replace(
            bitcoin,
            symbol=f"{coin.base}/{bitcoin.quote_currency}",
            base=coin.base,
            tick_size=price_steps[coin.base],
            lot_step=lot_steps.get(coin.base, bitcoin.lot_step),
            minimum_amount=coin.minimum_amount,
        )
        for coin in listed_coins()
        if coin.base in price_steps
    ]
    return [market for market in (bitcoin, *coins) if market.base in bases]


def _steps(decimals: str) -> dict[str, Decimal]:
    """By coin, from `ETH:2 SOL:3`."""
    return {
        base: Decimal(1).scaleb(-int(number)) for base, _, number in (one.partition(":") for one in decimals.split())
    }


def _market(
    exchange: str,
    region: str,
    symbol: str,
    tick_size: str,
    minimum_amount: str,
    minimum_notional: str,
    fee_side: FeeSide,
    *,
    is_fx: bool = False,
) -> Market:
    base, quote_currency = symbol.split("/")
    return Market(
        exchange=exchange,
        region=region,
        symbol=symbol,
        base=base,
        quote_currency=quote_currency,
        tick_size=decimal_of(tick_size),
        lot_step=_EIGHT_DIGITS,
        minimum_amount=decimal_of(minimum_amount),
        minimum_notional=decimal_of(minimum_notional),
        fee_side=fee_side,
        is_fx=is_fx,
    )


# Exchange, symbol, price step, amount step, least amount, least notional: modelled on the exchanges' own lists.
_CROSSES = """
coinbaseexchange ETH/BTC 0.00001 0.00000001 0.001 0.00001
coinbaseexchange BTC/EUR 0.01 0.00000001 0.0001 1
coinbaseexchange ETH/EUR 0.01 0.00000001 0.001 1
bitstamp ETH/BTC 0.000001 0.00000001 0.001 0.0002
bitflyer ETH/BTC 0.00001 0.0000001 0.01 0.0001
kraken ETH/BTC 0.00001 0.00000001 0.001 0.00002
kraken BTC/EUR 0.1 0.00000001 0.0001 0.5
kraken ETH/EUR 0.01 0.00000001 0.001 0.5
binance ETH/BTC 0.00001 0.0001 0.001 0.0001
binance SOL/BTC 0.0000001 0.001 0.02 0.0001
binance SOL/ETH 0.000001 0.001 0.02 0.001
okx ETH/BTC 0.00001 0.000001 0.001 0
"""
