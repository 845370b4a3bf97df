"""The write permissions of each role in Kafka and MongoDB; docs/security.md has the same table."""

from collections.abc import Mapping
from dataclasses import dataclass

from store.server import documents as stored
from streams.topics import (
    ALL_TOPICS,
    APP_TOPICS,
    APPS,
    CYCLE_OPPORTUNITIES,
    HEALTH,
    OPPORTUNITIES,
    QUOTES,
    REJECTS,
    SHARED,
    SHARED_IN,
    SPREADS,
    TICKS,
)

SUPERVISOR = "supervisor"
"""The process that started the session: owns the database and the log, and creates the other logins."""

MIRROR, MIRROR_READER = "mirror", "mirror-reader"
"""Logins of MirrorMakers to a region's Kafka: of its own, and of the other regions'."""


@dataclass(frozen=True, slots=True)
class LoginRights:
    """`collections` and `topics` may be written; every login to the session's database may read all of it."""

    collections: tuple[str, ...] | None = ()
    """None: no login to MongoDB."""
    topics: tuple[str, ...] = ()
    topics_read: tuple[str, ...] | None = ()
    """None: no login to Kafka."""
    topics_of_its_own: str | None = None
    """Prefix of topics that it creates, reads and writes."""
    topics_in_regions: tuple[str, ...] = ()
    """Topics that it also writes if the session has regions."""
    topics_read_in_regions: tuple[str, ...] = ()


ROLES: Mapping[str, LoginRights] = {
    "feed": LoginRights((stored.FEEDS,), (TICKS, REJECTS), topics_in_regions=(QUOTES,)),
    "publisher": LoginRights((), (TICKS,)),
    "cep": LoginRights(None, (TICKS, OPPORTUNITIES, CYCLE_OPPORTUNITIES, SPREADS, HEALTH)),
    "bot": LoginRights(
        (
            stored.OPPORTUNITIES,
            stored.ARBITRAGES,
            stored.CYCLE_TRADES,
            stored.STEPS,
            stored.ORDER_RESULTS,
            stored.REJECTIONS,
            stored.CYCLE_REJECTIONS,
            stored.EPISODES,
            stored.FILLS,
            stored.HEALTH,
            stored.BALANCES,
            stored.CLAIMS,
            stored.SESSION_BALANCES,
            stored.LEASES,
            stored.AVERAGES,
            stored.AVERAGE_TRADES,
            stored.DIFFERENCES,
            stored.TRANSFERS,
            stored.COMPARISONS,
            stored.CONSUMER_POSITIONS,
        ),
        topics_read=(TICKS, OPPORTUNITIES, CYCLE_OPPORTUNITIES, SPREADS),
    ),
    "ui": LoginRights(
        (
            stored.SETTINGS,
            stored.SETTINGS_VERSIONS,
            stored.AUDIT,
            # a difference that a person settles is booked to the balance
            stored.DIFFERENCES,
            stored.TRANSFERS,
            stored.BALANCES,
            stored.SESSION_BALANCES,
            stored.HEALTH,
            stored.PROCESSES,
            stored.BACKTESTS,
            stored.BACKTEST_REPORTS,
            stored.STREAM_APPS,
            stored.APP_VERSIONS,
            stored.FAILED_ROWS,
        ),
        topics_read=(*ALL_TOPICS, CYCLE_OPPORTUNITIES),
    ),
    "notifier": LoginRights((stored.NOTICES, stored.NOTICE_DESTINATIONS), topics_read=None),
    "apps": LoginRights(
        (stored.APP_TABLES, stored.APP_REPORTS, stored.FAILED_ROWS),
        (APPS,),
        (TICKS, OPPORTUNITIES, SPREADS, HEALTH),
        APP_TOPICS,
        topics_in_regions=(SHARED,),
        topics_read_in_regions=(SHARED_IN,),
    ),
    "logrecorder": LoginRights(None, topics_read=(TICKS, OPPORTUNITIES, CYCLE_OPPORTUNITIES)),
}
"""All roles but the supervisor, which has all rights on the session's database and log."""
