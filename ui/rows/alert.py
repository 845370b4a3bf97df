"""The rows of alerts, of rules that make some, and of what such a rule would have said. Times in microseconds UTC."""

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


class MetricSeriesRow(TypedDict):
    """One series of a metric: its labels, and its value at the last look."""

    labels: dict[str, str]
    value: float


class RuleMetricRow(TypedDict):
    """A metric of `/metrics`: `kind` is gauge or counter, `what` its explanation."""

    name: str
    kind: str
    what: str
    series: list[MetricSeriesRow]


class AlertRuleRow(TypedDict):
    """A rule as it is kept. `condition`: it in words. `firing`: so many series are beyond the threshold for long enough
    now, of `series` that it looks at."""

    rule_id: str
    name: str
    metric: str
    labels: dict[str, str]
    how: str
    window_seconds: int
    direction: str
    threshold: float
    for_seconds: int
    severity: str
    destinations: list[str]
    made_by: str
    made_at: int
    condition: str
    series: int
    firing: int


class RuleDestinationRow(TypedDict):
    """Of `[[notices]]`: `gets_alerts` False if its `events` leave them out."""

    name: str
    kind: str
    gets_alerts: bool


class AlertRulesRow(TypedDict):
    """`look_seconds`: how often metrics are looked at."""

    look_seconds: int
    rules: list[AlertRuleRow]
    destinations: list[RuleDestinationRow]


class PastFiringRow(TypedDict):
    """`ended_at` null: it would be wrong now. Microseconds UTC."""

    series: str
    began_at: int
    ended_at: int | None


class RulePreviewRow(TypedDict):
    """How often a rule would have fired since `since` (microseconds UTC; null: nothing is known yet): `times` in all,
    the newest of them in `firings`. Of `matching` series the first `series` were looked through."""

    condition: str
    since: int | None
    series: int
    matching: int
    times: int
    firings: list[PastFiringRow]
