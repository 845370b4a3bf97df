"""Notices of differences between an exchange's account and our books, and of changes that the exchange made. Pure."""

from exchanges.labels import exchange_name
from market.accounting.differences import StoredDifference
from market.decide.circuit_breaker import Health
from market.money import text_of
from store.records.notice import Notice
from store.server.documents import SettingsVersion
from wording.labels import difference_advice


def notices_of_difference(found: StoredDifference) -> list[Notice]:
    """Return that it was found, and, once it is settled, how; none if it was healed. The same event always has the same
    id."""
    if found.handled == "healed":
        return []
    facts = {
        "difference_id": found.difference_id,
        "kind": found.kind,
        "exchange": found.exchange,
        "subject": found.subject,
        "ours": found.ours,
        "theirs": found.theirs,
        "handled": found.handled,
    }
    name, kind = exchange_name(found.exchange), found.kind.replace("_", " ").upper()
    advice = difference_advice(found.kind, found.cause)
    what_to_do = f". {advice}" if advice else ""
    notices = [
        Notice(
            notice_id=f"difference:{found.difference_id}:{found.found_at}",
            kind="differences",
            event="difference_found",
            at=found.found_at,
            line=f"{name} {kind}: {found.subject}, ours {found.ours}, theirs {found.theirs}; {found.handled}"
            + what_to_do,
            facts=facts | {"cause": found.cause, "advice": advice},
        )
    ]
    if found.settled is not None and found.settled_at:
        who = f" by {found.settled_by}" if found.settled_by else ""
        settled = Notice(
            notice_id=f"difference:{found.difference_id}:{found.settled_at}:settled",
            kind="differences",
            event="difference_settled",
            at=found.settled_at,
            line=f"{name} {kind} settled as {found.settled}{who}: {found.subject}",
            facts=facts | {"settled": found.settled, "by": found.settled_by, "booked": text_of(found.booked)},
        )
        notices.append(settled)
    return notices


def notice_of_reduce_only(health: Health) -> Notice | None:
    """Return the notice; None if nothing is unexplained at the exchange."""
    since = health.unexplained_since
    if not since:
        return None
    return Notice(
        notice_id=f"unexplained:{health.exchange}:{since}",
        kind="differences",
        event="exchange_reduce_only",
        at=since,
        line=f"{exchange_name(health.exchange)} REDUCE-ONLY: its account differs from our books; settle it on the page "
        "Bots",
        facts={"exchange": health.exchange},
    )


def notices_of_terms(version: SettingsVersion) -> list[Notice]:
    """Return notices of fees and markets that an exchange changed, and of fees that a user changed."""
    before, after = version.before, version.after
    if before is None:
        return []
    notices = []
    for exchange, fee in after.taker_fees.items():
        known = before.taker_fees.get(exchange)
        if known is not None and known != fee:
            line = f"{exchange_name(exchange)} taker fee is {text_of(fee)} of the notional, was {text_of(known)}"
            notices.append(_of_terms(version, exchange, "fee_changed", exchange, line))
    for key, rules in after.market_rules.items():
        exchange, _, symbol = key.partition("|")
        was = before.market_rules.get(key)
        if rules.closed != ("" if was is None else was.closed):
            event = "market_closed" if rules.closed else "market_reopened"
            state = f"CLOSED ({rules.closed})" if rules.closed else "takes orders again"
            notices.append(_of_terms(version, key, event, exchange, f"{exchange_name(exchange)} {symbol} {state}"))
    return notices


def _of_terms(version: SettingsVersion, subject: str, event: str, exchange: str, line: str) -> Notice:
    facts = {"exchange": exchange, "version": str(version.version), "subject": subject}
    return Notice(f"terms:{version.version}:{event}:{subject}", "exchanges", event, version.at, line, facts)
