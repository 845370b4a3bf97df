"""From a signal to its order, or to the reason against it."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from bots.decide.newest_quotes import LatestQuote
from bots.decide.order_decision import Rejected
from bots.strategies.single_order import OrderContext, single_order_request
from market.decide.settings import Settings
from market.instruments.markets import FxRoute, Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import LimitOrder
from market.money import Price
from market.prices.quotes import Quote
from market.trade.moving_average import AverageOrder, AverageTrade, TradeType
from market.trade.reservations import Reservation
from market.trade.unwinding import client_order_id
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET, levels, settings_of

NOW = 1_700_000_000_000_000
ORDERS = settings_of(ma_trading="orders", ma_notional=100, max_slippage_bps=10.0)
FX_MARKET = replace(USD_MARKET, exchange="fx", is_fx=True)
ROUTES = {"EUR": FxRoute("EUR", "EUR/USD", inverted=False), "JPY": FxRoute("JPY", "USD/JPY", inverted=True)}
FX_PRICES = {"EUR": ("1.0999", "1.1001"), "JPY": ("149.9", "150.1")}


def seen(
    market: Market, bid: str, ask: str, amount: str = "5", received: int = NOW, verified: int = NOW
) -> LatestQuote:
    quote = Quote(
        kind="fx" if market.is_fx else "quote",
        exchange=market.exchange,
        region=market.region,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        bids=levels((bid, amount)),
        asks=levels((ask, amount)),
        exchange_time=received - 1,
        received_time=received,
        sequence=7,
    )
    return LatestQuote(quote, verified, 3)


def trade(market: Market, trade_type: TradeType) -> AverageTrade:
    return AverageTrade(
        trade_id=f"{market.exchange}|{market.symbol}|5000000",
        exchange=market.exchange,
        quote_region=market.region,
        symbol=market.symbol,
        timestamp=NOW,
        trade_location=market.region,
        trade_price=Price(Decimal(1)),
        trade_strategy="MA Trading",
        trade_type=trade_type,
        average=Decimal(1),
        at=NOW,
        order=AverageOrder(),
    )


def outlook(
    market: Market,
    bid: str,
    ask: str,
    settings: Settings = ORDERS,
    drift: Mapping[str, Decimal] | None = None,
) -> OrderContext:
    """Return a context with fresh quotes."""
    route = ROUTES.get(market.quote_currency)
    return OrderContext(
        market=market,
        quote=seen(market, bid, ask),
        route=route,
        fx_quote=None if route is None else seen(FX_MARKET, *FX_PRICES[route.currency]),
        settlement="USD",
        settings=settings,
        drift=drift or {},
        now=NOW,
        valid_until=NOW + 5_000_000,
    )


def requested(trade_type: TradeType, of: OrderContext) -> Reservation:
    request = single_order_request(trade(of.market, trade_type), of)
    assert isinstance(request, Reservation)
    return request


@pytest.mark.parametrize(
    ("trade_type", "of", "amount", "limit", "hold"),
    [
        # 100 USD at the limit of 200.2: 0.49950…; what it costs with its fee of 0.1 % is held
        ("BUY", outlook(USD_MARKET, "199", "200"), "0.4995", "200.2", "200.4002"),
        # 100 USD at the best bid of 199: 0.5025…
        ("SELL", outlook(USD_MARKET, "199", "200"), "0.5025", "198.81", "1"),
        # 200.2 EUR cost 220.24… USD
        ("BUY", outlook(EUR_MARKET, "199", "200"), "0.454", "200.2", "200.44024"),
        # 199 EUR bring 218.88… USD
        ("SELL", outlook(EUR_MARKET, "199", "200"), "0.4568", "198.81", "1"),
        # 20,020 JPY cost 133.5… USD; the fee is taken in base
        ("BUY", outlook(JPY_MARKET, "19900", "20000"), "0.748", "20020", "20020"),
        ("SELL", outlook(JPY_MARKET, "19900", "20000"), "0.754", "19881", "1.0015"),
    ],
)
def test_the_order_is_of_the_notional_in_lots(
    trade_type: TradeType, of: OrderContext, amount: str, limit: str, hold: str
) -> None:
    request = requested(trade_type, of)
    side = "buy" if trade_type == "BUY" else "sell"
    (wanted,) = request.legs
    assert (wanted.leg.role, wanted.leg.side, request.strategy) == (side, side, "ma")
    assert (request.amount, wanted.leg.limit_price) == (Decimal(amount), Decimal(limit))
    assert (wanted.factor, wanted.step) == (Decimal(1), of.market.lot_step)
    assert (wanted.hold_per_unit, wanted.displayed) == (Decimal(hold), Decimal(5))
    assert wanted.hold_currency == (of.market.quote_currency if side == "buy" else "BTC")
    assert request.amount * request.unit_notional <= 100 < (request.amount + of.market.lot_step) * request.unit_notional
    order = LimitOrder(
        "id", of.market.exchange, of.market.symbol, wanted.leg.side, request.amount, wanted.leg.limit_price, NOW
    )
    assert rule_broken(order, of.market) is None


def test_its_opportunity_has_one_exchange_and_the_signals_id() -> None:
    of = outlook(EUR_MARKET, "199", "200")
    request = requested("BUY", of)
    opportunity = request.opportunity
    assert opportunity.opportunity_id == "beta|BTC/EUR|5000000"
    (wanted,) = request.legs
    assert wanted.leg.client_order_id == client_order_id("beta|BTC/EUR|5000000", "buy")
    assert opportunity.buy.exchange == opportunity.sell.exchange == "beta"
    assert (opportunity.buy.price, opportunity.sell.price) == (Decimal(200), Decimal(199))
    assert opportunity.buy.quote_id == opportunity.sell.quote_id == "beta:BTC/EUR:7"
    assert (opportunity.gross_bps, opportunity.fee_bps, opportunity.net_bps) == (-50.0, 24.0, -74.0)
    rate = opportunity.rate("EUR")
    assert rate is not None
    assert (rate.bid, rate.ask) == (Decimal("1.0999"), Decimal("1.1001"))
    assert request.valid_until == NOW + 5_000_000


USD = outlook(USD_MARKET, "199", "200")
EUR = outlook(EUR_MARKET, "199", "200")
OLD = NOW - 2_000_001


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (replace(USD, settings=settings_of(ma_trading="signals")), "ma_orders_off"),
        (replace(USD, settings=settings_of(ma_trading="off")), "ma_orders_off"),
        (replace(USD, quote=None), "stale"),
        (replace(USD, quote=seen(USD_MARKET, "199", "200", received=OLD, verified=OLD)), "stale"),
        (replace(EUR, fx_quote=None), "stale"),
        (replace(EUR, fx_quote=seen(FX_MARKET, "1", "2", verified=OLD)), "stale"),
        (replace(USD, settings=ORDERS.model_copy(update={"trading_state": "halted"})), "halted"),
        (replace(USD, settings=ORDERS.model_copy(update={"trading_state": "reduce_only"})), "reduce_only"),
        (replace(USD, settings=ORDERS.model_copy(update={"enabled_exchanges": ("beta",)})), "exchange_disabled"),
        (replace(USD, market=replace(USD_MARKET, exchange="nobody")), "exchange_disabled"),
        (replace(USD, settings=ORDERS.model_copy(update={"ma_notional": Decimal("0.01")})), "too_small"),
        (replace(USD, settings=ORDERS.model_copy(update={"max_notional": Decimal("0.01")})), "too_small"),
        (replace(USD, market=replace(USD_MARKET, minimum_notional=Decimal(101))), "too_small"),
        (replace(USD, drift={"BTC": Decimal(1_000)}), "exposure"),
    ],
)
def test_what_is_against_it(of: OrderContext, reason: str) -> None:
    assert single_order_request(trade(USD_MARKET if of is not EUR else EUR_MARKET, "BUY"), of) == Rejected(reason)


@pytest.mark.parametrize(
    "of",
    [
        # the quote is old, and its feed said just now that it holds
        replace(USD, quote=seen(USD_MARKET, "199", "200", received=NOW - 60_000_000, verified=NOW - 2_000_000)),
        # it brings back what drifted
        replace(USD, drift={"BTC": Decimal(-1_000)}),
        # rules for pairs of exchanges are none for one
        replace(USD, settings=ORDERS.model_copy(update={"min_share_above_10s": 1.0, "min_net_bps": 500.0})),
    ],
)
def test_what_is_not_against_it(of: OrderContext) -> None:
    assert isinstance(single_order_request(trade(USD_MARKET, "BUY"), of), Reservation)
