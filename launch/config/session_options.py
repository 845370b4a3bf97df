"""What the command line says of a session, per kind of session."""

from dataclasses import dataclass
from pathlib import Path

from session.simulated_market import MarketName


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Options of every session that trades. `seconds` None: until it is stopped; `port` None: as configured."""

    seconds: float | None = None
    json: Path | None = None
    port: int | None = None
    record: bool = False
    report: Path | None = None
    """Where the session's report is written at its end, one HTML page."""
    browser: bool = True
    """Whether the dashboard is opened in a browser if there is a screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperOptions(SessionOptions):
    """Options of a session on simulated exchanges. None: as configured."""

    seed: int | None = None
    market: MarketName | None = None
    tape: str | None = None
    regions: tuple[str, ...] = ()
    """A Kafka, a MongoDB, detection, a page and the exchanges that are there for each; empty: one place for all."""
    has_delays: bool = False
    """Whether links between regions are as slow as the real ones."""
