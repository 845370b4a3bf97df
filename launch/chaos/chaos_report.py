"""What a run of the crash fuzzer did and found, as one JSON document and in a few lines. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from launch.chaos.audit_records import AuditedAccount, Violation
from launch.chaos.chaos_schedule import Blow
from store.queries.store_snapshot import StoreSnapshot


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit saw, and what it objects to."""

    accounts: Sequence[AuditedAccount]
    snapshot: StoreSnapshot
    violations: Sequence[Violation]


@dataclass(frozen=True, slots=True)
class ChaosRun:
    """A run: what was to be done, what was done, and how it ended."""

    seed: int
    seconds: float
    schedule: Sequence[Blow]
    faults: Mapping[str, int]
    """Kind → how often it was dealt; an exchange's faults: how often they have really struck."""
    finding: AuditReport
    restarts: Mapping[str, int] = field(default_factory=dict)
    settings_by_rest: int = 0


def ordeal_document(ordeal: ChaosRun) -> dict[str, object]:
    """The document of `--json`; `violations` is empty where all held."""
    finding = ordeal.finding
    arbitrages = finding.snapshot.arbitrages
    return {
        "seed": ordeal.seed,
        "seconds": ordeal.seconds,
        "faults": dict(sorted(ordeal.faults.items())),
        "orders": sum(len(account.orders) for account in finding.accounts),
        "orders_rejected": sum(len(account.rejected) for account in finding.accounts),
        "fills": sum(len(account.fills) for account in finding.accounts),
        "arbitrages": dict(sorted(Counter(str(arbitrage.state) for arbitrage in arbitrages).items())),
        "reasons": dict(sorted(Counter(arbitrage.reason for arbitrage in arbitrages if arbitrage.reason).items())),
        "violations": [asdict(violation) for violation in finding.violations],
        # the first holder took over from nobody
        "takeovers": {name: token - 1 for name, token in sorted(finding.snapshot.leases.items())},
        "restarts": dict(sorted(ordeal.restarts.items())),
        "settings_by_rest": ordeal.settings_by_rest,
        "schedule": [{"at": blow.at, "kind": blow.kind, "what": blow.told} for blow in ordeal.schedule],
    }


def ordeal_lines(ordeal: ChaosRun) -> list[str]:
    """The same for people, without the schedule."""
    document = ordeal_document(ordeal)
    lines = [f"{name:<17} {_short(document[name])}" for name in ("faults", "orders", "fills", "arbitrages", "reasons")]
    violations = ordeal.finding.violations
    if not violations:
        return [*lines, "no violation: the books are what the exchanges say, to the last digit"]
    told = [
        f"  {one.kind}: {one.detail}" + (f" [{one.arbitrage_id}]" if one.arbitrage_id else "") for one in violations
    ]
    return [*lines, f"{len(violations)} VIOLATIONS", *told]


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "none"
    return str(value)
