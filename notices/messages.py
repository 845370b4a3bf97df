"""A message to send: its id, its lines and its notices. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from market.money import decimal_of, total
from notices.format import badge, clock_time, plural, signed_money
from session.session import Mode
from store.records.notice import Notice

MAX_LINES = 12
"""Maximum lines of the text; the webhook's JSON has all notices."""
MAX_CHARACTERS = 3_500
"""Telegram takes 4,096 characters, counted without escapes (core.telegram.org/bots/api#sendmessage)."""


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """A message to one destination; `message_id` is the same however often it is sent."""

    message_id: str
    mode: Mode
    notices: tuple[Notice, ...]

    @property
    def badge(self) -> str:
        return badge(self.mode)

    @property
    def lines(self) -> list[str]:
        """The lines, most important first, without the badge."""
        lines = [f"{clock_time(notice.at)} {notice.line}" for notice in self.notices]
        if len(lines) == 1:
            return lines
        shown = [_summary(self.notices), *lines[:MAX_LINES]]
        if len(lines) > MAX_LINES:
            shown.append(f"… and {len(lines) - MAX_LINES} more")
        return shown

    @property
    def text(self) -> str:
        """The message as plain text, with the badge in front."""
        return shortened(f"{self.badge} " + "\n".join(self.lines))


def shortened(text: str, most: int = MAX_CHARACTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _summary(notices: Sequence[Notice]) -> str:
    """Return a summary such as `12 trades: +31.20 USD net (10 won, 2 lost)`, or the number of notices."""
    trades = [notice for notice in notices if notice.kind == "trades"]
    if len(trades) != len(notices):
        return plural(len(notices), "notice")
    nets = [(decimal_of(notice.facts["net"]), notice.facts["currency"]) for notice in trades if "net" in notice.facts]
    text = plural(len(trades), "trade")
    if not nets:
        return text
    won, lost = sum(net > 0 for net, _ in nets), sum(net < 0 for net, _ in nets)
    return f"{text}: {signed_money(total(net for net, _ in nets), nets[0][1])} net ({won} won, {lost} lost)"
