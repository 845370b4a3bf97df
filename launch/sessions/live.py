"""`arbitrage live`: the same system on real exchanges or in their sandboxes. Every check runs before the first request
that changes anything."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Literal

from exchanges.accounts.exchange_rules import exchange_rules
from exchanges.accounts.key_rights import refusal
from exchanges.accounts.order_apis import order_socket
from exchanges.catalogue import sandboxes
from exchanges.ccxt.client import make_exchange, session_config
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError
from launch.config.configuration import Configuration, first_settings
from launch.config.configured_entries import ccxt_id, session_entries
from launch.config.session_options import SessionOptions
from launch.config.shared_books import check_books_apart
from launch.config.transfers import session_transfers
from launch.config.watched_cycles import chosen_cycles
from launch.errors import CannotStartError
from launch.sessions.contract_check import check_contracts
from launch.sessions.paper import (
    SETTLEMENT_CURRENCY,
    Echo,
    named_markets,
    recordings_limit_mb,
    run_session,
)
from launch.setup.data_dir import check_writable
from launch.setup.data_layout import database_name
from launch.setup.nested_home import make_nested_home
from market.decide.kill_switch import HALTED
from market.decide.market_rules import rule_key, rules_of
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.instruments.token_contracts import Token
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from session.session import ExchangeReach, Mode, PageTerms, Services, Session, Upkeep
from streams.broker.embedded_broker import free_ports

RealMode = Literal["sandbox", "live"]

MIN_STALE_MS = 3_000
"""If a stream does not show that it lost a message, REST is polled several times within that limit; bitFlyer allows
500 requests in five minutes."""


async def run_live(
    home: Path, options: SessionOptions, config: Configuration, environment: Mapping[str, str], echo: Echo
) -> int:
    """Trade until stopped. Raises CannotStartError if anything is missing that real trading needs."""
    if options.json is not None:
        check_writable(options.json)
    session = live_session(home, options, config)
    check_accounts(session, environment)
    echo(f"asking {', '.join(_traded(session))} for markets, fees and the time")
    session, fees = await with_exchange_rules(session, environment)
    make_nested_home(home, session.home)
    echo("trading_state starts as halted: switch trading on in the settings, unless this database has it on already")
    return await run_session(session, live_settings(config, fees, session.traded), options, config, echo)


def check_live(home: Path, config: Configuration, environment: Mapping[str, str]) -> Session:
    """Check all of the configuration that needs no request; returns its session. Raises CannotStartError."""
    session = live_session(home, SessionOptions(), config)
    check_accounts(session, environment)
    live_settings(config, {})
    return session


def live_session(home: Path, options: SessionOptions, config: Configuration) -> Session:
    """Return the session. Raises CannotStartError for a configuration that mixes modes or names an exchange that has no
    such mode."""
    session = session_at_exchanges(home, options, config, real_mode(config))
    check_books_apart(session)
    return session


def session_at_exchanges(home: Path, options: SessionOptions, config: Configuration, mode: Mode) -> Session:
    """Return a session at real prices. Raises CannotStartError for a configuration that such a session cannot have."""
    if config.kafka is not None:
        raise CannotStartError(
            "`kafka` is set: remove it, since real trading uses its own Kafka, where no simulated price can get in."
        )
    if config.feeds.stale_after_ms < MIN_STALE_MS:
        raise CannotStartError(
            f"[feeds] stale_after_ms is {config.feeds.stale_after_ms}; real exchanges' rate limits do not allow "
            f"less than {MIN_STALE_MS}."
        )
    kafka_port, mongodb_port = free_ports(2)
    own = home / mode
    entries, markets = session_entries(config, mode), named_markets(named_exchanges(config), config)
    return Session(
        session_id=uuid.uuid4().hex,
        started_at=wall_now(),
        mode=mode,
        home=own,
        services=Services(
            kafka=f"127.0.0.1:{kafka_port}",
            mongodb=config.mongodb or f"mongodb://127.0.0.1:{mongodb_port}/?replicaSet=rs0",
            database=database_name(mode),
            partitions=config.partitions,
        ),
        markets=markets,
        cycles=chosen_cycles(config, markets, SETTLEMENT_CURRENCY),
        standby_assets=config.standby_assets,
        settlement_currency=SETTLEMENT_CURRENCY,
        reach=_reach(config, entries),
        page=PageTerms(
            host=config.bind, port=config.port if options.port is None else options.port, access=config.access
        ),
        stale_after_ms=config.feeds.stale_after_ms,
        upkeep=Upkeep(recordings_mb=recordings_limit_mb(own, options, config)),
    )


def _reach(config: Configuration, entries: dict[str, ExchangeEntry]) -> ExchangeReach:
    return ExchangeReach(
        entries=entries,
        gateways={name: one.url for name, one in config.exchange.items() if one.url is not None},
        transfers=session_transfers(config.transfers),
        transfer_rules=config.transfers.rules(is_live=True),
    )


def named_exchanges(config: Configuration) -> tuple[str, ...]:
    return config.exchanges or tuple(config.exchange)


def one_mode(config: Configuration, watched: Collection[str] = ()) -> str:
    """Return the mode of all exchanges; those `watched` for their FX rates may be configured without being named.

    Raises CannotStartError if they differ.
    """
    names = named_exchanges(config)
    unnamed = [name for name in config.exchange if name not in (*names, *watched)]
    if unnamed:
        raise CannotStartError(f"[exchange.{unnamed[0]}] is configured, but `exchanges` does not name {unnamed[0]}.")
    modes = {name: config.exchange[name].mode if name in config.exchange else "simulated" for name in names}
    modes |= {name: config.exchange[name].mode for name in watched if name in config.exchange}
    if len(set(modes.values())) > 1:
        each_mode = ", ".join(f"{name} is {mode}" for name, mode in modes.items())
        raise CannotStartError(f"all exchanges of a session must have one mode, but {each_mode}.")
    return next(iter(modes.values()), "simulated")


def real_mode(config: Configuration) -> RealMode:
    """Return the one mode of all exchanges. Raises CannotStartError if they differ, or if none trades for real."""
    mode = one_mode(config)
    if mode == "sandbox":
        lacking = [name for name in named_exchanges(config) if ccxt_id(config, name) not in sandboxes()]
        if lacking:
            raise CannotStartError(f"{lacking[0]} has no sandbox, only {' and '.join(sandboxes())} have.")
        return "sandbox"
    if mode == "live":
        return "live"
    if mode == "public":
        raise CannotStartError('mode = "public" is paper trading; start it with `arbitrage paper`.')
    raise CannotStartError(
        'no exchange is real: `arbitrage live` needs [exchange.NAME] with mode = "live" or "sandbox" for each one; '
        "`arbitrage paper` trades on simulated exchanges."
    )


def check_accounts(session: Session, environment: Mapping[str, str]) -> None:
    """Check the arm flag, keys and addresses of every exchange, without a request. Raises CannotStartError."""
    owners: dict[tuple[str, str], str] = {}
    for exchange in _traded(session):
        try:
            account = session_config(session, exchange, environment)
            order_socket(account.entry, make_exchange(account, environment))
        except AccountRejectedError as error:
            raise CannotStartError(f"{error}.") from None
        key = "" if account.credentials is None else account.credentials.api_key
        owner = owners.setdefault((account.entry.ccxt, key), exchange)
        if owner != exchange:
            raise CannotStartError(
                f"{owner} and {exchange} have the same API key, so one account: its balances would count twice."
            )


async def with_exchange_rules(session: Session, environment: Mapping[str, str]) -> tuple[Session, dict[str, Decimal]]:
    """Return the session with the order sizes in force, and our taker fees. Raises CannotStartError if an exchange
    refuses, or two coins have one ticker."""
    markets, fees = list(session.markets), {}
    tokens: list[Token] = []
    for exchange in _traded(session):
        traded = [market for market in session.traded if market.exchange == exchange]
        try:
            rules = await exchange_rules(session_config(session, exchange, environment), traded, environment)
        except (AccountRejectedError, ExchangeUnavailableError) as error:
            raise CannotStartError(f"{error}.") from None
        against = refusal(exchange, rules.rights)
        if against is not None:
            raise CannotStartError(f"{against}.")
        stated = {market.symbol: market for market in rules.markets}
        markets = [stated.get(one.symbol, one) if one.exchange == exchange else one for one in markets]
        fees[exchange] = rules.taker_rate
        tokens += rules.tokens
    check_contracts(session, tokens)
    return replace(session, markets=tuple(markets)), fees


def live_settings(config: Configuration, fees: Mapping[str, Decimal], markets: Sequence[Market] = ()) -> Settings:
    """Return the settings of a new database: trading is halted until a user switches it on. Raises
    CannotStartError.

    Fees and market rules are the exchanges' own whatever is configured; of a database that is not new they replace
    those stored (`of_next_session`). `markets`: with the rules in force.
    """
    rules = {rule_key(market.exchange, market.symbol): rules_of(market) for market in markets}
    first = {"enabled_exchanges": tuple(fees), "taker_fees": dict(fees), "trading_state": HALTED}
    configured = first_settings(config, first)
    return configured.model_copy(
        update={"taker_fees": {**configured.taker_fees, **fees}, "market_rules": {**configured.market_rules, **rules}}
    )


def _traded(session: Session) -> tuple[str, ...]:
    return tuple(dict.fromkeys(market.exchange for market in session.traded))
