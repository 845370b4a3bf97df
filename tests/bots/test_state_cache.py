"""What a bot has seen lately, and what it spares the store."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.decide.state_cache import MAX_SETTINGS_SILENCE, StateCache
from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import MoneyTransfer, Withdrawal, asked, proposed, with_withdrawal
from market.accounting.transfer_planning import OFF, TransferRules
from market.decide.decision_context import DecisionContext
from market.decide.risk_checks import first_rejection
from market.money import ZERO
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from store.ports.parts import Balances
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg, settings_of

BOOKS = ((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
MINE = opportunity_of(*BOOKS, identity="mine")
NOW = 10_000_000


def window(end: int, share: float, seconds: int = 10, sell: str = "beta") -> SpreadWindow:
    return SpreadWindow("BTC", "alpha", sell, end - seconds * 1_000_000, end, 0.0, 0.0, 0.0, share, 1)


def arbitrage(identity: str, reserved_at: int = 0, turned: bool = False) -> Arbitrage:
    first, second = (BOOKS[1], BOOKS[0]) if turned else BOOKS
    opportunity = opportunity_of(first, second, identity=identity)
    leg = replace(order_leg(USD_MARKET, "buy", Decimal(1), Decimal(1)), times={"reserved": reserved_at})
    return arbitrage_of(opportunity, leg)


LOWERED = settings_of(min_net_bps=1_000.0, rebalancing_bps=2_000.0)
EVEN = {name: {"BTC": Decimal(10)} for name in ("alpha", "beta", "gamma")}


def unbalanced(rules: TransferRules = OFF, opening: Balances = EVEN) -> StateCache:
    """Return a cache by which buying on alpha and selling on beta brings back 6."""
    cache = StateCache(LOWERED)
    cache.transfer_rules = rules
    cache.update_opening(opening)
    cache.update_balances(
        BalanceRow(name, "BTC", Decimal(has), ZERO) for name, has in zip(EVEN, (4, 16, 10), strict=True)
    )
    return cache


def sent(source: str, destination: str, amount: int) -> MoneyTransfer:
    plan = Transfer("BTC", source, destination, Decimal(amount), ZERO, ZERO, 600)
    left = Withdrawal("W1", "BTC", plan.amount, "pending", 0)
    return with_withdrawal(asked(proposed(plan, "session", 1, "paper"), 1, 2), left, 3, "session")


def brings_back(cache: StateCache) -> Decimal | None:
    found = cache.imbalance(MINE)
    return None if found is None else found.most


def test_what_a_transfer_brings_already_is_no_reason_to_trade() -> None:
    cache = unbalanced()
    assert brings_back(cache) == 6
    for source, destination in (("beta", "alpha"), ("gamma", "alpha"), ("beta", "gamma")):
        cache.update_transfers([sent(source, destination, 3)])
        assert brings_back(cache) is None
    cache.update_transfers([replace(sent("beta", "alpha", 3), state="failed")])
    assert brings_back(cache) == 6
    # what is on its way to others counts as there: each should have 11 of 33
    cache.update_transfers([sent("delta", "gamma", 3)])
    assert brings_back(cache) == 5


def test_a_trade_brings_back_what_the_plan_would_send() -> None:
    assert brings_back(unbalanced(replace(OFF, tolerance=Decimal("0.7")))) is None
    skewed = {"alpha": {"BTC": Decimal(4)}, "beta": {"BTC": Decimal(16)}, "gamma": {"BTC": Decimal(10)}}
    assert brings_back(unbalanced(opening=skewed)) is None
    assert brings_back(unbalanced(replace(OFF, target="even"), skewed)) == 6


def test_keeps_the_newest_ten_second_window_of_a_pair() -> None:
    cache = StateCache(settings_of())
    for one in (window(20_000_000, 0.2), window(10_000_000, 0.1), window(30_000_000, 0.6, seconds=60)):
        cache.update_window(one)
    cache.update_window(window(40_000_000, 0.9, sell="gamma"))
    seen = cache.window_of(MINE)
    assert seen is not None
    assert seen.share_above == 0.2


def test_the_history_of_a_pair_is_its_newest_long_windows() -> None:
    cache = StateCache(settings_of())
    for end in range(100_000_000, 400_000_001, 50_000_000):
        cache.update_window(window(end, 0.1, seconds=60))
        cache.update_window(window(end, 0.1))
        cache.update_window(window(end, 0.1, seconds=60, sell="gamma"))
    cache.update_window(window(400_000_000, 0.7, seconds=60))
    late = replace(MINE, event_time=410_000_000)
    seen = {one.end // 1_000_000: one.share_above for one in cache.history_of(late)}
    assert seen == {250: 0.1, 300: 0.1, 350: 0.1, 400: 0.7}
    assert cache.history_of(replace(MINE, event_time=600_000_000)) == ()


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (lambda _: None, None),
        (lambda cache: setattr(cache, "is_stopping", True), "stopping"),
        (lambda cache: cache.update_arbitrage(arbitrage("other")), "pair_busy"),
        (lambda cache: cache.update_arbitrage(arbitrage("other", turned=True)), None),
        (lambda cache: cache.update_arbitrage(arbitrage("mine")), "pair_busy"),
        (lambda cache: cache.replace_open([arbitrage("1", turned=True)] * 2), None),
        (lambda cache: cache.replace_open([arbitrage(str(n), turned=True) for n in range(2)]), "too_many_open"),
        (lambda cache: cache.paused_until.update(beta=NOW + 1), "exchange_paused"),
        (lambda cache: cache.paused_until.update(beta=NOW), None),
        (lambda cache: cache.update_arbitrage(sized("4999")), None),
        (lambda cache: cache.update_arbitrage(sized("5000")), "exchange_limit"),
        (lambda cache: cache.update_arbitrage(_ended(NOW - 99_000)), "cooling_down"),
        (lambda cache: cache.update_arbitrage(_ended(NOW - 100_000)), None),
    ],
)
def test_obstacles(prepare: Callable[[StateCache], None], expected: str | None) -> None:
    cache = StateCache(settings_of(max_open_arbitrages=2, cool_down_ms=100))
    prepare(cache)
    assert obstacle(cache) == expected


def obstacle(cache: StateCache) -> str | None:
    """Return what the store would say, by what the bot has seen."""
    risk = cache.risk_state(MINE, NOW)
    return None if risk is None else first_rejection(DecisionContext(MINE, cache.settings, risk))


def sized(notional: str) -> Arbitrage:
    """Return an arbitrage of the same exchanges, the other way."""
    return replace(arbitrage("other", turned=True), notional=Decimal(notional))


def test_quotes_with_nothing_left() -> None:
    cache = StateCache(settings_of())
    cache.record_used_up("beta:BTC/EUR:2")
    assert not cache.is_used_up(MINE)
    cache.record_used_up("beta:BTC/EUR:1")
    assert cache.is_used_up(MINE)


def test_drift_is_against_the_opening_of_the_exchanges_that_have_one() -> None:
    cache = StateCache(settings_of())
    rows = [
        BalanceRow("alpha", "USD", Decimal(80), Decimal(15)),
        BalanceRow("beta", "USD", Decimal(7), Decimal(0)),
        BalanceRow("beta", "BTC", Decimal(3), Decimal(1)),
    ]
    cache.update_balances(rows)
    assert cache.drift == {}
    cache.update_opening({"alpha": {"USD": Decimal(100)}})
    assert cache.drift == {"USD": -5}
    cache.update_opening({"alpha": {"USD": Decimal(100)}, "beta": {"BTC": Decimal(1)}})
    assert cache.drift == {"USD": 2, "BTC": 3}


def _ended(reserved_at: int) -> Arbitrage:
    return replace(arbitrage("other", reserved_at), state="closed")


def test_what_has_ended_is_no_obstacle_any_more() -> None:
    cache = StateCache(settings_of())
    cache.update_arbitrage(arbitrage("other"))
    cache.update_arbitrage(_ended(0))
    assert obstacle(cache) is None


def test_cooling_down_is_by_the_clock_of_the_store() -> None:
    cache = StateCache(settings_of(cool_down_ms=100), server_ahead=-50_000)
    cache.update_arbitrage(_ended(NOW - 120_000))
    assert obstacle(cache) == "cooling_down"


def test_free_balances() -> None:
    cache = StateCache(settings_of())
    cache.update_balances([BalanceRow("alpha", "USD", Decimal(3), Decimal(4))])
    assert cache.free == {("alpha", "USD"): Decimal(3)}


def test_an_old_window_that_comes_again_takes_nothing_from_the_history() -> None:
    cache = StateCache(settings_of())
    at = 3_600_000_000
    for end in (at, at - 600_000_000):
        cache.update_window(window(end, 0.1, seconds=60))
    assert [window.end for window in cache.history_of(replace(MINE, event_time=at))] == [at]


@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.integers(0, 4), st.integers(0, 9), max_size=5)), max_size=8
    )
)
def test_balances_seen_one_after_the_other_come_to_what_the_last_ones_say(
    steps: list[tuple[bool, dict[int, int]]],
) -> None:
    """Rows known already are passed over: with any of them new, changed or gone, nothing of that may be seen."""
    opening = {"alpha": {"USD": Decimal(5), "BTC": Decimal(5)}, "beta": {"EUR": Decimal(5)}}
    places = (("alpha", "USD"), ("alpha", "BTC"), ("beta", "BTC"), ("beta", "EUR"), ("gamma", "USD"))
    rows = {place: BalanceRow(*place, Decimal(5), Decimal(0)) for place in places}
    cache = StateCache(settings_of())
    cache.update_balances(rows.values())
    cache.update_opening(opening)
    for is_gone, changes in steps:
        for number, free in changes.items():
            place = places[number]
            if is_gone:
                rows.pop(place, None)
            else:
                rows[place] = BalanceRow(*place, Decimal(free), Decimal(1))
        cache.update_balances(rows.values())
        fresh = StateCache(settings_of())
        fresh.update_opening(opening)
        fresh.update_balances(rows.values())
        assert (cache.free, cache.drift) == (fresh.free, fresh.drift)


def test_while_the_account_is_rejected_no_order_leaves() -> None:
    cache = StateCache(settings_of())
    assert cache.send_block() is None
    assert cache.can_send()
    cache.is_locked_out = True
    assert cache.send_block() == "the exchange rejects the account"
    assert not cache.can_send()


def test_while_the_settings_cannot_be_followed_no_order_leaves() -> None:
    """Trading may have been halted meanwhile."""
    silence = MAX_SETTINGS_SILENCE
    cache = StateCache(settings_of(), settings_silence=lambda: silence)
    assert cache.send_block() is None
    silence += 1
    assert "may be halted" in (cache.send_block() or "")
    assert not cache.can_send()


def test_without_its_lease_no_order_leaves() -> None:
    cache = StateCache(settings_of(), holds_lease=lambda: False)
    assert "another process" in (cache.send_block() or "")
    assert not cache.can_send()


def test_what_never_left_is_sent_again_only_where_there_is_room() -> None:
    assert not StateCache(settings_of(), has_room=lambda: False).can_send()
