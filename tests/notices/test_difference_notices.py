"""Notices of differences, of an exchange that is reduce-only, and of what exchanges change."""

from dataclasses import replace
from decimal import Decimal

from market.accounting.differences import StoredDifference
from market.decide.circuit_breaker import Health
from market.decide.market_rules import rules_of
from market.decide.settings import Settings
from notices.difference_notices import notice_of_reduce_only, notices_of_difference, notices_of_terms
from store.server.documents import SettingsVersion
from tests.market.samples import USD_MARKET, settings_of
from tests.notices.samples import AT
from wording.labels import DIFFERENCES

SOLD = StoredDifference("d1", "balance_unexplained", "kraken", "BTC", "10", "0", "reported", AT)


def test_a_difference_and_its_settlement() -> None:
    [found] = notices_of_difference(SOLD)
    assert (found.event, found.at, found.is_urgent) == ("difference_found", AT, True)
    said = f"Kraken BALANCE UNEXPLAINED: BTC, ours 10, theirs 0; reported. {DIFFERENCES['balance_unexplained']}"
    assert found.line == said
    both = notices_of_difference(
        replace(SOLD, settled="withdrawal", settled_by="erika", settled_at=AT + 1, booked=Decimal(-10))
    )
    assert both[0] == found
    assert both[1].line == "Kraken BALANCE UNEXPLAINED settled as withdrawal by erika: BTC"
    assert both[1].facts["booked"] == "-10"


def test_an_order_in_doubt_is_named_with_what_it_may_have_caused() -> None:
    order = "opportunity-7:buy"
    [ambiguous] = notices_of_difference(replace(SOLD, kind="order_ambiguous", subject=order))
    assert DIFFERENCES["order_ambiguous"] in ambiguous.line
    [found] = notices_of_difference(replace(SOLD, cause=order))
    assert f"may be the cause ({order}): wait until it is booked" in found.line
    assert found.facts["cause"] == order


def test_one_that_an_earlier_version_stored_is_settled_silently() -> None:
    assert len(notices_of_difference(replace(SOLD, settled="explained"))) == 1


def test_what_was_healed_disturbs_nobody() -> None:
    assert notices_of_difference(replace(SOLD, kind="balance_differs", handled="healed")) == []


def test_reduce_only_is_said_once_each_time() -> None:
    assert notice_of_reduce_only(Health("kraken")) is None
    notice = notice_of_reduce_only(Health("kraken", unexplained_since=AT))
    assert notice is not None
    assert (notice.notice_id, notice.at) == (f"unexplained:kraken:{AT}", AT)


def lines(before: Settings | None, after: Settings) -> list[str]:
    return [notice.line for notice in notices_of_terms(SettingsVersion(7, AT, "alpha", before, after))]


def test_what_an_exchange_changed() -> None:
    plain = settings_of()
    rules = {"alpha|BTC/USD": rules_of(USD_MARKET)}
    listed = plain.model_copy(update={"market_rules": rules})
    closed = plain.model_copy(update={"market_rules": {"alpha|BTC/USD": rules_of(USD_MARKET, "cancel_only")}})
    dearer = plain.model_copy(update={"taker_fees": {**plain.taker_fees, "alpha": Decimal("0.0026")}})
    assert lines(None, closed) == lines(plain, listed) == lines(closed, closed) == []
    assert lines(listed, closed) == ["alpha BTC/USD CLOSED (cancel_only)"]
    assert lines(closed, listed) == ["alpha BTC/USD takes orders again"]
    assert lines(plain, dearer) == ["alpha taker fee is 0.0026 of the notional, was 0.001"]
