"""The report of a chaos run, as one JSON document and as lines of text. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from launch.chaos.audit.records import AuditedAccount, Violation
from launch.chaos.schedule import Injection
from store.queries.store_snapshot import StoreSnapshot

ChaosResult = Literal["no violations", "violations", "no result"]

LEAST_ORDERS = 10
LEAST_ORDER_FAULTS = 3
"""A run with fewer orders, or with fewer faults that hit one, proves nothing."""
LINES = ("faults", "orders", "fills", "arbitrages", "cycles", "transfers", "reasons", "settled")
ORDER_FAULTS = (
    "lost_acknowledgement",
    "disconnect_during_order",
    "rejected_order",
    "partial_fill_then_nothing",
    "duplicate_fill_report",
    "lie",
    "kill bot at order",
)
"""Kinds that take effect only with an order."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The records that an audit compared, and the violations it found."""

    accounts: Sequence[AuditedAccount]
    snapshot: StoreSnapshot
    violations: Sequence[Violation]
    late_while_stopped: int = 0
    """Orders that came too late whose bot the run itself had stopped."""


@dataclass(frozen=True, slots=True)
class ChaosRun:
    """A chaos run: the schedule, the injected faults and the audit at its end."""

    seed: int
    seconds: float
    schedule: Sequence[Injection]
    faults: Mapping[str, int]
    """Kind → how often it was injected; for an exchange's faults: how often they took effect."""
    audit: AuditReport
    restarts: Mapping[str, int] = field(default_factory=dict)
    settings_by_rest: int = 0
    settled: Mapping[str, int] = field(default_factory=dict)
    """Kind of difference → how many the run's operator has settled."""

    @property
    def orders(self) -> int:
        """Return the number of orders that the exchanges accepted."""
        return sum(len(account.orders) for account in self.audit.accounts)

    @property
    def order_faults(self) -> int:
        """Return how many faults hit an order."""
        return sum(self.faults.get(kind, 0) for kind in ORDER_FAULTS)

    @property
    def result(self) -> ChaosResult:
        """Return the verdict of the run on the system."""
        if self.audit.violations:
            return "violations"
        is_enough = self.orders >= LEAST_ORDERS and self.order_faults >= LEAST_ORDER_FAULTS
        return "no violations" if is_enough else "no result"


def chaos_document(run: ChaosRun) -> dict[str, object]:
    """Return the document of `--json`; `result` says whether the absence of violations means anything."""
    audit = run.audit
    return {
        "seed": run.seed,
        "seconds": run.seconds,
        "result": run.result,
        "order_faults": run.order_faults,
        "faults": dict(sorted(run.faults.items())),
        "orders": run.orders,
        "orders_rejected": sum(len(account.rejected) for account in audit.accounts),
        "fills": sum(len(account.fills) for account in audit.accounts),
        "arbitrages": _counted(one.state for one in audit.snapshot.arbitrages),
        "cycles": _counted(one.state for one in audit.snapshot.cycles),
        "transfers": _counted(one.state for one in audit.snapshot.transfers),
        "reasons": _counted(one.reason for one in audit.snapshot.trades if one.reason),
        "late_while_stopped": audit.late_while_stopped,
        "violations": [asdict(violation) for violation in audit.violations],
        # the first holder of a lease did not take over; that of a partition is the one who decides
        "takeovers": {name: token - 1 for name, token in sorted(audit.snapshot.leases.items())},
        "restarts": dict(sorted(run.restarts.items())),
        "settings_by_rest": run.settings_by_rest,
        "settled": dict(sorted(run.settled.items())),
        "schedule": [{"at": one.at, "kind": one.kind, "what": one.description} for one in run.schedule],
    }


def chaos_lines(run: ChaosRun) -> list[str]:
    """Return the same as text, without the schedule."""
    document = chaos_document(run)
    lines = [f"{name:<17} {_short(document[name])}" for name in LINES]
    if run.audit.late_while_stopped:
        lines.append(f"{run.audit.late_while_stopped} orders came late from a bot that was stopped: no violations")
    violations = run.audit.violations
    if run.result == "no result":
        few = f"{run.orders} orders and {run.order_faults} faults that hit an order"
        least = f"at least {LEAST_ORDERS} and {LEAST_ORDER_FAULTS} are needed"
        return [*lines, f"NO RESULT: {few} prove nothing; {least}, so run it longer or on a machine that is less busy."]
    if not violations:
        return [*lines, "no violations: ledger reconciled with the exchanges' records, to the last digit"]
    details = [
        f"  {one.kind}: {one.detail}" + (f" [{one.arbitrage_id}]" if one.arbitrage_id else "") for one in violations
    ]
    return [*lines, f"{len(violations)} VIOLATIONS", *details]


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "none"
    return str(value)
