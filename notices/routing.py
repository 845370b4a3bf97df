"""Selects the notices that a destination wants. Pure."""

from market.money import decimal_of
from notices.alert_notices import TO
from session.notice_destinations import Destination
from store.records.notice import Notice


def is_wanted(notice: Notice, destination: Destination, since: int) -> bool:
    """Return whether the destination wants the notice. `since`, microseconds: events before the destination was
    configured are left out."""
    if notice.kind == "notifier":
        return True
    if notice.at < since or notice.kind not in destination.events:
        return False
    if notice.kind == "alerts":
        named = notice.facts.get(TO, "")
        return not named or destination.name in named.split(",")
    if notice.kind not in ("trades", "single_legs"):
        return True
    if not _is_of(notice, destination):
        return False
    return notice.kind == "single_legs" or _is_large_enough(notice, destination)


def _is_of(notice: Notice, destination: Destination) -> bool:
    if destination.assets and notice.facts["base"] not in destination.assets:
        return False
    exchanges = {notice.facts["buy_exchange"], notice.facts["sell_exchange"]}
    return not destination.pairs or any(set(pair.split("/")) == exchanges for pair in destination.pairs)


def _is_large_enough(notice: Notice, destination: Destination) -> bool:
    """Return whether the notice's profit is large enough; a trade without a profit (moving average) always is."""
    if "net" not in notice.facts:
        return True
    net = decimal_of(notice.facts["net"])
    return net >= destination.min_profit if net >= 0 else -net >= destination.min_loss
