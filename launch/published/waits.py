"""What people hear of an app that waits; pure."""

from launch.sessions.detection_start import NotBegunError
from store.errors import StoreUnavailableError
from store.records.apps import AppState, StoredApp

WaitingReport = tuple[AppState, str, int | None]
"""State, reason, and the version that runs meanwhile."""


def waiting_report(app: StoredApp | None, running: int | None, error: Exception) -> WaitingReport | None:
    """Return what to report. `running`: the version that runs; `error`: what passes. None while the store is away,
    since nobody could read it, or if the app was removed."""
    if app is None or isinstance(error, StoreUnavailableError):
        return None
    what = "detection" if isinstance(error, NotBegunError) else "Kafka"
    reason = f"waits for {what}: {str(error).rstrip('.')}"
    if app.order.wanted == "stopped":
        return "stopping", reason, None
    if running is None:
        return "starting", reason, None
    return "running", f"version {app.order.version} {reason}; version {running} goes on", running
