"""Logs of a region in which rows came again, as MirrorMaker leaves them after a kill; one table for all readers."""

import random
from dataclasses import dataclass

from market.prices.quotes import FeedMark, MarkKind, Quote
from streams.message_format import mark_row, quote_row, row_of, settings_row
from tests.cep.logs import BASES, START, settings
from tests.market.samples import levels

MIRRORED = ("kraken", "bitflyer")
"""Exchanges of another region; kraken has the FX rates too."""


@dataclass(frozen=True, slots=True)
class RepeatCase:
    """`rows`: each as `exchange symbol kind sequence price`; `counted`: which of them count, by place."""

    what: str
    rows: tuple[str, ...]
    counted: tuple[int, ...]


def _case(what: str, rows: str, counted: str) -> RepeatCase:
    lines = tuple(line.strip() for line in rows.strip().splitlines())
    return RepeatCase(what, lines, tuple(int(place) for place in counted.split()))


CASES = (
    _case(
        "nothing repeated",
        """kraken BTC/USD quote 10 100
           kraken BTC/USD alive 11
           kraken BTC/USD quote 12 101""",
        "0 1 2",
    ),
    _case(
        "an old quote is not in force again, nor looked at",
        """kraken BTC/USD quote 10 100
           kraken BTC/USD quote 20 105
           kraken BTC/USD quote 10 100
           coinbaseexchange BTC/USD quote 30 103
           kraken BTC/USD quote 20 105
           kraken BTC/USD quote 40 106""",
        "0 1 3 5",
    ),
    _case(
        "the row before the kill alone",
        "coinbaseexchange BTC/USD quote 5 99\nkraken BTC/USD quote 10 100\nkraken BTC/USD quote 10 100",
        "0 1",
    ),
    _case(
        "a repeated withdrawal does not withdraw the quote that came after it",
        """kraken BTC/USD quote 10 100
           kraken BTC/USD withdrawn 11
           kraken BTC/USD quote 12 105
           kraken BTC/USD withdrawn 11
           coinbaseexchange BTC/USD quote 13 103""",
        "0 1 2 4",
    ),
    _case(
        "a withdrawn quote does not come back",
        """kraken BTC/USD quote 10 105
           kraken BTC/USD withdrawn 11
           kraken BTC/USD quote 10 105
           coinbaseexchange BTC/USD quote 12 103""",
        "0 1 3",
    ),
    _case(
        "a repeated mark makes no quote older or younger",
        """kraken BTC/USD quote 10 105
           kraken BTC/USD alive 900000
           kraken BTC/USD alive 1800000
           kraken BTC/USD alive 900000
           coinbaseexchange BTC/USD quote 2950000 103""",
        "0 1 2 4",
    ),
    _case(
        "an old rate is not in force again",
        """kraken EUR/USD fx 10 1.09
           bitstamp BTC/EUR quote 11 100
           kraken BTC/USD quote 12 112
           kraken EUR/USD fx 20 1.2
           kraken EUR/USD fx 10 1.09
           coinbaseexchange BTC/USD quote 30 111""",
        "0 1 2 3 5",
    ),
    _case(
        "a rate that was withdrawn does not come back",
        """kraken EUR/USD fx 10 1.09
           bitstamp BTC/EUR quote 11 100
           kraken EUR/USD fx_withdrawn 12
           kraken EUR/USD fx 10 1.09
           coinbaseexchange BTC/USD quote 30 111""",
        "0 1 2 4",
    ),
    _case(
        "a rate of two exchanges is that of the row that counted last",
        """bitstamp EUR/USD fx 30 1.1
           kraken EUR/USD fx 10 1.09
           bitstamp BTC/EUR quote 11 100
           bitstamp EUR/USD fx 30 1.1
           coinbaseexchange BTC/USD quote 40 111
           kraken EUR/USD fx 20 1.2
           coinbaseexchange BTC/USD quote 50 111""",
        "0 1 2 4 5 6",
    ),
    _case(
        "rows of before the log's first come again",
        """kraken BTC/USD alive 20
           kraken BTC/USD quote 10 105
           kraken BTC/USD alive 20
           coinbaseexchange BTC/USD quote 30 103
           kraken BTC/USD quote 40 106""",
        "0 3 4",
    ),
    _case(
        "each symbol has an order of its own",
        """kraken BTC/USD quote 20 100
           kraken BTC/EUR quote 10 105
           kraken EUR/USD fx 5 1.09
           coinbaseexchange BTC/USD quote 1 99""",
        "0 1 2 3",
    ),
    _case(
        "killed twice, the second time before it had caught up",
        """kraken BTC/USD quote 10 100
           kraken BTC/USD quote 20 105
           kraken BTC/USD quote 30 106
           kraken BTC/USD quote 10 100
           kraken BTC/USD quote 20 105
           kraken BTC/USD quote 10 100
           coinbaseexchange BTC/USD quote 31 103
           kraken BTC/USD quote 20 105
           kraken BTC/USD quote 30 106
           kraken BTC/USD quote 40 107""",
        "0 1 2 6 9",
    ),
)  # fmt: skip


def messages_of(case: RepeatCase) -> list[bytes]:
    """Return settings first, under which everything above fees is found; then the case's rows."""
    shown = settings(1, emit_net_bps=-1_000.0)
    return [settings_row(shown, START, BASES), *(_message(line) for line in case.rows)]


def counted_messages(case: RepeatCase) -> list[bytes]:
    """Return the same log without what came again."""
    messages = messages_of(case)
    return [messages[0], *(messages[1 + place] for place in case.counted)]


def _message(line: str) -> bytes:
    exchange, symbol, kind, number, *price = line.split()
    base, quote_currency = symbol.split("/")
    sequence, bases = START + int(number), BASES if kind.startswith("fx") else ()
    place = exchange, "eu" if exchange in MIRRORED else "us", symbol, base, quote_currency
    if not price:
        mark_kind: MarkKind = kind  # type: ignore[assignment]  # one of a table's words
        return mark_row(FeedMark(mark_kind, *place, sequence, sequence), bases)
    sides = levels((price[0], "1")), levels((f"{float(price[0]) + 0.01:.2f}", "1"))
    return quote_row(Quote("fx" if kind == "fx" else "quote", *place, *sides, None, sequence, sequence), bases)


def with_repeats(messages: list[bytes], seed: int, kills: int = 4) -> list[tuple[int, bytes]]:
    """Return the log as it is after the mirror of MIRRORED was killed at some rows: the newest ones of these exchanges
    come again in their order, between rows of others. Each with its place in `messages`."""
    chosen, log, before, waiting = random.Random(seed), [], list[tuple[int, bytes]](), list[tuple[int, bytes]]()
    killed_at = {chosen.randrange(len(messages)) for _ in range(kills)}
    for row in enumerate(messages):
        is_mirrored = row_of(row[1]).get("exchange") in MIRRORED
        # what is behind them comes only after them; what comes beside them does so at any moment
        some = len(waiting) if is_mirrored else chosen.randint(0, len(waiting))
        log += [*waiting[:some], row]
        del waiting[:some]
        if is_mirrored:
            before.append(row)
        if row[0] in killed_at and before:
            waiting = before[-chosen.randint(1, min(30, len(before))) :]
    return log + waiting
