"""The page Health as HTML from the health report. Pure."""

import re
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from html import escape
from urllib.parse import quote

from exchanges.labels import exchange_name
from market.instruments.markets import Market, base_and_quote
from ui.page_parts.dom_tables import Cell, Figure, Line, figures, numbers, table, words
from ui.page_parts.market_choice import MarketChoice
from ui.page_parts.page_times import moment
from ui.rows.health import HealthReportRow, LatencyRow, PartitionRow, QueryRow, ReaderRow
from ui.services.session_markets import is_of_market
from wording.labels import state_name
from wording.number_format import count_text, duration, offset_ms

CSS = """
<style>
.verdict { border: 1px solid; border-radius: 6px; padding: 10px 14px; font-size: 16px; font-weight: 600; }
.verdict { border-color: var(--edge); background: color-mix(in srgb, var(--edge) 12%, transparent); }
.verdict.well { --edge: light-dark(#12824c, #35c27b); }
.verdict.warning { --edge: light-dark(#8a6100, #f2b731); }
.verdict.failing { --edge: light-dark(#b3202e, #f0646f); }
.verdict .findings { list-style: none; margin: 8px 0 0; padding: 0; font-size: 14px; font-weight: 400; }
.verdict .findings li { padding: 3px 0; margin: 0; }
.findings b { font-weight: 600; }
</style>
"""
MARKS = {"failing": "✖", "warning": "▲"}
WORDS = {"failing": "Failing", "warning": "Check"}
STATE_TONES = {"ready": "good", "live": "good", "starting": "quiet", "stopped": "quiet", "resyncing": "differs"}
STAGE_NAMES = {
    "exchange_to_received": "exchange → received",
    "received_to_detected": "received → detected",
    "detected_to_reserved": "detected → reserved",
    "reserved_to_sent": "reserved → sent",
    "sent_to_filled": "sent → filled",
    "hub_to_client": "dashboard → browser",
}
UNKNOWN = Cell("–", "quiet")
_PLACES = {"Bots & thresholds": "/bots", "Regions": "#regions", "log": "#log"}
"""Word → where it leads."""
_named = re.compile(r"(Bots & thresholds|Regions below|(?:its|the feed's) log|the log of \w+)").split


def verdict(report: HealthReportRow) -> str:
    """Return the findings with what to do, or that all is healthy."""
    items = "".join(
        f"<li>{MARKS[one['severity']]} <b>{WORDS[one['severity']]}: {escape(one['part'])}.</b> "
        f"{escape(one['what'])} {linked(one['todo'])}</li>"
        for one in report["findings"]
    )
    listed = f'<ul class="findings">{items}</ul>' if items else ""
    return (
        f'{CSS}<div class="verdict {report["verdict"]}" role="status" data-verdict="{report["verdict"]}">'
        f"{escape(report['summary'])}{listed}</div>"
    )


def linked(words: str) -> str:
    """Return the words as HTML, with links to the pages and sections that they name."""
    parts = _named(words)
    return "".join(
        f'<a href="{_PLACES[_place_of(part)]}" target="_self">{escape(part)}</a>' if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _place_of(name: str) -> str:
    return next(place for place in _PLACES if place in name)


def headline(report: HealthReportRow) -> str:
    feeds, processes = report["feeds"], report["processes"]
    live, ready = (sum(one["status"] == "live" for one in feeds), sum(one["state"] == "ready" for one in processes))
    delays = [row["delay"] for row in report["detection"] if row["delay"] is not None]
    lags = [row["lag"] for row in report["change_streams"] if row["lag"] is not None]
    clients = report["clients"]
    behind = count_text(clients["resynchronisations"], "time")
    return figures(
        [
            _share("Feeds live", live, len(feeds)),
            _share("Processes ready", ready, len(processes)),
            Figure("Detection delay", Cell(duration(max(delays, default=None))), "newest probe row"),
            Figure("Kafka lag", Cell(_rows(_max_lag(report["topics"]))), "slowest reader"),
            Figure("Change stream lag", Cell(duration(max(lags, default=None))), "up to 0.5 s is normal"),
            Figure("Live pages", Cell(f"{clients['clients']:,}"), f"resynced {behind}"),
        ]
    )


def _share(name: str, count: int, all_of_them: int) -> Figure:
    if not all_of_them:
        return Figure(name, UNKNOWN, "none has reported yet")
    return Figure(name, Cell(f"{count} of {all_of_them}", "good" if count == all_of_them else "bad"))


def processes_table(report: HealthReportRow, zone: tzinfo) -> str:
    rows: list[Line] = [
        [
            Cell(one["name"], link=f"/health?log={quote(one['name'], safe='')}#log"),
            Cell(state_name(one["state"]), STATE_TONES.get(one["state"], "bad")),
            "" if one["pid"] is None else str(one["pid"]),
            moment(one["since"], zone),
            str(one["restarts"]),
            one["last_end"] or "",
        ]
        for one in report["processes"]
    ]
    heads = (*words("Process", "State"), *numbers("Id"), *words("Since"), *numbers("Restarts"), *words("Last end"))
    return table("Processes", heads, rows, "No processes: no supervisor has reported any, or MongoDB does not answer.")


def feeds_table(report: HealthReportRow, market: MarketChoice, markets: Sequence[Market]) -> str:
    """Return HTML; `markets`: the session's."""
    rows: list[Line] = [
        [
            f"{exchange_name(one['exchange'])} {one['symbol']}",
            Cell(state_name(one["status"]), STATE_TONES.get(one["status"], "bad")),
            one["region"],
            duration(one["age"]),
            f"{one['quotes']:,}",
            *(_count(number) for number in (one["gaps"], one["checksums"], one["malformed"], one["resyncs"])),
            *(_count(number) for number in (one["reconnects"], one["rest_mismatches"])),
            UNKNOWN if one["offset_us"] is None else offset_ms(one["offset_us"]),
        ]
        for one in report["feeds"]
        if is_of_market(
            market.base,
            market.exchange,
            base_and_quote(one["exchange"], one["symbol"], markets)[0],
            one["exchange"],
        )
    ]
    counted = ("Age", "Quotes", "Gaps", "Checksums", "Malformed", "Resyncs", "Reconnects", "REST mismatches")
    heads = (*words("Feed", "State", "Region"), *numbers(*counted, "Clock offset"))
    return table("Feeds", heads, rows, "No matches." if report["feeds"] else "No feed has reported yet.")


def kafka_table(report: HealthReportRow) -> str:
    """Return HTML: one row per consumer of each partition; partitions without a consumer have one, too."""
    rows = [row for partition in report["topics"] for row in _partition_rows(partition)]
    heads = (
        *words("Topic / partition"),
        *numbers("End", "Rows/s"),
        *words("Reader"),
        *numbers("Offset", "Lag (rows)"),
    )
    return table("Kafka lag", heads, rows, "Kafka has not answered yet.")


def detection_table(report: HealthReportRow) -> str:
    rows: list[Line] = [
        [
            f"partition {one['partition']}",
            _whole(one["next_offset"]),
            duration(one["output_age"]),
            duration(one["delay"]),
            duration(one["waiting"]) if one["waiting"] else "none",
        ]
        for one in report["detection"]
    ]
    heads = (*words("Log"), *numbers("Next offset", "Newest output", "Probe delay", "Probe waiting"))
    return table("Real-time query", heads, rows, "Spark has not written any output yet.")


def queries_table(report: HealthReportRow, zone: tzinfo) -> str:
    rows = [_query_row(one, zone) for one in report["queries"]]
    heads = (
        *words("Query", "State", "Running since"),
        *numbers(
            "Batch", "Started", "Duration", "Rows", "Input rows/s", "Processed rows/s", "State rows", "Checkpoint"
        ),
    )
    return table("Spark queries", heads, rows, "Spark has not reported its queries yet.")


def changes_table(report: HealthReportRow) -> str:
    rows: list[Line] = [
        [one["reader"], duration(one["lag"]), duration(one["report_age"]), str(one["lost"])]
        for one in report["change_streams"]
    ]
    return table("Change streams", (*words("Reader"), *numbers("Lag", "Last report", "Resyncs")), rows, "")


def publisher_words(report: HealthReportRow) -> str:
    """Return the progress of the publisher, which is the version that it wrote: it reads MongoDB and no topic."""
    publisher = report["publisher"]
    versions = f"{_version(publisher['version_in_log'])} in the log, {_version(publisher['version'])} in force"
    age = publisher["repeated_age"]
    return f"Settings publisher: {versions}, {'never published' if age is None else f'published {duration(age)} ago'}."


def latencies_table(report: HealthReportRow) -> str:
    rows: list[Line] = [
        [stage_name(one), f"{one['count']:,}", *(duration(share) for share in (one["p50"], one["p95"], _mean(one)))]
        for one in report["latencies"]
    ]
    return table("Latencies", (*words("Stage"), *numbers("Measured", "p50", "p95", "Mean")), rows, "")


def stage_name(row: LatencyRow) -> str:
    name = STAGE_NAMES.get(row["stage"], row["stage"])
    return name if row["exchange"] is None else f"{name}, {exchange_name(row['exchange'])}"


def latency_chart(row: LatencyRow) -> dict[str, object]:
    """Return options of ECharts: the distribution of latencies."""
    bounds = [bucket["seconds"] for bucket in row["buckets"]]
    names = ["longer" if bound is None else f"≤ {duration(bound)}" for bound in bounds]
    return {
        "animation": False,
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 8, "right": 12, "top": 24, "bottom": 4, "containLabel": True},
        "xAxis": {"type": "category", "data": names, "axisLabel": {"rotate": 40, "fontSize": 11}},
        "yAxis": {"type": "value", "minInterval": 1, "name": "measured", "nameTextStyle": {"align": "left"}},
        "series": [
            {"type": "bar", "data": [bucket["count"] for bucket in row["buckets"]], "itemStyle": {"color": "#4b9bff"}}
        ],
    }


def _query_row(one: QueryRow, zone: tzinfo) -> Line:
    is_silent = one["report_age"] > 20
    state = (
        Cell("ended", "bad")
        if not one["is_active"]
        else Cell("no report", "bad")
        if is_silent
        else Cell("running", "good")
    )
    waiting = one["is_real_time"] and one["batch"] is None
    return [
        one["query"],
        Cell(state.text, state.tone, one["message"]),
        moment(one["started_at"], zone),
        Cell("first batch (5 min)", "quiet") if waiting else _whole(one["batch"]),
        duration(one["batch_age"]),
        duration(one["batch_seconds"]),
        _whole(one["batch_rows"]),
        _rate(one["input_rows_per_second"]),
        _rate(one["processed_rows_per_second"]),
        _whole(one["state_rows"]),
        duration(one["checkpoint_age"]),
    ]


def _partition_rows(partition: PartitionRow) -> Iterable[Line]:
    name = f"{partition['topic']}/{partition['partition']}"
    ends: Line = [_whole(partition["end_offset"]), _rate(partition["rows_per_second"])]
    if not partition["readers"]:
        yield [name, *ends, Cell("none in this session", "quiet"), "", ""]
    for reader in partition["readers"]:
        yield [name, *ends, reader["reader"], _whole(reader["next_offset"]), _behind(reader)]


def _behind(reader: ReaderRow) -> Cell | str:
    behind = reader["behind"]
    if behind is None:
        return UNKNOWN
    if reader["is_bound"]:
        return Cell(f"≤ {behind:,}", "", "Upper bound: rows after the one that the newest output was made from.")
    return f"{behind:,}"


def _max_lag(topics: Iterable[PartitionRow]) -> int | None:
    known = [
        reader["behind"]
        for partition in topics
        for reader in partition["readers"]
        if reader["behind"] is not None and not reader["is_bound"]
    ]
    return max(known, default=None)


def _mean(row: LatencyRow) -> float | None:
    return row["total_seconds"] / row["count"] if row["count"] else None


def _version(version: int | None) -> str:
    return "unknown" if version is None else f"version {version}"


def _rows(count: int | None) -> str:
    return "–" if count is None else count_text(count, "row")


def _whole(number: int | None) -> Cell | str:
    return UNKNOWN if number is None else f"{number:,}"


def _rate(number: float | None) -> Cell | str:
    return UNKNOWN if number is None else f"{number:,.0f}"


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", "differs" if number else "quiet")
