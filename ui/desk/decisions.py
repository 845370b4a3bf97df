"""What one arbitrage was decided on, read from its own record."""

from market.decide.check_figures import check_figures
from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage
from market.trade.decision_record import DecisionStep, NoRecordError, step_of
from store.queries.trade_reader import TradeReader
from ui.rows.decision import ArbitrageCheckRow, DecisionBookRow, DecisionRow, check_row, decision_book_row


async def decision_row(reader: TradeReader, arbitrage: Arbitrage) -> DecisionRow:
    """Return checks, settings and books of the decision to begin `arbitrage`. Raises StoreError."""
    step = _step(await reader.first_step(arbitrage.arbitrage_id))
    version = _version(step, arbitrage)
    stored = await reader.settings_version(version)
    settings = None if stored is None else stored.after
    return DecisionRow(
        arbitrage_id=arbitrage.arbitrage_id,
        decided_at=arbitrage.times.get("reserved", arbitrage.opportunity.event_time),
        settings_version=version,
        settings=None if settings is None else settings.model_dump(mode="json", exclude={"version"}),
        checks=[] if step is None or settings is None else _checks(step, arbitrage, settings),
        books=_books(arbitrage),
    )


def _step(text: str | None) -> DecisionStep | None:
    """None if an earlier version wrote it, or wrote none."""
    try:
        return None if text is None else step_of(text)
    except NoRecordError:
        return None


def _version(step: DecisionStep | None, arbitrage: Arbitrage) -> int:
    context = None if step is None else step.request.context
    return arbitrage.opportunity.settings_version if context is None else context.settings_version


def _checks(step: DecisionStep, arbitrage: Arbitrage, settings: Settings) -> list[ArbitrageCheckRow]:
    return [check_row(figure, settings) for figure in check_figures(step.context(arbitrage.opportunity, settings))]


def _books(arbitrage: Arbitrage) -> list[DecisionBookRow]:
    opportunity = arbitrage.opportunity
    rows: list[DecisionBookRow] = []
    for role, seen in (("buy", opportunity.buy), ("sell", opportunity.sell)):
        leg = next((one for one in arbitrage.legs if one.role == role), None)
        amount, limit = (None, None) if leg is None else (leg.amount, leg.limit_price)
        rows.append(decision_book_row(role, seen, amount, limit))
    return rows
