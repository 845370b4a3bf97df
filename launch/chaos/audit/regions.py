"""The audit of a session with regions: all checks of any session, and those of regions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from launch.chaos.audit.books import evidence_of
from launch.chaos.audit.log_reader import read_logs
from launch.chaos.audit.partitions import RegionEvidence, Spell, region_violations
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.report import AuditReport
from launch.chaos.run import audit_session
from launch.errors import LaunchError
from launch.sessions.shutdown import retry_while_down
from session.session import Session
from store.queries.member_books import member_books
from streams.errors import StreamError, StreamUnavailableError


async def audit_regions(
    session: Session, brokers: Mapping[str, str], injector: FaultInjector, cuts: Sequence[Spell]
) -> AuditReport:
    """Audit all regions as they are now; all links must be healed. Anything that mirrors and members have not caught up
    with is a violation, so repeat the audit for a while.

    `session`: that of the data folder where the simulated exchanges run, `mongodb` naming each member; `brokers`:
    region → its Kafka; `cuts` of regions during the run (`RegionInjector.cuts`). Raises LaunchError if a member or a
    Kafka stays unavailable.
    """
    stops = injector.stops_of_bots()
    report = await audit_session(session, stops)
    copies = await retry_while_down(lambda: member_books(session.services.mongodb, session.services.database))
    try:
        logs = await retry_while_down(lambda: read_logs(brokers), StreamUnavailableError)
    except StreamError as error:
        raise LaunchError(f"the logs of the regions could not be read: {error}") from error
    records = evidence_of(report.accounts, report.snapshot, session.markets, stops)
    evidence = RegionEvidence(records, copies, logs, cuts, injector.slow_exchanges())
    return replace(report, violations=(*report.violations, *region_violations(evidence)))
