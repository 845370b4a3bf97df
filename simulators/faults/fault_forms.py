"""How each kind of fault shows on each exchange: the rule of the kind, and where an exchange differs from it."""

from collections.abc import Mapping

from simulators.faults.faults import FaultKind

_FORMS: Mapping[FaultKind, str] = {
    "latency": "every request takes so many milliseconds longer, half of it before the exchange sees it",
    "http_429": "requests are answered by HTTP 429 in the exchange's words for too many of them",
    "http_418": "requests are answered by HTTP 418 in the exchange's words for a ban",
    "http_5xx": "requests are answered by HTTP 500 or 503 in the exchange's words, other numbers by a proxy's page",
    "ban": "requests, new streams among them, are answered as the exchange answers whom it has banned",
    "maintenance": "requests are answered as in maintenance, and streams are closed with 1012",
    "garbage_frame": "a frame that nobody can read comes before the right one",
    "truncated_frame": "a frame ends too early, and the rest never comes",
    "dropped_message": "a message of a channel is not sent",
    "duplicated_message": "a message of a channel is sent twice",
    "reordered_message": "a message of a channel is overtaken by the next one",
    "silent_stream": "a connection says nothing more but answers to what it is asked; pings are answered",
    "no_pongs": "pings are not answered, neither the protocol's own nor the exchange's",
    "crossed_book": "a book message has a bid above the best ask; the next one takes it back",
    "clock_skew": "the exchange's clock is off, as it shows it and as it checks signatures by it",
    "lost_acknowledgement": "the order is taken, and its answer never comes",
    "duplicate_fill_report": "the account's stream tells of a fill twice, or a list of fills shows its newest twice",
    "rejected_order": "an order is rejected for no reason of its own",
    "partial_fill_then_nothing": "a part of the order fills; the rest neither fills nor goes until the time is over",
    "disconnect_during_order": "all connections break while an order is under way; it may or may not have come in",
}
_DIFFERENT: Mapping[tuple[FaultKind, str], str] = {
    ("http_429", "kraken"): "HTTP 200 with EAPI:Rate limit exceeded, as Kraken answers; `status` 429 forces the number",
    ("http_418", "binance"): "Binance's own answer to a banned address, with Retry-After",
    ("http_429", "binance"): "HTTP 429 with code -1003 and Retry-After",
    ("clock_skew", "kraken"): "Kraken's clock is off as it shows it; it checks nonces, which no clock spoils",
    ("duplicate_fill_report", "bitflyer"): "getexecutions shows its newest row twice: ccxt knows no stream of orders",
    ("duplicate_fill_report", "kraken"): "the executions channel tells twice: lists are mappings, nothing comes twice",
}


def form_of(kind: FaultKind, exchange: str) -> str:
    """One sentence for people."""
    return _DIFFERENT.get((kind, exchange), _FORMS[kind])
