"""Notices and destinations for tests."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from market.accounting.profit_groups import profit_from
from market.money import Amount
from market.trade.arbitrages import Arbitrage, Transition
from notices.messages import NoticeMessage
from session.notice_destinations import Destination
from store.records.notice import Notice
from tests.store.reservation_requests import leg_request, opportunity

AT = 1_700_000_000_000_000
"""2023-11-14 22:13:20 UTC."""
TOKEN = "123456789:AAtheTokenOfTheTest"
CHAT = "-100987654321"
KEY = "0123456789abcdef-signing"


def trade(number: int, net: str = "3.21", base: str = "BTC", pair: tuple[str, str] = ("bitflyer", "kraken")) -> Notice:
    facts = {"base": base, "buy_exchange": pair[0], "sell_exchange": pair[1], "net": net, "currency": "USD"}
    line = f"Closed {base} {number}"
    return Notice(f"trade:{number}", "trades", "trade_closed", AT + number * 1_000_000, line, facts)


def alarm(number: int) -> Notice:
    return Notice(f"alarm:{number}", "trading", "trading_halted", AT + number, f"Trading HALTED by person {number}")


def message(*notices: Notice) -> NoticeMessage:
    reported = notices or (trade(1),)
    return NoticeMessage(reported[0].notice_id, "paper", reported)


def webhook(name: str = "desk", /, **changes: Any) -> Destination:
    return Destination(name, "webhook", **changes)


def arbitrage(*steps: str, net: str | None = "3.214", notional: str = "3000", **changes: object) -> Arbitrage:
    """Buys 0.05 BTC on bitflyer, sells it on kraken; it took `steps`, a second apart, the last of which it is in."""
    made = opportunity()
    seen = replace(
        made, buy=replace(made.buy, exchange="bitflyer"), sell=replace(made.sell, exchange="kraken"), base="BTC"
    )
    profit = None if net is None else profit_from("USD", {"gross": Decimal(net), "net": Decimal(net)})
    arbitrage = Arbitrage(
        arbitrage_id="opportunity-1",
        base="BTC",
        state=steps[-1],  # type: ignore[arg-type]  # of ArbitrageState, from tables of cases
        opportunity=seen,
        legs=(leg_request("buy").leg, leg_request("sell").leg),
        amount=Amount(Decimal("0.05")),
        send_by=AT,
        profit=profit,
        notional=Decimal(notional),
        history=tuple(
            Transition(step, AT + number * 1_000_000, "bot", 1, "late" if step == "residual" else None)
            for number, step in enumerate(steps)
        ),
    )
    return replace(arbitrage, **changes)  # type: ignore[arg-type]  # from tables of cases
