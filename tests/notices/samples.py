"""Notices and destinations for tests."""

from market.notices import Destination, Notice
from notices.messages import Message

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


def message(*notices: Notice) -> Message:
    told = notices or (trade(1),)
    return Message(told[0].notice_id, "paper", told)


def webhook(name: str = "desk", **changes: object) -> Destination:
    return Destination(name, "webhook", **changes)  # type: ignore[arg-type]  # from tables of cases
