"""Which notices a destination wants."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from notices.routing import is_wanted
from tests.notices.samples import AT, alarm, trade, webhook

SINGLE = replace(trade(1), kind="single_legs")


@pytest.mark.parametrize(
    ("changes", "net", "wanted"),
    [
        ({}, "0", True),
        ({"events": ("trading",)}, "5", False),
        ({"assets": ("ETH", "BTC")}, "5", True),
        ({"assets": ("ETH",)}, "5", False),
        ({"pairs": ("kraken/bitflyer",)}, "5", True),
        ({"pairs": ("bitflyer/kraken",)}, "5", True),
        ({"pairs": ("bitflyer/bitstamp", "binance/kraken")}, "5", False),
        ({"min_profit": Decimal(5)}, "5", True),
        ({"min_profit": Decimal(5)}, "4.999", False),
        ({"min_profit": Decimal(5)}, "-0.01", True),
        ({"min_loss": Decimal(5)}, "-4.999", False),
        ({"min_loss": Decimal(5)}, "-5", True),
    ],
)
def test_trades(changes: dict[str, Any], net: str, wanted: bool) -> None:
    assert is_wanted(trade(1, net), webhook(**changes), AT) == wanted


def test_what_happened_before_it_was_configured_is_not_reported() -> None:
    assert is_wanted(alarm(0), webhook(), AT)
    assert not is_wanted(alarm(0), webhook(), AT + 1)


def test_no_single_leg_is_too_small() -> None:
    assert is_wanted(SINGLE, webhook(min_profit=Decimal(1_000)), AT)
    assert not is_wanted(SINGLE, webhook(assets=("ETH",)), AT)


def test_what_is_said_about_the_notices_goes_to_all() -> None:
    assert is_wanted(replace(alarm(0), kind="notifier"), webhook(events=("trades",)), AT + 1)


def test_a_trade_without_a_profit_has_no_size() -> None:
    facts = {name: value for name, value in trade(1).facts.items() if name != "net"}
    assert is_wanted(replace(trade(1), facts=facts), webhook(min_profit=Decimal(5)), AT)
