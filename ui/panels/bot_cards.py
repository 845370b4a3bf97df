"""One bot or feed as a card: its state and the facts that a trader looks for."""

from datetime import tzinfo
from html import escape

from exchanges.labels import exchange_name, part_name
from market.decide.kill_switch import TradingState, permits_new
from ui.page_parts.page_times import moment
from ui.services.bot import BotRow
from ui.services.process import ProcessRow
from wording.labels import state_name
from wording.number_format import count_text

TONES = {
    "trading": "good",
    "reduce_only": "",
    "halted": "bad",
    "ready": "good",
    "standby": "",
    "starting": "",
    "stopping": "bad",
    "stopped": "bad",
    "restarting": "bad",
    "failed": "bad",
    "unknown": "bad",
}
"""Colour of each activity; the text is shown, too."""
NAMES = {
    "reduce_only": "Reduce-only: no new arbitrages",
    "halted": "Halted: sends nothing",
    "stopping": "Draining: orders in flight only",
    "unknown": "Unknown: no supervisor heartbeat",
}
"""Card texts that differ from the label of a state."""
CSS = """
<style>
.card { font-size: 13px; min-height: 252px; }
.card.small { min-height: 112px; }
.card h4 { margin: 0; padding: 0; font-size: 15px; font-weight: 600; white-space: nowrap; }
.card h4 small { display: block; font-size: 12px; font-weight: 400; opacity: .8; }
.card .state { margin: 4px 0 6px; font-weight: 600; }
.card .state::before { content: "● "; }
.card dl { margin: 0; padding: 0; display: grid; grid-template-columns: auto 1fr; gap: 2px 8px; font-size: 12.5px; }
.card dt { margin: 0; padding: 0; opacity: .8; font-weight: 400; text-align: left; white-space: nowrap; }
.card dd { margin: 0; padding: 0; text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.card .note { margin: 6px 0 0; line-height: 1.35; }
.good { color: light-dark(#0d6b3d, #4bd08c); } .bad { color: light-dark(#b3202e, #ff8b92); }
@media (max-width: 640px) {
  [class*="st-key-card-"], [data-testid="stLayoutWrapper"]:has(> [class*="st-key-card-"]) {
    width: 100% !important; max-width: 100% !important; flex-basis: 100% !important; }
  .card { min-height: 0; }
}
</style>
"""


def bot_card(bot: BotRow, zone: tzinfo, trading: TradingState) -> str:
    """Return HTML; the page holds `CSS` once. `trading`: the trading state of the session."""
    facts = [
        ("Since", moment(bot["since"], zone) if bot["since"] else "–"),
        ("Restarts", str(bot["restarts"])),
        ("Last end", bot["last_end"] or "–"),
        ("Lease", _lease(bot)),
        ("Decides on", _decisions(bot)),
        ("Open arbitrages", str(bot["open_arbitrages"])),
        ("Open legs", str(bot["open_legs"])),
        ("Breaker", _breaker(bot, zone)),
        ("Last heartbeat", moment(bot["last_seen"], zone) if bot["last_seen"] else "–"),
    ]
    return _card(
        bot["name"],
        f"{exchange_name(bot['exchange'])} · {bot['region']}",
        _activity(bot, trading),
        facts,
        _notes(bot, zone),
    )


def feed_card(feed: ProcessRow, zone: tzinfo) -> str:
    """Return HTML; the page holds `CSS` once."""
    facts = [
        ("Since", moment(feed["since"], zone) if feed["since"] else "–"),
        ("Restarts", str(feed["restarts"])),
        ("Last end", feed["last_end"] or "–"),
    ]
    return _card(feed["name"], exchange_name(feed["exchange"] or ""), feed["state"], facts, [], kind="card small")


def _card(
    name: str, beside: str, activity: str, facts: list[tuple[str, str]], notes: list[str], kind: str = "card"
) -> str:
    rows = "".join(f"<dt>{escape(title)}</dt><dd>{escape(value)}</dd>" for title, value in facts)
    state = NAMES.get(activity) or state_name(activity).capitalize()
    said = "".join(f'<p class="note bad">{escape(note)}</p>' for note in notes)
    return (
        f'<div class="{kind}" role="group" aria-label="{escape(name, quote=True)}">'
        f"<h4>{escape(part_name(name))}<small>{escape(beside)}</small></h4>"
        f'<p class="state {TONES.get(activity, "bad")}">{escape(state)}</p>'
        f"<dl>{rows}</dl>{said}</div>"
    )


def _activity(bot: BotRow, trading: TradingState) -> str:
    """Return the bot's activity; one with the lease trades only as far as the kill switch allows."""
    return trading if bot["activity"] == "trading" and not permits_new(trading) else bot["activity"]


def _decisions(bot: BotRow) -> str:
    """Return the partitions that the bot decides on; they hold opportunities of all exchanges."""
    return ", ".join(f"partition {number}" for number in bot["decides_on"]) or "–"


def _lease(bot: BotRow) -> str:
    lease = bot["lease"]
    if lease is None or not lease["is_held"]:
        return "free"
    return "its own" if bot["activity"] == "trading" else lease["holder"]


def _breaker(bot: BotRow, zone: tzinfo) -> str:
    breaker = bot["breaker"]
    if breaker["is_paused"] and breaker["paused_until"] is not None:
        return f"open until {moment(breaker['paused_until'], zone)}"
    failures = sum(breaker["failures"].values())
    return f"closed, {count_text(failures, 'failure')}" if failures else "closed"


def _notes(bot: BotRow, zone: tzinfo) -> list[str]:
    notes = []
    if bot["wanted"] == "stopped":
        since = "" if bot["wanted_at"] is None else f" at {moment(bot['wanted_at'], zone)}"
        notes.append(f"Stopped by {bot['wanted_by'] or 'a user'}{since}; it stays stopped until it is started.")
    if bot["is_unwatched"]:
        notes.append("Orders on this exchange may be in flight and no bot watches them: start one.")
    if bot["breaker"]["unexplained_since"]:
        notes.append("Reduce-only: its account differs from our books; settle the differences below.")
    if not bot["is_enabled"]:
        notes.append("Excluded from new arbitrages by the settings.")
    return notes
