"""What a bot makes of the rate limits of its own exchange and of its partners', and who says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from bots.decide.partner_budgets import PartnerBudgets
from bots.decide.state_cache import StateCache
from bots.execute.leg_reserver import LegReserver
from exchanges.requests.rate_budget import RateBudget, account_budget
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ArbitrageState
from market.trade.leases import UNFENCED
from market.trade.leg_planning import markets_by_symbol
from store.memory.memory_store import MemoryTradeStore
from tests.market.samples import (
    EUR_MARKET,
    MARKETS,
    USD_MARKET,
    arbitrage_of,
    levels,
    opportunity_of,
    order_leg,
    settings_of,
)
from tests.store.conftest import SteppedClock

OPPORTUNITY = opportunity_of((USD_MARKET, levels(("6000", "1"))), (EUR_MARKET, levels(("5618", "1"))))

PRICE = Decimal(6_000)


def budget() -> RateBudget:
    """Of some exchange: four legs at once, at a clock that stands still."""
    return account_budget("coinbaseexchange", lambda: 0)


def arbitrage(number: int, is_sent: bool) -> Arbitrage:
    """With its leg at alpha."""
    leg = order_leg(USD_MARKET, "buy", Decimal(1), Decimal(6_000))
    times = {"reserved": 1, "sending": 2} if is_sent else {"reserved": 1}
    leg = replace(leg, state="sending" if is_sent else "reserved", times=times)
    return replace(arbitrage_of(OPPORTUNITY, leg), arbitrage_id=str(number), state="reserved")


def test_a_partner_has_less_with_each_leg_of_its_own_however_often_that_is_seen() -> None:
    partners = PartnerBudgets({"alpha": budget()})
    assert partners.legs_left("alpha", ()) == 4
    for number in (1, 2, 2, 1):
        partners.update(arbitrage(number, is_sent=True))
    assert partners.legs_left("alpha", ()) == 2
    waiting = arbitrage(3, is_sent=False)
    partners.update(waiting)
    assert partners.legs_left("alpha", (waiting,)) == 1
    assert partners.legs_left("beta", (waiting,)) is None


def half(number: int, at: str, state: ArbitrageState = "awaiting_second_leg") -> Arbitrage:
    """With a leg on one of both exchanges alone."""
    buy, sell = order_leg(USD_MARKET, "buy", Decimal(1), PRICE), order_leg(EUR_MARKET, "sell", Decimal(1), PRICE)
    leg = replace(buy if at == "alpha" else sell, state="reserved", times={"reserved": 1})
    return replace(arbitrage_of(OPPORTUNITY, leg), arbitrage_id=str(number), state=state)


def test_a_half_reservation_waits_for_the_partner_that_it_lacks() -> None:
    partners = PartnerBudgets({"alpha": budget()})
    assert partners.legs_left("alpha", (half(1, "beta"), half(2, "beta"))) == 2
    assert partners.legs_left("alpha", (half(1, "alpha"),)) == 3
    assert partners.legs_left("alpha", (half(1, "beta"),), reserving=2) == 1


def test_a_partner_that_let_a_half_expire_had_less_than_was_thought() -> None:
    """Else the guess of an exchange that spends on other things would never say 0 again."""
    partners = PartnerBudgets({"alpha": budget()})
    for number in (1, 2, 2):
        partners.update(half(number, "beta", "expired"))
    assert partners.legs_left("alpha", ()) == 2
    partners.update(half(3, "alpha", "expired"))
    assert partners.legs_left("alpha", ()) == 2, "the one that is lacking was beta's"


@dataclass
class Said:
    """What one bot rejected."""

    reasons: list[str] = field(default_factory=list)

    def record_opportunity(self, opportunity: Opportunity) -> None:
        raise AssertionError("nothing is acted on")

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, record: Callable[[], str] | None = None
    ) -> None:
        assert record is not None
        assert '"legs_left":' in record(), "it is kept with the decision, which is verified by it"
        self.reasons.append(reason)


@pytest.mark.parametrize(
    ("alpha", "beta", "said"),
    [
        (0, 4, (["rate_budget"], [])),
        (4, 0, (["rate_budget"], [])),
        (0, 0, (["rate_budget"], [])),
        (4, 4, ([], [])),
    ],
)
def test_it_is_rejected_once_by_the_buyer(alpha: int, beta: int, said: tuple[list[str], list[str]]) -> None:
    assert _said("alpha", alpha, beta) == said[0]
    assert _said("beta", beta, alpha) == said[1]


def test_the_seller_guesses_the_buyers_limits_and_is_not_counted_beside_it() -> None:
    """Each thought that it alone had none left."""
    assert (_said("alpha", 0, 4), _said("beta", 0, 4)) == (["rate_budget"], [])


def test_the_seller_says_why_it_does_not_join() -> None:
    assert _said("beta", 0, 4, [replace(half(1, "alpha"), arbitrage_id=OPPORTUNITY.opportunity_id)]) == ["rate_budget"]


@pytest.mark.parametrize("exchange", ["alpha", "beta"])
def test_what_it_has_reserved_itself_it_does_not_reject(exchange: str) -> None:
    own = replace(half(1, exchange), arbitrage_id=OPPORTUNITY.opportunity_id)
    assert _said(exchange, 0, 4, [own]) == []


def _said(exchange: str, own: int, partners: int, known: Sequence[Arbitrage] = ()) -> list[str]:
    """What the bot of `exchange` says to the opportunity; it is kept for later where it says nothing."""
    clock = SteppedClock()
    clock.time = OPPORTUNITY.event_time + MICROSECONDS // 100
    other = budget()
    for _ in range(4 - partners):
        other.record_leg()
    cache = StateCache(settings_of(max_notional=600), legs_left=lambda: own)
    cache.replace_open(known)
    cache.partners = PartnerBudgets({"beta" if exchange == "alpha" else "alpha": other})
    notes = Said()
    store, markets = MemoryTradeStore(clock), markets_by_symbol(MARKETS)
    reserver = LegReserver(
        exchange, store, markets, clock, cache, notes, lambda _, __: None, wall_clock=clock.now, by=UNFENCED
    )
    reserver.consider(OPPORTUNITY)
    if not known:
        assert reserver.early_rejection(OPPORTUNITY) == ("rate_budget" if min(own, partners) == 0 else None)
    return notes.reasons
