"""`arbitrage paper` at the live prices of real exchanges: reads no API key, calls no private API, sends no order."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from exchanges.accounts.exchange_rules import StaticRules, listed_rules
from exchanges.ccxt.client import public_config
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from exchanges.simulated_coins import amount_worth, listed_coins
from exchanges.simulated_markets import simulated_markets, simulated_taker_fees
from launch.config.configuration import Configuration, first_settings
from launch.config.currency_tables import check_named, currencies_of
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.contract_check import check_contracts
from launch.sessions.live import one_mode, session_at_exchanges
from launch.sessions.paper import Echo, run_session
from launch.sessions.silent_exchanges import without_silent
from launch.setup.data_dir import check_writable
from launch.setup.nested_home import make_nested_home
from market.decide.settings import Settings
from market.instruments.markets import Market
from session.session import Session

OPENING = {
    "BTC": Decimal(1),
    "USD": Decimal(100_000),
    "EUR": Decimal(90_000),
    "JPY": Decimal(15_000_000),
    "USDT": Decimal(100_000),
} | {coin.base: amount_worth(60_000, coin.dollars) for coin in listed_coins()}
"""Opening balance of a new account, per currency of its exchange: a hundred trades of the default size."""
USUAL_FEE = Decimal("0.002")
"""Taker fee if neither the exchange nor ccxt lists one."""


async def run_public(home: Path, options: PaperOptions, config: Configuration, echo: Echo) -> int:
    """Trade until stopped. Raises CannotStartError for an impossible configuration, or if too few exchanges answer."""
    if options.json is not None:
        check_writable(options.json)
    session = public_session(home, options, config)
    echo(f"asking {', '.join(session.exchanges)} for their markets and fees; no API key is needed and none is read")
    session, fees = await with_listed_rules(session, echo)
    settings = public_settings(config, fees)
    make_nested_home(home, session.home)
    accounts = session.home / "paper"
    if accounts.exists():
        echo(f"resuming the paper accounts in {accounts}")
    return await run_session(session, settings, options, config, echo)


def check_public(home: Path, config: Configuration) -> None:
    """Check all of the configuration that needs no request. Raises CannotStartError."""
    session = public_session(home, PaperOptions(), config)
    public_settings(config, {market.exchange: _usual_fee(session, market.exchange) for market in session.traded})


def public_session(home: Path, options: PaperOptions, config: Configuration) -> Session:
    """Return the session. Raises CannotStartError for a configuration that mixes modes or names unknown exchanges."""
    if options.market is not None or options.tape is not None:
        raise CannotStartError("--market and --tape are for simulated exchanges; these have their own live prices.")
    one_mode(config, {market.exchange for market in simulated_markets() if market.is_fx})
    session = session_at_exchanges(home, options, config, "public")
    return replace(
        session,
        seed=config.seed if options.seed is None else options.seed,
        local_accounts=replace(
            session.local_accounts,
            balances=opening_balances(session.traded, config.paper.balances),
            latency_ms=config.paper.latency_ms,
            latency_spread=config.paper.latency_spread,
        ),
    )


def opening_balances(
    markets: tuple[Market, ...], configured: Mapping[str, Mapping[str, Decimal]]
) -> dict[str, dict[str, Decimal]]:
    """Return exchange → currency → amount. Raises CannotStartError if `configured` names a currency that is not
    traded."""
    currencies = currencies_of(markets)
    check_named("paper.balances", configured, currencies)
    balances = {}
    for exchange, names in currencies.items():
        own = {name: OPENING[name] for name in names if name in OPENING} | dict(configured.get(exchange, {}))
        if lacking := [name for name in names if name not in own]:
            raise CannotStartError(
                f"[paper.balances.{exchange}] must say how much {lacking[0]} the account opens with."
            )
        balances[exchange] = own
    return balances


async def with_listed_rules(session: Session, echo: Echo) -> tuple[Session, dict[str, Decimal]]:
    """Return the session with the order sizes in force, and the taker fees of the entry tier. An exchange that does not
    answer is left out, with a sentence. Raises CannotStartError if too few answer, if one does not list one of our
    markets, or if two coins have one ticker."""
    asked = await asyncio.gather(*(_answer(session, exchange) for exchange in session.exchanges))
    answers = dict(zip(session.exchanges, asked, strict=True))
    silent = {exchange: answer for exchange, answer in answers.items() if isinstance(answer, str)}
    if silent:
        session = _without(session, silent, echo)
    rules = {name: one for name, one in answers.items() if name in session.exchanges and not isinstance(one, str)}
    check_contracts(session, [token for one in rules.values() for token in one.tokens])
    ours = {(market.exchange, market.symbol): market for one in rules.values() for market in one.markets}
    traded = {market.exchange for market in session.traded}
    return (
        replace(session, markets=tuple(ours[market.exchange, market.symbol] for market in session.markets)),
        {name: _fee(session, name, one) for name, one in rules.items() if name in traded},
    )


async def _answer(session: Session, exchange: str) -> StaticRules | str:
    """Return the exchange's rules, or a sentence if it does not answer. Raises CannotStartError if it refuses."""
    try:
        return await listed_rules(public_config(session, exchange), session.markets_of(exchange))
    except AccountRejectedError as error:
        raise CannotStartError(f"{_place(session, exchange)}: {error}.") from None
    except ExchangeUnavailableError as error:
        return f"{_place(session, exchange)}: {error}."


def _without(session: Session, silent: Mapping[str, str], echo: Echo) -> Session:
    try:
        rest, lost = without_silent(session, silent)
    except CannotStartError as error:
        raise CannotStartError(" ".join((*silent.values(), str(error)))) from None
    for sentence in silent.values():
        echo(f"{sentence} The session goes on without it.")
    for sentence in lost:
        echo(sentence)
    return rest


def public_settings(config: Configuration, fees: Mapping[str, Decimal]) -> Settings:
    """Return the settings of a new database. Raises CannotStartError for values out of range."""
    first: dict[str, object] = {"enabled_exchanges": tuple(fees), "taker_fees": dict(fees)}
    return first_settings(config, first)


def _fee(session: Session, exchange: str, rules: StaticRules) -> Decimal:
    return _usual_fee(session, exchange) if rules.taker_rate is None else rules.taker_rate


def _usual_fee(session: Session, exchange: str) -> Decimal:
    return simulated_taker_fees().get(session.entry_of(exchange).ccxt, USUAL_FEE)


def _place(session: Session, exchange: str) -> str:
    root = session.reach.gateways.get(exchange)
    return exchange if root is None else f"[exchange.{exchange}] url = {root}"
