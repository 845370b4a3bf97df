"""The rows of one decision: each check with value and limit, the settings in force, and the books it was made on."""

from decimal import Decimal

from typing_extensions import TypedDict

from market.decide.check_figures import CheckFigure
from market.decide.settings import Settings
from market.prices.opportunities import OpportunityLeg
from ui.rows.attribute import row_from
from ui.rows.book import BookSideRow, book_side_row


class ArbitrageCheckRow(TypedDict):
    """`value` was compared with `limit`, in `unit` (money: the settlement currency). Null: the check is yes or no, or,
    if it is not `known`, ran where its facts were not recorded. `settings`: what it depends on, as in force."""

    reason: str
    passed: bool
    known: bool
    value: str | None
    limit: str | None
    unit: str
    settings: dict[str, object]


class DecisionBookRow(TypedDict):
    """The side of the book that one leg was sized by, with the leg's order walked through it. `age` at detection,
    microseconds; `amount` and `limit_price` of the order, null if there is none."""

    role: str
    exchange: str
    symbol: str
    quote_currency: str
    age: int
    received_time: int | None
    amount: str | None
    limit_price: str | None
    book: BookSideRow


class DecisionRow(TypedDict):
    """`settings_version` is the one in force at the decision, `settings` its values; null if it is not stored any more.
    `checks` is empty for what earlier versions wrote."""

    arbitrage_id: str
    decided_at: int
    settings_version: int
    settings: dict[str, object] | None
    checks: list[ArbitrageCheckRow]
    books: list[DecisionBookRow]


def check_row(figure: CheckFigure, settings: Settings) -> ArbitrageCheckRow:
    values = settings.model_dump(mode="json", include=set(figure.settings))
    return row_from(ArbitrageCheckRow, figure, settings=values)


def decision_book_row(
    role: str, seen: OpportunityLeg, amount: Decimal | None, limit_price: Decimal | None
) -> DecisionBookRow:
    """Return the book that the leg `role` was sized by, and its order, if there was one."""
    return row_from(
        DecisionBookRow,
        seen,
        role=role,
        amount=amount,
        limit_price=limit_price,
        book=book_side_row(seen.levels, amount),
    )


class ClosingRow(TypedDict):
    """What closing what is left of an arbitrage would order: `amount` of base at `price`, the best now, not worse than
    `limit_price`. `why_not`: why it cannot be closed now; the rest is null then. `settings_version`: the version that
    the order is a part of; null as long as it is not ordered."""

    why_not: str | None
    side: str | None
    exchange: str | None
    symbol: str | None
    amount: str | None
    price: str | None
    limit_price: str | None
    settings_version: int | None


def closing_row(closing: object, version: int | None) -> ClosingRow:
    """Return the row of a `ui.desk.closing.Closing`."""
    return row_from(ClosingRow, closing, why_not=None, settings_version=version)


def not_closed_row(reason: str) -> ClosingRow:
    return ClosingRow(
        why_not=reason,
        side=None,
        exchange=None,
        symbol=None,
        amount=None,
        price=None,
        limit_price=None,
        settings_version=None,
    )
