"""Descriptions of each kind of fault: in general, and where an exchange differs."""

from collections.abc import Mapping

from simulators.faults.faults import FaultKind

_FORMS: Mapping[FaultKind, str] = {
    "latency": "every request takes this many milliseconds longer, half of them before it reaches the exchange",
    "http_429": "requests are answered by HTTP 429 with the exchange's text for too many requests",
    "http_418": "requests are answered by HTTP 418 with the exchange's text for a ban",
    "http_5xx": "requests are answered by HTTP 500 or 503 with the exchange's text, other statuses with a proxy's page",
    "ban": "requests, including new streams, are answered as to a banned client",
    "maintenance": "requests are answered as in maintenance, and streams are closed with code 1012",
    "garbage_frame": "an unreadable frame is sent before the right one",
    "truncated_frame": "a frame is truncated, and the rest is never sent",
    "dropped_message": "a message of a channel is not sent",
    "duplicated_message": "a message of a channel is sent twice",
    "reordered_message": "two messages of a channel are swapped",
    "silent_stream": "a connection sends nothing more but answers to requests; pings are answered",
    "no_pongs": "pings are not answered, neither WebSocket's nor the exchange's own",
    "crossed_book": "a book message has a bid above the best ask; the next one corrects it",
    "clock_skew": "the exchange's clock is off, in its answers and in its checks of signatures",
    "lost_acknowledgement": "the order is accepted, but never answered",
    "duplicate_fill_report": "the account's stream reports a fill twice, or a list of fills has its newest twice",
    "rejected_order": "an order is rejected without a reason",
    "partial_fill_then_nothing": "a part of the order fills; the rest neither fills nor is cancelled until then",
    "disconnect_during_order": "all connections break while an order is being posted; it may have arrived",
}
_DIFFERENT: Mapping[tuple[FaultKind, str], str] = {
    (
        "http_429",
        "kraken",
    ): "HTTP 200 with EAPI:Rate limit exceeded, as Kraken answers; `status` 429 forces that status",
    ("http_418", "binance"): "Binance's own answer to a banned address, with Retry-After",
    ("http_429", "binance"): "HTTP 429 with code -1003 and Retry-After",
    (
        "clock_skew",
        "kraken",
    ): "only Kraken's server time is off; Kraken checks nonces, which do not depend on the clock",
    ("duplicate_fill_report", "bitflyer"): "getexecutions has its newest row twice: ccxt has no order stream",
    (
        "duplicate_fill_report",
        "kraken",
    ): "the executions channel reports it twice: lists are mappings without duplicates",
}


def form_of(kind: FaultKind, exchange: str) -> str:
    """A description of the fault, in one sentence."""
    return _DIFFERENT.get((kind, exchange), _FORMS[kind])
