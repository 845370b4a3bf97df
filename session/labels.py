"""Labels for people: exchanges, states, reasons, fields. One table for pages, commands and reports; REST, JSON, files
and the log use the machine names."""

import re
from collections.abc import Mapping

EXCHANGES: Mapping[str, str] = {
    "binance": "Binance",
    "binancecoinm": "Binance COIN-M",
    "binanceusdm": "Binance USD-M",
    "bitflyer": "bitFlyer",
    "bitstamp": "Bitstamp",
    "coinbase": "Coinbase",
    "coinbase-eur": "Coinbase EUR",
    "coinbaseexchange": "Coinbase",
    "fxcm": "FXCM",
    "kraken": "Kraken",
}

_EXCHANGE = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(EXCHANGES, key=len, reverse=True))})(?!\w)")

STATES: Mapping[str, str] = {
    # of an arbitrage, and how far its legs have come
    "awaiting_second_leg": "awaiting second leg",
    "reserved": "reserved",
    "sent": "sent",
    "partly_filled": "partly filled",
    "filled": "filled",
    "single_leg": "single leg",
    "completing": "completing",
    "reversing": "reversing",
    "flattening": "flattening",
    "closed": "closed",
    "unwound": "unwound",
    "residual": "residual",
    "expired": "expired",
    "unfilled": "not filled",
    # of one of its orders
    "sending": "being sent",
    "not_sent": "not sent",
    "done": "done",
    # of a process, and of a bot
    "ready": "running",
    "starting": "starting",
    "stopping": "draining",
    "stopped": "stopped",
    "restarting": "restarting",
    "failed": "fails to start",
    "unknown": "unknown",
    "trading": "trading",
    "standby": "standby",
    "reducing": "reduce-only",
    "halted": "halted",
    # of a feed
    "live": "live",
    "stale": "stale",
    "resyncing": "resyncing",
    "down": "down",
}

REASONS: Mapping[str, str] = {
    # against a trade, in the order of docs/risk.md
    "halted": "Trading is halted",
    "reducing": "Reduce-only: nothing new is opened",
    "exchange_disabled": "An exchange is switched off",
    "below_threshold": "Pays less than the threshold",
    "stale": "A quote is too old",
    "crossed": "A book is out of order",
    "quarantined": "Too good to be true",
    "not_persistent": "Not above the threshold for long enough",
    "stopping": "The session is ending",
    "daily_loss": "The daily loss limit is reached",
    "exchange_paused": "An exchange is paused after failures",
    "too_many_open": "Too many arbitrages are open",
    "pair_busy": "The pair has one open already",
    "cooling_down": "The pair is cooling down",
    "total_limit": "The limit of all open ones is reached",
    "asset_limit": "The limit of the asset is reached",
    "exchange_limit": "The limit of an exchange is reached",
    "exposure": "The exposure limit is reached",
    "currency_drift": "The currency drift limit is reached",
    "recheck_failed": "The exact recheck finds less",
    "leg_in_flight": "An order of this market is in flight",
    "rate_budget": "No room in an exchange's rate limit",
    "too_small": "Below an exchange's minimum",
    "insufficient_balance": "A balance is too small",
    "liquidity_used": "The quote's liquidity is used up",
    # why an arbitrage ended as it did
    "ambiguous_order": "More than one order may be ours",
    "below_minimum": "Below the exchange's minimum",
    "late_fill": "A fill came after the end",
    "market_missing": "A market is not in this session",
    "no_counterpart": "The second leg was never reserved",
    "nothing_filled": "No order was filled",
    "not_posted": "The unwinding order was not posted",
    "order_lost": "The exchange lost the order",
    "reversed": "The single leg was reversed",
    "single_leg_left": "A single leg could not be unwound",
    # why a transfer of the rebalancing plan is left out
    "terms_unknown": "Transfer costs unknown",
    "not_free": "Too much of it is held by orders",
    "fee_eats_it": "The fee exceeds the amount",
    "no_price": "No fresh quote values the fee",
    "costs_more_than_earned": "Costs more than the realised profit",
    # what an exchange did badly
    "order_rejected": "The exchange rejected an order",
    "outcome_unknown": "No answer to an order",
    "look_up_unanswered": "No answer to an order look-up",
    "account_rejected": "The exchange rejected the account",
}

ROLES: Mapping[str, str] = {
    "buy": "buy",
    "sell": "sell",
    "complete": "completing",
    "reverse": "reversing",
    "flatten": "flattening",
}
STRATEGIES: Mapping[str, str] = {"arbitrage": "Arbitrage", "ma": "Moving average"}
PROFIT_PARTS: Mapping[str, str] = {
    "gross": "Theoretical gross",
    "latency_decay": "Latency",
    "slippage": "Depth",
    "fees": "Fees",
    "fx": "FX",
    "unwinding": "Unwinding",
    "net": "Net",
}


BACKTEST_FIELDS: Mapping[str, str] = {
    "tick_set": "Recorded ticks",
    "min_net_bps": "Trade at or above (bps net)",
    "max_notional": "Maximum per arbitrage",
    "max_total_notional": "Maximum of all open",
    "cool_down_ms": "Cool-down of a pair (ms)",
    "fee_bps": "Taker fee a side (bps)",
    "latency_ms": "Latency of orders (ms)",
    "failed_percent": "Orders that fail (%)",
    "seed": "Seed",
    "fee_tiers": "Fees by volume",
}


def exchange_name(exchange: str) -> str:
    """The exchange's label, or its id if it has none."""
    return EXCHANGES.get(exchange, exchange)


def pair_name(pair: str) -> str:
    """Of "buy → sell", or of one exchange."""
    return " → ".join(map(exchange_name, pair.split(" → ")))


def part_name(name: str) -> str:
    """Of a part of the session, with the exchange in it called as people call it: `bot-Coinbase`."""
    return _EXCHANGE.sub(lambda found: EXCHANGES[found[0]], name)


def state_name(state: str) -> str:
    return STATES.get(state, plain(state))


def reason_name(reason: str) -> str:
    """A short sentence without its stop."""
    return REASONS.get(reason, plain(reason).capitalize())


def plain(name: str) -> str:
    """The fallback for a name without label: its words without underscores."""
    return name.replace("_", " ")
