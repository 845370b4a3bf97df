"""One published app while it runs: what it is, where, and the tasks beside it."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.call_addresses import call_addresses
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.language.errors import AppTextError
from cep.apps.resident.kernel import PlacedApp
from launch.apps.published_texts import texts_of
from launch.apps.user_topics import user_brokers
from launch.published.rates import AppRates
from launch.published.run_notes import RunNote
from launch.published.worker_group import WorkerGroup
from launch.sessions.app_input import LiveInput
from runtime.clock import steady_now, wall_now
from session.session import Session
from store.records.apps import AppVersion


class CannotRunError(Exception):
    """The text cannot be published; one sentence."""


def published_source(session: Session, version: AppVersion, terms: OperatorTerms) -> AppSource:
    """Return the app as it is run in this session. Takes as long as compiling it. Raises CannotRunError."""
    try:
        source = texts_of(session, terms).source(version.text, version.name)
    except (AppTextError, OSError) as error:
        raise CannotRunError(str(error).rstrip(".")) from error
    if source.name != version.name:
        raise CannotRunError(f"the text says @App:name({source.name!r}), and it is stored as {version.name!r}")
    if source.host != "resident":
        raise CannotRunError(
            f"@App:host({source.host!r}) is run by `arbitrage app run` alone; leave it out to publish the app"
        )
    return source


async def check_outside(session: Session, source: AppSource) -> None:
    """Find out whether the app may reach what it reads and writes outside; its topics in the session's Kafka exist
    afterwards. Raises AppTextError, CannotStartError, StreamError."""
    call_addresses(source.outside.calls, dict(source.terms.addresses), session.simulated.url)
    await user_brokers(session, source)
    if source.outside.sent or source.outside.received:
        from launch.apps.outer_ends import check_ends

        check_ends(source)


@dataclass(slots=True)
class RunningApp:
    """`place`: its number among all that this part has run."""

    note: RunNote
    source: AppSource
    place: int
    placed: PlacedApp
    group: WorkerGroup
    input: LiveInput
    held: ExitStack
    """What is given back once it has ended."""
    created_at: int = 0
    """When the stored app was."""
    work: list[asyncio.Future[None]] = field(default_factory=list)
    rates: AppRates = field(default_factory=AppRates)
    begun_at: int = field(default_factory=wall_now)
    looks: int = 0
    """How many looks in a row it belonged elsewhere: alone, or beside others."""

    @property
    def folder(self) -> Path:
        return self.placed.folder

    def reported(self, *, is_alone: bool) -> dict[str, Any]:
        """Return its status."""
        now = wall_now()
        workers = [self.group.process_report(partition) for _, partition in self.placed.first]
        seconds = (now - self.begun_at) // 1_000_000
        own: Mapping[str, Any] = {
            "version": self.note.version,
            "label": self.source.label,
            "worker": "alone" if is_alone else "shared",
            "workers": workers,
            "restarts": self.group.ends.count,
            "rejected_rows": 0 if self.input.sent is None else self.input.sent.rejected,
            "reason": self._troubles,
            "uptime_seconds": seconds,
            **self.input.figures(),
        }
        return {**own, **self.rates.reported(now)}

    @property
    def _troubles(self) -> str:
        """Return what goes wrong although it runs; empty if nothing does."""
        found, sent = [self.group.ends.trouble(steady_now())], self.input.sent
        if sent is not None and sent.rejected:
            found.append(f"rows sent in that do not fit this version: {sent.rejected:,} (the last: {sent.problem})")
        return "; ".join(one for one in found if one)

    async def end(self) -> None:
        """End what runs beside it; the app itself has left its group."""
        for one in self.work:
            one.cancel()
        await asyncio.gather(*self.work, return_exceptions=True)
        self.held.close()
