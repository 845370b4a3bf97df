"""How a configuration's exchanges are reached: by ccxt's name of each, through our own adapters or the generic one."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from exchanges.accounts.wire_check import wire_fault
from exchanges.catalogue import EXCHANGES, own_facts, without_client_ids
from exchanges.ccxt.facts import ccxt_facts
from exchanges.ccxt.fitness import fitness_of
from exchanges.errors import AccountRejectedError
from launch.config.configuration import Configuration, ExchangeConfiguration
from launch.errors import CannotStartError
from market.instruments.assets import SessionCodes
from session.exchange_entries import Adapter, ExchangeEntry, OrderTransport
from session.session import Mode

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
"""Names of exchanges are parts of file names, addresses and environment variables."""


def ccxt_id(config: Configuration, name: str) -> str:
    return config.exchange.get(name, ExchangeConfiguration()).ccxt or name


def session_codes(config: Configuration) -> SessionCodes:
    """Return what the configuration says of codes."""
    names = dict.fromkeys((*config.exchanges, *config.exchange))
    return SessionCodes(
        {name: ccxt_id(config, name) for name in names}, {name: frozenset(_said_codes(config, name)) for name in names}
    )


def _said_codes(config: Configuration, name: str) -> tuple[str, ...]:
    return tuple(code for code, one in config.asset.items() if name in one.compare)


def session_entries(config: Configuration, mode: Mode) -> dict[str, ExchangeEntry]:
    """Return by name the exchanges that are not simply those with adapters of our own. Raises CannotStartError for one
    that a session of that mode cannot have."""
    names = dict.fromkeys((*config.exchanges, *config.exchange))
    entries = {name: _entry(config, name, mode) for name in names}
    _check_opt_in(config, {name: entry for name, entry in entries.items() if entry.is_generic})
    if mode == "paper":
        _check_simulated(entries)
    return {name: entry for name, entry in entries.items() if entry != ExchangeEntry(name)}


def _entry(config: Configuration, name: str, mode: Mode) -> ExchangeEntry:
    one, ccxt = config.exchange.get(name, ExchangeConfiguration()), ccxt_id(config, name)
    if _NAME.fullmatch(name) is None:
        raise CannotStartError(f"[exchange.{name}]: a name has small letters, digits and _ only, a letter first.")
    if name in EXCHANGES and ccxt != name:
        raise CannotStartError(f'[exchange.{name}] ccxt = "{ccxt}": {name} is an exchange itself; choose another name.')
    adapter: Adapter = one.adapter or ("verified" if ccxt in EXCHANGES else "generic")
    if adapter == "verified":
        if ccxt not in EXCHANGES:
            raise CannotStartError(
                f'[exchange.{name}] adapter = "verified": there is none for {ccxt}, only for {", ".join(EXCHANGES)}.'
            )
        entry = ExchangeEntry(ccxt)
    else:
        entry = _generic_entry(config, name, ccxt, mode)
    _check_transport(name, entry, one.order_transport)
    entry = replace(entry, said_codes=_said_codes(config, name), order_transport=one.order_transport)
    if ccxt in without_client_ids() and name != ccxt:
        raise CannotStartError(f"[exchange.{name}]: {ccxt} has no client order ids, and must be named {ccxt}.")
    if mode in ("live", "sandbox"):
        _check_wire(name, entry)
    return entry


def _generic_entry(config: Configuration, name: str, ccxt: str, mode: Mode) -> ExchangeEntry:
    try:
        facts = ccxt_facts(ccxt)
    except AccountRejectedError as error:
        raise CannotStartError(f"[exchange.{name}]: {error}.") from None
    fitness = fitness_of(ccxt, facts.has)
    if fitness.reason is not None:
        raise CannotStartError(f"{name} cannot be used: {fitness.reason}.")
    if mode == "sandbox":
        raise CannotStartError(f"{name} is reached through ccxt alone, which has no sandbox here.")
    if mode == "live" and name not in config.generic_live:
        raise CannotStartError(
            f"{name} is reached through ccxt alone, which was never tried with money there; "
            f'to trade on it all the same, set generic_live = ["{name}"].'
        )
    if mode == "live" and ccxt not in EXCHANGES and name not in config.unsimulated_live:
        raise CannotStartError(
            f"{name} has no simulator here: not one order was ever sent there or anywhere like it, and what it answers "
            f'to ours is not known. Money may be lost by that alone; if you take it, set unsimulated_live = ["{name}"] '
            "beside generic_live."
        )
    if mode == "live" and fitness.no_live_because is not None:
        raise CannotStartError(f"{name} cannot be traded on: {fitness.no_live_because}.")
    return ExchangeEntry(ccxt, "generic", facts.rate_limit_ms, facts.leg_units)


def _check_transport(name: str, entry: ExchangeEntry, transport: OrderTransport | None) -> None:
    """Raise CannotStartError if orders cannot be sent so."""
    has_socket = not entry.is_generic and own_facts(entry.ccxt).order_socket is not None
    if transport == "socket" and not has_socket:
        raise CannotStartError(
            f'[exchange.{name}] order_transport = "socket": orders go there by REST alone; remove it.'
        )


def _check_wire(name: str, entry: ExchangeEntry) -> None:
    """Raise CannotStartError if an order would not leave as the exchange's documents want it."""
    fault = wire_fault(entry)
    if fault is not None:
        raise CannotStartError(f"{name} cannot be traded on: {fault}.")


def _check_opt_in(config: Configuration, generic: Collection[str]) -> None:
    """Reject a name that needs no opt-in, because it is a typo. Raises CannotStartError."""
    for name in config.generic_live:
        if name not in generic:
            raise CannotStartError(f"generic_live names {name}, which is not an exchange reached through ccxt alone.")
    for name in config.unsimulated_live:
        if name not in config.generic_live or ccxt_id(config, name) in EXCHANGES:
            raise CannotStartError(
                f"unsimulated_live names {name}, which is not one of generic_live without a simulator."
            )


def _check_simulated(entries: Mapping[str, ExchangeEntry]) -> None:
    for name, entry in entries.items():
        if entry.ccxt not in EXCHANGES:
            raise CannotStartError(
                f"[exchange.{name}]: {entry.ccxt} is not simulated, only {', '.join(EXCHANGES)} are; for paper trading "
                f'at its live prices set mode = "public".'
            )
