"""The limits of an exchange of which ccxt knows one number."""

import asyncio
from dataclasses import replace

import pytest

from bots.decide.partner_budgets import partners_of
from exchanges.errors import NotPostedError
from exchanges.ports.limits import CountedRequest
from exchanges.requests.rate_budget import account_budget, full_budget, requests_for
from exchanges.requests.rate_limits import entry_rules, generic_rules, rules_of
from session.exchange_entries import ExchangeEntry


@pytest.mark.parametrize(
    ("rate_limit_ms", "legs"), [(1_000, 1), (100, 8), (20, 40), (6_000, 0)], ids=["kraken", "gemini", "bybit", "slow"]
)
def test_legs_at_once(rate_limit_ms: float, legs: int) -> None:
    assert account_budget("somewhere", lambda: 0, generic_rules(rate_limit_ms)).legs_left() == legs


@pytest.mark.parametrize(("cost", "weight"), [(1.0, 10), (0.4, 4), (0.01, 1), (0, 1), (2.55, 26)])
def test_requests_weigh_what_ccxt_says(cost: float, weight: int) -> None:
    asked = CountedRequest(is_private=True, method="GET", path="orders", parameters={}, cost=cost)
    assert generic_rules(100).count(asked) == {"requests": weight}


def test_orders_end_with_the_minutes_share_of_trades() -> None:
    """Half of ten a second is the bot's, and three fifths of that are for trades."""
    rules = generic_rules(100)
    budget = account_budget("somewhere", lambda: 0, rules)
    for _ in range(180):
        budget.spend(rules.order)
    with pytest.raises(NotPostedError, match="somewhere's rate limit is used up"):
        budget.spend(rules.order)


@pytest.mark.parametrize(("rate_limit_ms", "reads"), [(1_000, (30, 60)), (1_000, (10, 10)), (110, (10, 40))])
async def test_no_leg_begins_whose_reads_would_wait(rate_limit_ms: float, reads: tuple[int, ...]) -> None:
    """kraken through ccxt: reading an order and its fills costs nine units, of the eighteen a minute for trades."""
    rules = generic_rules(rate_limit_ms, sum(reads) / 10)
    budget = account_budget("somewhere", lambda: 0, rules)
    begun = 0
    async with asyncio.timeout(20):
        while budget.legs_left():
            budget.spend(rules.order)
            begun += 1
            with requests_for("follow"):
                for weight in reads:
                    await budget.wait_for({"requests": weight})
    assert begun > 0


def test_an_entry_has_the_limits_of_its_adapter() -> None:
    assert entry_rules(ExchangeEntry("kraken")) == rules_of("kraken")
    told = entry_rules(ExchangeEntry("kraken", "generic", 1_000, 9))
    assert told is not None
    assert told.limits == generic_rules(1_000).limits
    assert told.leg == {"requests": 90}
    assert entry_rules(ExchangeEntry("kraken", "generic")) is None
    assert entry_rules(ExchangeEntry("gate")) is None


def test_partners_have_the_budgets_of_their_entries() -> None:
    entries = {
        "kraken": ExchangeEntry("kraken"),
        "kraken2": ExchangeEntry("kraken"),
        "gate": ExchangeEntry("gate", "generic", 100),
        "untold": ExchangeEntry("bybit", "generic"),
    }
    partners = partners_of("kraken", entries)
    assert sorted(partners.budgets) == ["gate", "kraken2"]
    assert [partners.legs_left(name, ()) for name in ("kraken2", "gate", "untold")] == [3, 8, None]


@pytest.mark.parametrize(
    ("entry", "limit", "alone", "of_two"),
    [
        # one account's own limits are not shared; the bot has half of what Binance allows an address
        (ExchangeEntry("binance"), "orders", 100, 100),
        (ExchangeEntry("binance"), "weight", 1_800, 900),
        (ExchangeEntry("kraken", "generic", 1_000), "requests", 180, 90),
    ],
)
def test_two_accounts_at_one_exchange_share_what_an_address_may(
    entry: ExchangeEntry, limit: str, alone: int, of_two: int
) -> None:
    for count, left in ((1, alone), (2, of_two)):
        rules = entry_rules(replace(entry, at_one_address=count))
        assert rules is not None
        assert account_budget(entry.ccxt, lambda: 0, rules).trades[limit].left(0) == left


def test_requests_before_the_first_trade_share_it_too() -> None:
    rules = entry_rules(ExchangeEntry("binance", at_one_address=3))
    assert full_budget("binance", rules).polls["weight"].left(0) == 2_000
