"""Health findings and what to do about them. Pure.

Follow-up effects are left out: without Kafka, detection gets no finding of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from exchanges.labels import part_name
from market.decide.risk_checks import CLOCKS_MAY_DIFFER
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from runtime.disk_space import megabytes
from runtime.machine_load import MachineLoad
from session.session import Session
from streams.query_progress import CYCLES_QUERY, WINDOW_BATCH_SECONDS
from ui.live.region_standing import RegionMember
from ui.rows.health import (
    DASHBOARD,
    FeedHealthRow,
    FindingRow,
    HealthReportRow,
    PartRow,
    QueryRow,
    Severity,
    Verdict,
)
from ui.rows.region import StandingRow
from ui.services.settings_fields import setting_label
from wording.number_format import count_text

SLOW_PROBE_SECONDS = 3.0
"""A real-time query takes nothing in for 1–2 s at the end of each batch."""
LOST_PROBE_SECONDS = 15.0
SLOW_DETECTION_SECONDS = 1.0
SILENT_QUERY_SECONDS = 20.0
OLD_WINDOWS_SECONDS = 60.0
OLD_CYCLES_SECONDS = 15.0
"""A state is saved each second, and reported every two."""
SILENT_PUBLISHER_SECONDS = 10.0
SLOW_CHANGES_SECONDS = 5.0
SILENT_BOT_SECONDS = 15.0
WRONG_CLOCK_MICROSECONDS = 2_000_000
FRESH_RESTART_MICROSECONDS = 300_000_000
MAX_LAG = {"ticks": 20_000, "opportunities": 2_000, "spreads": 2_000, "health": 2_000}
"""Rows: some seconds of a busy market."""

LOST_PRIMARY_MICROSECONDS = 2_000_000
"""After a start it takes a moment until a member is asked."""
LONG_START_MICROSECONDS = 120_000_000
RESYNC = (
    "It may be catching up. If it was away for longer than the oplog reaches back, it cannot: stop the session, "
    "delete the folder regions/{region}/mongodb, start it again, and it copies everything from the others."
)
"""A member whose data are too old only reports that it has none to read."""
OLD_PRICES_SECONDS = 5.0
"""Feeds write each second, and mirrors need a round trip."""

CLOCK_AHEAD_SECONDS = CLOCKS_MAY_DIFFER / MICROSECONDS

LOOK_AT_LOG = "Read its log at the bottom of this page."
STARTED_AGAIN = "It is restarted automatically; if it does not come back, read its log at the bottom of this page."
CHECK_LOAD = "The machine may be overloaded: check its load."
MONGODB_LOAD = "MongoDB or this machine may be overloaded: check their load."
WAIT_FOR_BATCH = (
    "Wait: Spark pauses for 1–2 s at the end of each batch of five minutes. If it lasts, the machine is overloaded: "
    "check its load."
)
BY_LOAD = frozenset({CHECK_LOAD, MONGODB_LOAD, WAIT_FOR_BATCH})
"""What to do about findings that an overloaded machine explains."""
CEP_AGAIN = "Spark may be starting, which takes up to a minute; if it lasts, read the log of cep."


@dataclass(frozen=True, slots=True)
class RegionsSeen:
    """`members`: by region."""

    row: StandingRow
    members: Mapping[str, RegionMember]


def with_findings(
    report: HealthReportRow,
    session: Session,
    settings: Settings | None,
    regions: RegionsSeen | None = None,
    free: int | None = None,
    load: MachineLoad | None = None,
) -> list[FindingRow]:
    """Return the findings, failing ones first. `regions`: in a session with regions. `free`: bytes on the data folder's
    disk; `load`: this machine's; None if not known."""
    sources, has_kafka = report["sources"], _has_kafka(report)
    found = [*_sources(report), *_disk(session, free)]
    if sources["mongodb"] and regions is not None:
        found += _regions(regions)
    if has_kafka and regions is not None:
        found += _prices_of_others(regions.row, session)
    # without a primary nothing can report to the store, so its rows of processes say nothing
    is_cut = regions is not None and regions.row["primary_lost_since"] is not None
    if not is_cut:
        found += _processes(report)
    if sources["mongodb"] and not is_cut:
        found += [*_feeds(report, session, settings), *_change_streams(report)]
    if has_kafka and not _is_off("cep", report["processes"]):
        found += [*_detection(report), *_queries(report)]
    if has_kafka and not _is_off("publisher", report["processes"]):
        found += _settings_publisher(report)
    if has_kafka:
        found += _readers(report)
    return sorted(_with_cause(found, load), key=lambda finding: finding["severity"] != "failing")


def _with_cause(found: list[FindingRow], load: MachineLoad | None) -> list[FindingRow]:
    """Return the findings with the machine's load instead of all that it explains."""
    late = [finding for finding in found if finding["todo"] in BY_LOAD]
    if load is None or not load.is_overload or not late:
        return found
    parts = list(dict.fromkeys(finding["part"] for finding in late))
    verb = "is" if len(parts) == 1 else "are"
    what = f"Its load is {load.load:.1f} on {count_text(load.cores, 'core')}, so {', '.join(parts)} {verb} late."
    cause = _finding("warning", "machine", what, "End other programs on it, or give it more cores.")
    return [*(finding for finding in found if finding not in late), cause]


def verdict_of(findings: Iterable[FindingRow]) -> Verdict:
    severities = {finding["severity"] for finding in findings}
    return "failing" if "failing" in severities else "warning" if severities else "well"


def summary_of(findings: list[FindingRow]) -> str:
    """Return the summary in one line."""
    if not findings:
        return "All healthy"
    failing = sum(finding["severity"] == "failing" for finding in findings)
    words = [f"{failing} failing"] * bool(failing) + [f"{len(findings) - failing} to check"] * (len(findings) > failing)
    parts = ", ".join(dict.fromkeys(finding["part"] for finding in findings))
    return f"{' and '.join(words)}: {parts}"


def _sources(report: HealthReportRow) -> Iterator[FindingRow]:
    is_answering = any(partition["end_offset"] is not None for partition in report["topics"])
    if not report["sources"]["kafka"] and report["kafka_answers"] and is_answering:
        what = "It answers, but no new rows have reached the dashboard yet: prices and spreads may be old."
        yield _finding("warning", "kafka", what, "Wait a moment: the dashboard goes on by itself.")
    elif not _has_kafka(report):
        what = "The dashboard cannot reach it: prices, spreads and opportunities are not updated on any page."
        yield _finding("failing", "kafka", what, STARTED_AGAIN)
    if not report["sources"]["mongodb"]:
        what = "It does not answer: bots cannot reserve, and trades, balances and settings are not updated on any page."
        yield _finding("failing", "mongodb", what, STARTED_AGAIN)


def _disk(session: Session, free: int | None) -> Iterator[FindingRow]:
    level = "enough" if free is None else session.upkeep.disk.level(free)
    if free is None or level == "enough":
        return
    what = f"The data folder's disk has {megabytes(free)} free."
    if level == "low":
        todo = f"Make room: below {megabytes(session.upkeep.disk.reduce)} nothing new is traded."
        yield _finding("warning", "disk", what, todo)
    else:
        todo = "Make room, then resume trading on the page Bots & thresholds."
        yield _finding("failing", "disk", f"{what} Nothing new is traded.", todo)


def _has_kafka(report: HealthReportRow) -> bool:
    return report["sources"]["kafka"] and report["kafka_answers"]


def _processes(report: HealthReportRow) -> Iterator[FindingRow]:
    processes = report["processes"]
    if any(process["state"] == "unknown" for process in processes):
        what = "No heartbeat from the supervisor for some seconds: failed processes are not restarted."
        yield _finding("failing", "supervisor", what, "Stop what is still running and restart the session.")
        return
    pages = [process["name"] for process in processes if process["kind"] == "ui"]
    for process in processes:
        # the only one that serves pages has just answered, whatever its supervisor knows
        if process["state"] == "stopping" or pages != [process["name"]]:
            yield from _process(process, report["now"])


def _process(process: PartRow, now: int) -> Iterator[FindingRow]:
    name, ended = process["name"], process["last_end"] or "reason unknown"
    match process["state"]:
        case "failed":
            yield _finding("failing", name, f"It exits repeatedly without becoming ready ({ended}).", LOOK_AT_LOG)
        case "restarting":
            yield _finding("failing", name, f"It exited ({ended}).", STARTED_AGAIN)
        case "starting":
            yield _finding("warning", name, "It is starting.", "Wait; if it takes minutes, read its log.")
        case "stopped" | "stopping" if not process["is_wanted"]:
            what = "A user stopped it; it stays stopped until a user starts it."
            yield _finding("warning", name, what, "Start it on the page Bots & thresholds.")
        case _ if process["restarts"] and now - process["since"] < FRESH_RESTART_MICROSECONDS:
            times = count_text(process["restarts"], "time")
            what = f"It exited ({ended}) and was restarted; {times} in this session."
            yield _finding("warning", name, what, "Nothing while it stays up; otherwise read its log.")


def _feeds(report: HealthReportRow, session: Session, settings: Settings | None) -> Iterator[FindingRow]:
    processes = report["processes"]
    feeds = [feed for feed in report["feeds"] if not _is_off(f"feed-{feed['exchange']}", processes)]
    known = {(feed["exchange"], feed["symbol"]) for feed in report["feeds"]}
    for exchange in session.exchanges:
        of_exchange = [market for market in session.fed_markets(settings) if market.exchange == exchange]
        silent = [market.symbol for market in of_exchange if (exchange, market.symbol) not in known]
        if silent and not _is_off(f"feed-{exchange}", processes):
            what = f"No data received yet for {', '.join(silent)}."
            yield _finding("warning", f"feed {exchange}", what, "Wait for it to start; otherwise read the feed's log.")
    for feed in feeds:
        yield from _feed(feed)
    if feeds and all(feed["status"] != "live" for feed in feeds):
        yield _finding(
            "failing", "feeds", "No exchange is sending prices: nothing can be traded.", "Check the network."
        )


def _feed(feed: FeedHealthRow) -> Iterator[FindingRow]:
    name = f"feed {feed['exchange']} {feed['symbol']}"
    age = "" if feed["age"] is None else f", last update {feed['age']:.0f} s ago"
    match feed["status"]:
        case "down":
            what = f"Disconnected{age}; its quotes were withdrawn and are not traded on."
            yield _finding("failing", name, what, "It reconnects automatically; if it does not, read the feed's log.")
        case "stale":
            what = f"No valid quotes{age}; its quotes were withdrawn."
            yield _finding("warning", name, what, "The exchange may be in maintenance; see its status page.")
        case "resyncing":
            yield _finding("warning", name, "It is resyncing its order book.", "Wait a moment.")
    offset = feed["offset_us"]
    if offset is not None and abs(offset) > WRONG_CLOCK_MICROSECONDS:
        what = f"The exchange's clock is {abs(offset) / 1e6:.1f} s {'ahead of' if offset > 0 else 'behind'} this one."
        yield _finding("warning", name, what, "Check that this machine's clock is set by NTP.")


def _detection(report: HealthReportRow) -> Iterator[FindingRow]:
    for row in report["detection"]:
        part = f"detection, partition {row['partition']}"
        if row["waiting"] > LOST_PROBE_SECONDS:
            what = f"A probe row has been waiting {row['waiting']:.0f} s in the log: Spark is not processing rows."
            yield _finding("failing", part, what, CEP_AGAIN)
        elif row["waiting"] > SLOW_PROBE_SECONDS:
            what = f"A probe row has been waiting {row['waiting']:.1f} s in the log."
            yield _finding("warning", part, what, WAIT_FOR_BATCH)
        elif (row["delay"] or 0.0) > SLOW_DETECTION_SECONDS:
            what = f"Spark takes {row['delay']:.1f} s to process a row; milliseconds are normal."
            yield _finding("warning", part, what, CHECK_LOAD)


def _queries(report: HealthReportRow) -> Iterator[FindingRow]:
    for query in report["queries"]:
        part = f"query {query['query']}"
        if not query["is_active"]:
            yield _finding("failing", part, "The query has stopped.", CEP_AGAIN)
        elif query["report_age"] > SILENT_QUERY_SECONDS:
            what = f"No report from its driver for {query['report_age']:.0f} s."
            yield _finding("failing", part, what, CEP_AGAIN)
        elif query["query"] == CYCLES_QUERY:
            yield from _cycles(part, query)
        elif not query["is_real_time"]:
            yield from _micro_batch(part, query)


def _cycles(part: str, query: QueryRow) -> Iterator[FindingRow]:
    age = query["checkpoint_age"]
    if age is not None and age > OLD_CYCLES_SECONDS:
        what = f"Its newest state is {age:.0f} s old: cycles are found late, or not at all."
        yield _finding("warning", part, what, CHECK_LOAD)


def _micro_batch(part: str, query: QueryRow) -> Iterator[FindingRow]:
    age, took = query["batch_age"], query["batch_seconds"]
    if age is not None and age > OLD_WINDOWS_SECONDS:
        what = f"Its newest batch began {age:.0f} s ago: the spread windows are old."
        label = setting_label("min_share_above_10s")
        yield _finding("warning", part, what, f"Opportunities do not depend on it, unless “{label}” is set.")
    elif took is not None and took > WINDOW_BATCH_SECONDS:
        what = f"A batch takes {took:.1f} s and one is due every {WINDOW_BATCH_SECONDS} s."
        yield _finding("warning", part, what, CHECK_LOAD)


def _settings_publisher(report: HealthReportRow) -> Iterator[FindingRow]:
    publisher = report["publisher"]
    age, version, in_log = publisher["repeated_age"], publisher["version"], publisher["version_in_log"]
    if age is not None and age > SILENT_PUBLISHER_SECONDS:
        what = f"It has not published the settings for {age:.0f} s: changes do not reach detection."
        yield _finding("failing", "publisher", what, STARTED_AGAIN)
    elif version is not None and in_log is not None and in_log < version:
        what = f"Settings version {version} is in force, but the log has version {in_log}."
        yield _finding("warning", "publisher", what, "Wait a moment; if it lasts, read the log of publisher.")


def _readers(report: HealthReportRow) -> Iterator[FindingRow]:
    for partition in report["topics"]:
        most = MAX_LAG.get(partition["topic"], 2_000)
        for reader in partition["readers"]:
            if (reader["behind"] or 0) > most:
                what = f"Its lag on {partition['topic']}/{partition['partition']} is {reader['behind']:,} rows."
                yield _finding("warning", reader["reader"], what, CHECK_LOAD)


def _change_streams(report: HealthReportRow) -> Iterator[FindingRow]:
    for row in report["change_streams"]:
        reader = row["reader"]
        if reader != DASHBOARD and _is_off(reader, report["processes"]):
            continue
        if row["report_age"] > SILENT_BOT_SECONDS:
            what = f"No report for {row['report_age']:.0f} s."
            yield _finding("warning", reader, what, LOOK_AT_LOG)
        elif (row["lag"] or 0.0) > SLOW_CHANGES_SECONDS:
            what = f"Its change stream lags {row['lag']:.0f} s behind MongoDB."
            yield _finding("warning", reader, what, MONGODB_LOAD)


def _regions(regions: RegionsSeen) -> Iterator[FindingRow]:
    now, lost, age = regions.row["now"], regions.row["primary_lost_since"], regions.row["store_age"]
    if lost is not None and now - lost > LOST_PRIMARY_MICROSECONDS:
        old = "" if age is None else f", and what the store shows here is {age:.0f} s old"
        what = f"Its primary has not been reached from here for {(now - lost) / 1e6:.0f} s: nothing new is opened{old}."
        yield _finding(
            "failing", "mongodb", what, "Heal the links of this region; if none is cut, wait for an election."
        )
    elif lost is None:
        for region, member in regions.members.items():
            if member.role == "unreachable":
                what = f"It has not answered for {(now - member.since) / 1e6:.0f} s."
                yield _finding("warning", f"store of {region}", what, "It catches up by itself; see Regions below.")
            elif member.role == "other" and now - member.since > LONG_START_MICROSECONDS:
                what = f"It answers, but has had nothing to read for {(now - member.since) / 1e6:.0f} s."
                yield _finding("warning", f"store of {region}", what, RESYNC.format(region=region))


def _prices_of_others(row: StandingRow, session: Session) -> Iterator[FindingRow]:
    lags = row["mirror_lags"]
    with_exchanges = {market.region for market in session.traded}
    for region in session.place.regions:
        if region in with_exchanges and region not in (row["region"], *lags):
            what = "None has arrived here yet: they are not traded on from here."
            todo = "Wait for its feeds and this region's mirror to start; otherwise read the log of mirror."
            yield _finding("warning", f"prices of {region}", what, todo)
    for region, lag in lags.items():
        if lag > OLD_PRICES_SECONDS:
            what = f"The newest one that has arrived here is {lag:.0f} s old: they are not traded on from here."
            todo = "Its exchanges, a link or the mirror may be away, or its clock be behind: see Regions below."
            yield _finding("warning", f"prices of {region}", what, todo)
        elif lag < -CLOCK_AHEAD_SECONDS:
            what = f"It is at least {-lag:.1f} s ahead of this region's: meanwhile no pair of both regions is traded."
            yield _finding("warning", f"clock of {region}", what, "Check that both are set by NTP.")


def _is_off(name: str, processes: Iterable[PartRow]) -> bool:
    """Return whether its own state already says that it does not work now."""
    return any(process["name"] == name and process["state"] != "ready" for process in processes)


def _finding(severity: Severity, part: str, what: str, todo: str) -> FindingRow:
    return FindingRow(severity=severity, part=part_name(part), what=what, todo=todo)
