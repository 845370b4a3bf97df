"""The rows of alerts. Times in microseconds UTC."""

from pydantic import BaseModel
from typing_extensions import TypedDict


class AlertRow(TypedDict):
    """`since` it is wrong; `ended_at` null while it is. `muted_until`: null if its kind is not muted."""

    alert_id: str
    severity: str
    part: str
    what: str
    todo: str
    since: int
    ended_at: int | None
    acknowledged_by: str
    acknowledged_at: int | None
    note: str
    muted_until: int | None
    muted_by: str


class AlertsRow(BaseModel):
    """`open` and `failing` count those that are wrong now and not muted, `unacknowledged` those of them that nobody has
    acknowledged. Of the items those that are open come first, then the newest."""

    open: int
    failing: int
    unacknowledged: int
    items: list[AlertRow]
