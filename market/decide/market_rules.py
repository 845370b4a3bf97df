"""The rules of a market in force: as the session began with them, or as its exchange said since. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from market.decide.settings import MarketRules, Settings
from market.instruments.markets import Market
from market.money import BoundedDecimal


def rule_key(exchange: str, symbol: str) -> str:
    """Return the key of `Settings.market_rules`."""
    return f"{exchange}|{symbol}"


def market_in_force(market: Market, settings: Settings) -> Market:
    """Return the same market if its exchange has said nothing since the session began."""
    rules = settings.market_rules.get(rule_key(market.exchange, market.symbol)) if settings.market_rules else None
    if rules is None:
        return market
    return replace(
        market,
        tick_size=rules.tick_size,
        lot_step=rules.lot_step,
        minimum_amount=rules.minimum_amount,
        minimum_notional=rules.minimum_notional,
    )


def rules_of(market: Market, closed: str = "") -> MarketRules:
    """Return the market's rules; `closed`: why it takes no orders now."""
    return MarketRules(
        tick_size=market.tick_size,
        lot_step=market.lot_step,
        minimum_amount=market.minimum_amount,
        minimum_notional=market.minimum_notional,
        closed=closed,
    )


def is_closed(exchange: str, symbol: str, settings: Settings) -> bool:
    """Whether the market takes no orders, as far as its exchange said."""
    rules = settings.market_rules.get(rule_key(exchange, symbol)) if settings.market_rules else None
    return rules is not None and bool(rules.closed)


def with_account_rules(
    settings: Settings, exchange: str, taker_rate: BoundedDecimal | None, rules: Mapping[str, MarketRules]
) -> Settings:
    """Return `settings` with what an exchange says of our account now; the same if nothing changed. `rules` by symbol;
    `taker_rate` None: it did not say."""
    fees = settings.taker_fees if taker_rate is None else {**settings.taker_fees, exchange: taker_rate}
    said = {rule_key(exchange, symbol): one for symbol, one in rules.items()}
    market_rules = {**settings.market_rules, **said}
    if fees == settings.taker_fees and market_rules == settings.market_rules:
        return settings
    return settings.model_copy(update={"taker_fees": fees, "market_rules": market_rules})
