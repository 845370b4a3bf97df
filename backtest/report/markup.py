"""The markup of a report: one self-contained page without scripts."""

from collections.abc import Iterable
from html import escape

from backtest.report.style import CSS
from backtest.report.tables import ReportTable


def document(title: str, sections: Iterable[str]) -> str:
    """Return the page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>"
        f"<body><main>{''.join(sections)}</main></body></html>\n"
    )


def figure_cards(shown: Iterable[tuple[str, str, str]]) -> str:
    """Return the headline figures: value, name, and `good`, `bad` or nothing."""
    cards = "".join(
        f'<div class="figure"><b class="{kind}">{escape(value)}</b><span>{escape(name)}</span></div>'
        for value, name, kind in shown
    )
    return f'<div class="figures">{cards}</div>'


def chart_grid(pictures: Iterable[tuple[str, str | None]]) -> str:
    """Return the charts that there are, each under its name, which is markup already."""
    drawn = "".join(
        f'<figure class="chart"><figcaption>{name}</figcaption>{picture}</figure>'
        for name, picture in pictures
        if picture is not None
    )
    return f'<div class="charts">{drawn}</div>'


def section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(words: str) -> str:
    return f'<p class="faint">{escape(words)}</p>'


def items(words: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in words)}</ul>"


def table_markup(table: ReportTable, none: str = "None.") -> str:
    if not table.rows:
        return paragraph(none)
    head = "".join(f"<th{_kind(table, place)}>{escape(word)}</th>" for place, word in enumerate(table.head))
    rows = "".join(_row(table, number, row) for number, row in enumerate(table.rows))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kind(table: ReportTable, place: int) -> str:
    return ' class="number"' if place in table.numbers else ""


def _row(table: ReportTable, number: int, row: tuple[str, ...]) -> str:
    kind = ' class="sum"' if table.has_sum and number == len(table.rows) - 1 else ""
    cells = "".join(f"<td{_kind(table, place)}>{escape(word)}</td>" for place, word in enumerate(row))
    return f"<tr{kind}>{cells}</tr>"
