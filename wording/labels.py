"""Display names of states and reasons, for pages, commands and reports. Programs (REST, JSON, files, the
log) use the names themselves. Exchanges have theirs in `exchanges.labels`."""

from collections.abc import Mapping

STATES: Mapping[str, str] = {
    # of an arbitrage, and how far its legs have come
    "reserved": "reserved",
    "sent": "sent",
    "partly_filled": "partly filled",
    "filled": "filled",
    "single_leg": "single leg",
    "completing": "completing",
    "reversing": "reversing",
    "flattening": "flattening",
    "closed": "closed",
    "closed_by_third_order": "closed by a third order",
    "unwound": "unwound",
    "residual": "residual",
    "expired": "expired",
    "unfilled": "not filled",
    # of one of its orders
    "granted": "granted",
    "not_sent": "not sent",
    "done": "done",
    # of a process, and of a bot
    "ready": "running",
    "starting": "starting",
    "stopping": "draining",
    "stopped": "stopped",
    "restarting": "restarting",
    "failed": "failed to start",
    "unknown": "unknown",
    "trading": "trading",
    "standby": "standby",
    "reduce_only": "reduce-only",
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
    "reduce_only": "Reduce-only: no new arbitrages",
    "exchange_disabled": "Exchange disabled",
    "asset_disabled": "Asset taken off the session",
    "below_threshold": "Below the threshold",
    "no_rate": "No rate to the settlement currency",
    "stale": "Stale quote",
    "clock_ahead": "Clock ahead where the quote comes from",
    "crossed": "Crossed book",
    "quarantined": "Quarantined: implausible spread",
    "not_persistent": "Not persistent enough",
    "stopping": "The session is ending",
    "daily_loss": "Daily loss limit reached",
    "market_closed": "Market closed by the exchange",
    "exchange_paused": "Exchange paused (circuit breaker)",
    "unexplained_difference": "Unexplained difference",
    "too_many_open": "Too many open arbitrages",
    "pair_busy": "Pair already has an open arbitrage",
    "cycle_busy": "Cycle already has an open trade",
    "cooling_down": "Pair is cooling down",
    "total_limit": "Total notional limit reached",
    "asset_limit": "Asset notional limit reached",
    "exchange_limit": "Exchange notional limit reached",
    "exposure": "Asset exposure limit reached",
    "currency_drift": "Currency drift limit reached",
    "recheck_failed": "Exact recheck below the threshold",
    "no_decider": "No process was deciding",
    "no_bot": "No bot acts for one of the exchanges",
    "bot_draining": "The bot of one exchange is stopping",
    "leg_in_flight": "Market has an order in flight",
    "rate_budget": "Exchange rate limit used up",
    "outbid": "Rate limit kept for better trades",
    "too_small": "Amount below the exchanges' minimum",
    "insufficient_balance": "Insufficient balance",
    "liquidity_used": "Liquidity of the quote already used",
    # why an arbitrage ended as it did
    "ambiguous_order": "Ambiguous order",
    "implausible_report": "Report contradicts its order",
    "below_minimum": "Below the exchange's minimum",
    "close_now": "An operator closes it",
    "late_fill": "Late fill",
    "fill_restated": "Fill corrected to what the exchange has",
    "market_missing": "Market not in this session",
    "expired": "Expired before a decision",
    "nothing_filled": "No order filled",
    "not_posted": "Unwinding order was never sent",
    "order_resolved": "Outcome of an order became known",
    "order_lost": "Order lost by the exchange",
    "reversed": "Single leg reversed",
    "single_leg_left": "Single leg could not be unwound",
    # why a transfer of the rebalancing plan is left out
    "terms_unknown": "Transfer terms unknown",
    "not_free": "Too little is free",
    "fee_exceeds_amount": "Fee is as large as the amount",
    "no_price": "No fresh quote to value the fee",
    "costs_more_than_earned": "Costs more than was earned",
    # what became of a transfer
    "not_confirmed": "Nobody confirmed it in time",
    "not_wanted": "Of another session, or transfers are off",
    "not_asked": "The request was never sent",
    "no_address": "No address on the list",
    "rejected": "Rejected by the exchange",
    "returned": "Given back by the exchange",
    "not_found": "The exchange lists no such withdrawal",
    "no_answer": "No answer; being looked up",
    "late": "Overdue",
    "ambiguous": "Several withdrawals may be it",
    "declined": "Declined",
    "settled": "It never left, says an operator",
    # what an exchange did badly
    "order_rejected": "Order rejected by the exchange",
    "outcome_unknown": "Order outcome unknown",
    "look_up_unanswered": "Order lookup not answered",
    "order_not_final": "Order acknowledged, not final",
    "account_rejected": "Account rejected by the exchange",
}

DIFFERENCES: Mapping[str, str] = {
    "order_ambiguous": "Several orders there fit one of ours, and nobody can say which is it. Open the exchange's own "
    "order list, find the one that no arbitrage has, and unwind by hand what it filled. Acknowledge this first, then "
    "what its fills and balances differ in.",
    "order_unconfirmed": "One of our orders may be there, though it is not found. It is searched for during ten "
    "minutes and booked if found. Then look for it in the exchange's own order list, and settle the balances.",
    "report_implausible": "What the exchange says of our order contradicts it. It is booked by itself once the "
    "balances confirm what is true. If that takes longer than ten minutes, compare the order in the exchange's own "
    "list with its arbitrage, then acknowledge.",
    "order_still_open": "Our order still rests though it should have ended. Cancel it on the exchange's page; what it "
    "filled is booked by itself.",
    "order_foreign": "An order rests that is not ours. Acknowledge it if you or another program placed it; else revoke "
    "the API key.",
    "fill_foreign": "Somebody traded on the account. Acknowledge it if it was you; else revoke the API key. What it "
    "moved shows as a balance.",
    "fill_not_listed": "The exchange no longer lists a fill that it reported. Compare it with the exchange's own list, "
    "then acknowledge.",
    "fill_differs": "The exchange changed a fill after it was booked. Compare it with the exchange's own list, then "
    "acknowledge; what it changed shows as a balance.",
    "balance_unexplained": "The account has another amount than our orders explain. If you know why, acknowledge it, "
    "or adopt it as a deposit or withdrawal: the amount is booked.",
}
"""What to do about each kind of difference that a person settles."""

ROLES: Mapping[str, str] = {
    "buy": "buy",
    "sell": "sell",
    "complete": "completing",
    "reverse": "reversing",
    "flatten": "flattening",
    **{
        f"{role}{number}": f"{words} {number}"
        for role, words in (
            ("leg", "leg"),
            ("complete", "completing leg"),
            ("reverse", "reversing leg"),
            ("flatten", "flattening leg"),
        )
        for number in range(1, 6)
    },
}
"""Of a pair's orders, and of a cycle's."""
STRATEGIES: Mapping[str, str] = {"arbitrage": "Arbitrage", "ma": "Moving average"}
PROFIT_PARTS: Mapping[str, str] = {
    "gross": "Theoretical gross",
    "latency_decay": "Latency decay",
    "slippage": "Slippage",
    "fees": "Fees",
    "fx": "FX",
    "unwinding": "Unwinding",
    "net": "Net",
}


BACKTEST_FIELDS: Mapping[str, str] = {
    "tick_set": "Tick set",
    "min_net_bps": "Minimum net spread (bps)",
    "max_notional": "Maximum notional per arbitrage",
    "max_total_notional": "Maximum total open notional",
    "cool_down_ms": "Pair cool-down (ms)",
    "fee_bps": "Taker fee per leg (bps)",
    "latency_ms": "Order latency (ms)",
    "failed_percent": "Failed orders (%)",
    "seed": "Seed",
    "fee_tiers": "Fees by volume",
}


def state_name(state: str) -> str:
    return STATES.get(state, plain(state))


def reason_name(reason: str) -> str:
    """Return a short phrase without a full stop."""
    return REASONS.get(reason, plain(reason).capitalize())


def difference_advice(kind: str, cause: str = "") -> str:
    """Return what it means and what to do, in sentences; nothing for what needs nobody. `cause`: orders of ours that
    may be behind it."""
    advice = DIFFERENCES.get(kind, "")
    if not cause:
        return advice
    first = "wait until it is booked, at most ten minutes, or settle that one first"
    return f"An order of ours is in doubt there and may be the cause ({cause}): {first}. {advice}"


def plain(name: str) -> str:
    """Without underscores, for names that are in no table."""
    return name.replace("_", " ")
