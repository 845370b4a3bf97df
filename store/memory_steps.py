"""The record of decisions of the store in memory; one that backtests trade on keeps none, since it is made again."""

from market.decisions import Cause, Step, step_text
from market.orders import OrderReport
from market.rows import Rows
from market.sight import rows_read


class MemorySteps:
    """Arbitrage → its steps, as the store on MongoDB keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, list[str]] = {}

    def note(self, before: Rows, arbitrage_id: str, cause: Cause) -> None:
        report: OrderReport | None = cause.report
        self.kept.setdefault(arbitrage_id, []).append(step_text(Step(cause, rows_read(before, report))))
