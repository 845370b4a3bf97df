"""The exchange's size rules and our fee there, as Decimals; from our own table if ccxt has none (bitFlyer)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import ccxt

from exchanges.accounts.key_rights import key_rights
from exchanges.accounts.stated_contracts import stated_tokens
from exchanges.catalogue import facts_of, orders_of
from exchanges.ccxt.client import ExchangeConfig, make_exchange
from exchanges.credentials import Credentials
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from exchanges.listed_codes import listed_codes
from exchanges.ports.error_mapping import read_error
from exchanges.ports.orders import AnswerNotUnderstoodError, KeyRights, number_in, row_of, understood
from exchanges.requests.measured_clock import MeasuredClock
from market.decide.market_rules import rules_of
from market.decide.settings import MarketRules
from market.instruments.markets import FeeSide, Market
from market.instruments.token_contracts import Token
from market.money import decimal_of

_HIGHEST_RATE = Decimal("0.1")
_FEE_SIDES: dict[object, FeeSide] = {"get": "received", "base": "base", "quote": "quote"}
"""ccxt's names of them."""


@dataclass(frozen=True, slots=True)
class ExchangeRules:
    """Markets with the sizes in force, our account's taker fee as a fraction of the notional, the tokens whose
    contracts the exchange states, and what our key may do."""

    markets: tuple[Market, ...]
    taker_rate: Decimal
    tokens: tuple[Token, ...]
    rights: KeyRights


async def exchange_rules(
    config: ExchangeConfig, markets: Sequence[Market], environment: Mapping[str, str] | None = None
) -> ExchangeRules:
    """Rules by a signed request: an answer shows that the exchange is up and accepts our API keys and our clock.

    Raises AccountRejectedError if keys are rejected or a market is not the expected one,
    ExchangeUnavailableError."""
    client = make_exchange(config, environment)
    try:
        await MeasuredClock(client).measure()
        listed: Mapping[str, Any] = await understood(client.load_markets())
        _check_precision(client)
        own = _as_listed(config, markets, listed)
        rate, rights = await _taker_rate(client, markets), await key_rights(client, markets[0])
        return ExchangeRules(own, rate, stated_tokens(own, client.currencies), rights)
    except ccxt.BaseError as error:
        raise read_error(config.exchange, error, config.credentials) from None
    except AnswerNotUnderstoodError as error:
        raise ExchangeUnavailableError(_hidden(config.credentials, f"{config.exchange}: {error}")) from None
    finally:
        await client.close()


@dataclass(frozen=True, slots=True)
class AccountRules:
    """What an exchange says of our account during a session, whatever it is: our taker fee (None if it does not
    say), and the rules of each symbol, `closed` for those that take no orders now."""

    taker_rate: Decimal | None
    markets: Mapping[str, MarketRules]


async def account_rules(
    config: ExchangeConfig, markets: Sequence[Market], environment: Mapping[str, str] | None = None
) -> AccountRules:
    """Fee, steps, minima and state of `markets`, by a signed request. A market that is gone or renamed is closed.

    Raises AccountRejectedError if keys are rejected, ExchangeUnavailableError."""
    client = make_exchange(config, environment)
    try:
        await MeasuredClock(client).measure()
        listed: Mapping[str, Any] = await understood(client.load_markets())
        rules = {market.symbol: await _rules_now(client, config, market, listed) for market in markets}
        open_ones = [market for market in markets if market.symbol in listed]
        rate = await _taker_rate(client, open_ones) if open_ones else None
        return AccountRules(rate, rules)
    except ccxt.BaseError as error:
        raise read_error(config.exchange, error, config.credentials) from None
    except AnswerNotUnderstoodError as error:
        raise ExchangeUnavailableError(_hidden(config.credentials, f"{config.exchange}: {error}")) from None
    finally:
        await client.close()


async def _rules_now(client: Any, config: ExchangeConfig, market: Market, listed: Mapping[str, Any]) -> MarketRules:
    row, entry = listed.get(market.symbol), config.entry
    why = closed_by(entry.ccxt, row)
    orders = orders_of(entry.ccxt)
    if not why and orders is not None:
        why = await orders.why_closed(client, market)
    try:
        return rules_of(market_as_listed(market, row, entry.ccxt, entry.said_codes), why)
    except AccountRejectedError as error:
        return rules_of(market, why or str(error))


def closed_by(ccxt_id: str, row: Mapping[str, Any] | None) -> str:
    """Why a market takes no immediate-or-cancel orders, in the exchange's own word; empty if it does."""
    if row is None:
        return "not listed"
    info = row.get("info")
    own = info if isinstance(info, Mapping) else {}
    if row.get("active") is False:
        return str(own.get("status") or own.get("trading") or "inactive")[:200]
    facts = facts_of(ccxt_id)
    return next((name for name in (() if facts is None else facts.closes_by) if own.get(name) is True), "")


@dataclass(frozen=True, slots=True)
class StaticRules:
    """Markets with the sizes in force, the taker fee of the lowest tier (None if none is listed), and the tokens
    whose contracts the exchange states."""

    markets: tuple[Market, ...]
    taker_rate: Decimal | None
    tokens: tuple[Token, ...]


async def listed_rules(config: ExchangeConfig, markets: Sequence[Market]) -> StaticRules:
    """Rules by public requests. Raises AccountRejectedError if a market is not the expected one,
    ExchangeUnavailableError."""
    client = make_exchange(config)
    try:
        listed: Mapping[str, Any] = await understood(client.load_markets())
        _check_precision(client)
        rows = {market.symbol: listed.get(market.symbol) for market in markets}
        own = _as_listed(config, markets, listed)
        rates = [_listed_rate(rows[market.symbol] or {}) for market in markets if not market.is_fx]
        rate = max((rate for rate in rates if rate is not None), default=None)
        return StaticRules(own, rate, stated_tokens(own, client.currencies))
    except ccxt.BaseError as error:
        raise read_error(config.exchange, error, None) from None
    except AnswerNotUnderstoodError as error:
        raise ExchangeUnavailableError(f"{config.exchange}: {error}") from None
    finally:
        await client.close()


def _as_listed(config: ExchangeConfig, markets: Sequence[Market], listed: Mapping[str, Any]) -> tuple[Market, ...]:
    entry = config.entry
    return tuple(
        market_as_listed(market, listed.get(market.symbol), entry.ccxt, entry.said_codes) for market in markets
    )


def _check_precision(client: Any) -> None:
    """Raise AccountRejectedError if ccxt's precisions are not steps: with so many significant digits the step
    changes with the price."""
    if client.precisionMode != ccxt.TICK_SIZE:
        raise AccountRejectedError(f"{client.id} has no fixed price step in ccxt, which is not supported")


def market_as_listed(
    market: Market, row: Mapping[str, Any] | None, ccxt_id: str | None = None, said: Collection[str] = ()
) -> Market:
    """`market` with ccxt's sizes. Raises AccountRejectedError if it is not traded or has another asset.

    `ccxt_id`: ccxt's name of the exchange if the market has another one of ours. `said`: codes that our lists need
    not know.

    ccxt's steps are floats made from the exchange's decimals, so their shortest text is the exchange's own.
    """
    if row is None or row.get("active") is False:
        raise AccountRejectedError(f"{market.exchange} does not trade {market.symbol}")
    _check_assets(replace(market, exchange=ccxt_id or market.exchange), row, said)
    precision, limits = row.get("precision") or {}, row.get("limits") or {}
    fee_side = market.fee_side
    if not listed_codes().has_codes(ccxt_id or market.exchange):
        # there is no table of ours to fall back on
        fee_side = _FEE_SIDES.get(row.get("feeSide"), "quote")
        if _stated(precision.get("price")) is None or _stated(precision.get("amount")) is None:
            raise AccountRejectedError(f"{market.exchange} does not say in which steps {market.symbol} is traded")
    return replace(
        market,
        fee_side=fee_side,
        tick_size=_stated(precision.get("price")) or market.tick_size,
        lot_step=_stated(precision.get("amount")) or market.lot_step,
        minimum_amount=_stated((limits.get("amount") or {}).get("min")) or market.minimum_amount,
        minimum_notional=_stated((limits.get("cost") or {}).get("min")) or market.minimum_notional,
    )


def _stated(value: float | str | None) -> Decimal | None:
    number = None if value is None else decimal_of(value)
    return number if number is not None and number > 0 else None


def _check_assets(market: Market, row: Mapping[str, Any], said: Collection[str]) -> None:
    """Check that the exchange's base and quote currencies are the ones we compare."""
    if not listed_codes().has_codes(market.exchange):
        if (row.get("base"), row.get("quote")) != (market.base, market.quote_currency):
            raise AccountRejectedError(f"{market.exchange} {market.symbol} trades {row.get('base')}/{row.get('quote')}")
        return
    info = row.get("info")
    facts = facts_of(market.exchange)
    is_translated = facts is not None and facts.has_own_codes_in_rows
    codes = (info["base"], info["quote"]) if is_translated and isinstance(info, Mapping) else None
    ccxt_codes = ((row.get("base"), market.base), (row.get("quote"), market.quote_currency))
    own_codes = codes or (row.get("baseId"), row.get("quoteId"))
    for code, asset, (listed, ours) in zip(own_codes, listed_codes().assets_of(market), ccxt_codes, strict=True):
        if asset is None and ours in said and listed == ours:
            continue
        if asset is None or listed_codes().asset_of(market.exchange, str(code)) != asset:
            raise AccountRejectedError(
                f"{market.exchange} {market.symbol} trades {code}, which is not known to be the same asset"
            )


async def _taker_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    orders, asked = orders_of(client.id), [market for market in markets if not market.is_fx] or markets[:1]
    rate = _highest_rate(client, asked) if orders is None else orders.taker_rate(client, asked)
    return _checked_rate(await understood(rate))


def _listed_rate(row: Mapping[str, Any]) -> Decimal | None:
    stated = row.get("taker")
    return None if stated is None else _checked_rate(decimal_of(stated))


def _checked_rate(rate: Decimal) -> Decimal:
    if not 0 <= rate <= _HIGHEST_RATE:
        raise AnswerNotUnderstoodError(f"a taker fee of {rate} is not a fraction of the notional")
    return rate


async def _highest_rate(client: Any, markets: Sequence[Market]) -> Decimal:
    """Ours by ccxt if it can ask for it, otherwise the listed one: the highest of the markets, since some have a
    promotion."""
    symbols = [market.symbol for market in markets]
    if client.has.get("fetchTradingFees"):
        fees = row_of(await client.fetch_trading_fees())
        rows = [row_of(fees.get(symbol)) for symbol in symbols]
    elif client.has.get("fetchTradingFee"):
        rows = [row_of(await client.fetch_trading_fee(symbol)) for symbol in symbols]
    else:
        rows = [row_of(client.market(symbol)) for symbol in symbols]
    return max(number_in(row, "taker") for row in rows)


def _hidden(keys: Credentials | None, text: str) -> str:
    return text if keys is None else keys.hidden_in(text)
